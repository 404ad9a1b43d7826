"""Logs of Inspect as scores to compare.

The files were written by Inspect 0.3.285: 8 samples, two mock models, the scorers `includes` and one that gives two
values and leaves out sample q3. The expected means are those that Inspect computed.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rejoinder
from rejoinder.data.results import _content, result_rows
from rejoinder.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    from running import Run

FILES = Path(__file__).parent / "files"
OLD, NEW = FILES / "inspect-old.eval", FILES / "inspect-new.eval"
MEANS = {
    "includes": (0.625, 0.875),
    "judge.length": (12.142857142857142, 14.714285714285714),
    "judge.polite": (0.5714285714285714, 0.8571428571428571),
}


def as_json(path: Path, target: Path) -> Path:
    """The same log in Inspect's JSON format, put together from the parts that Inspect wrote."""
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.startswith("samples/")]
        samples = [json.loads(_content(archive, name)) for name in names]
        target.write_text(json.dumps({**json.loads(_content(archive, "header.json")), "samples": samples}))
    return target


def means(*files: Path) -> dict[str, tuple[float, ...]]:
    summary = rejoinder.compare(scores=list(files)).table.summary()
    return {column: tuple(cell.mean for cell in systems.values()) for column, systems in summary.items()}


def test_the_means_are_those_of_inspect() -> None:
    found = means(OLD, NEW)
    assert found == {column: pytest.approx(values) for column, values in MEANS.items()}


def test_json_logs_give_the_same(tmp_path: Path) -> None:
    assert means(as_json(OLD, tmp_path / "a.json"), as_json(NEW, tmp_path / "b.json")) == means(OLD, NEW)


def test_the_command(run: Run) -> None:
    ran = run("compare", "--scores", OLD, NEW, "-m", "includes", "--fail-if", "not-better")
    assert ran.code == 3
    assert "between mockllm/old and mockllm/new on includes" in " ".join(ran.out.split())


def test_two_runs_of_one_model_are_kept_apart(tmp_path: Path) -> None:
    again = tmp_path / "again.eval"
    again.write_bytes(OLD.read_bytes())
    rows: Any = result_rows([OLD, again])
    assert {row["system"] for row in rows} == {"inspect-old:mockllm/old", "again:mockllm/old"}
    assert rows[0]["id"] == "quiz/q0"


def test_damaged_and_unfinished_logs(tmp_path: Path) -> None:
    damaged, unfinished = tmp_path / "damaged.eval", tmp_path / "unfinished.eval"
    damaged.write_bytes(OLD.read_bytes()[:5000])
    with pytest.raises(DataError, match=r"damaged.eval: is damaged: expected a log of Inspect$"):
        rejoinder.compare(scores=[damaged, NEW])
    with zipfile.ZipFile(unfinished, "w") as archive:
        archive.writestr("_journal/start.json", "{}")
    with pytest.raises(DataError, match=r"unfinished.eval: is a log of Inspect without results"):
        rejoinder.compare(scores=[unfinished, NEW])
    strange = tmp_path / "strange.json"
    strange.write_text('{"version": 2, "eval": {}, "status": "success", "samples": [{}]}')
    with pytest.raises(DataError, match=r"strange.json: has an unexpected structure \(KeyError: 'task'\)"):
        rejoinder.compare(scores=strange)
    strange.write_text('{"version": 2, "eval": {}, "status": "started"}')
    with pytest.raises(DataError, match=r"is a log of Inspect without samples"):
        rejoinder.compare(scores=strange)


def test_a_log_next_to_a_table_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("id,system,score\n1,a,2\n")
    with pytest.raises(DataError, match=r"table.csv: is not a result file"):
        rejoinder.compare(scores=[OLD, table])


def test_without_the_library_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[inspect\]'"):
        rejoinder.compare(scores=[OLD, NEW])

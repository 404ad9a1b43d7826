"""How often the verbs parse their input: twice at most, whatever metrics run and whatever is written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rejoinder
from rejoinder.data.files import rows_of_file
from rejoinder.scoring import run as local

if TYPE_CHECKING:
    from running import Run


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """File -> how often its records were read, filled while the test runs."""
    counts: dict[str, int] = {}

    def counting(path: Path, name: str) -> Iterator[Any]:
        counts[path.name] = counts.get(path.name, 0) + 1
        return rows_of_file(path, name)

    monkeypatch.setattr("rejoinder.data.source.rows_of_file", counting)
    return counts


@pytest.fixture(autouse=True, params=["few replies", "many replies"])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many: more than are kept in memory between the pass that observes the corpus and the one that scores it."""
    if request.param == "many replies":
        monkeypatch.setattr(local, "KEPT", 10)
        monkeypatch.setattr(local, "BATCH", 16)


@pytest.mark.parametrize("metrics", [["length"], ["cider", "length"], ["all"]], ids=lambda names: names[0])
@pytest.mark.parametrize(
    "written",
    [
        "",
        pytest.param("-o s.jsonl", marks=pytest.mark.slow),
        pytest.param("--report r.html", marks=pytest.mark.slow),
        "--report r.html -o s.csv",
    ],
)
def test_score(written: str, metrics: list[str], run: Run, demo: Path, parsed: dict[str, int]) -> None:
    named = [part for name in metrics for part in ("-m", name)]
    ran = run("score", demo, *named, *written.split(), "--resamples", 20)
    assert ran.code == 0, ran.err
    assert parsed == {"demo.jsonl": 2}


def test_the_report_has_the_texts_of_the_rows_that_it_shows(run: Run, demo: Path, tmp_path: Path) -> None:
    """The page is the same as the one that is made from the score file and the replies."""
    run("score", demo, "-m", "cider", "-m", "length", "-o", "s.jsonl", "--report", "a.html")
    run("report", "s.jsonl", "--replies", demo, "-o", "b.html")
    pages = [(tmp_path / name).read_text(encoding="utf-8") for name in ("a.html", "b.html")]
    assert pages[0].replace(f"Replies of {demo}", "x") == pages[1].replace("Scores of s.jsonl", "x")


def test_compare(run: Run, demo: Path, tmp_path: Path, parsed: dict[str, int]) -> None:
    lines = demo.read_text(encoding="utf-8").splitlines(keepends=True)
    for system in ("good", "generic"):
        chosen = [line for line in lines if f'"system": "{system}"' in line]
        (tmp_path / f"{system}.jsonl").write_text("".join(chosen), encoding="utf-8")
    ran = run("compare", "good.jsonl", "generic.jsonl", "-m", "cider", "-m", "length", "--resamples", 20)
    assert ran.code == 0, ran.err
    assert parsed == {"good.jsonl": 2, "generic.jsonl": 2}


@pytest.mark.filterwarnings("ignore:only \\d+ different replies")  # of the demo, which says so
def test_the_function(demo: Path, parsed: dict[str, int]) -> None:
    rejoinder.score(demo, ["cider", "length"], resamples=20)
    assert parsed == {"demo.jsonl": 2}

"""Folders of scores in parts: the same table as one file, resumed after an interruption, read without all rows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from parts_runs import PART, InTurn, in_turn, rows, rows_of, runs, written
from rejoinder.errors import CallError, DataError
from rejoinder.scoring.parts import MOST_ATTEMPTS, Manifest, PartsFolder
from rejoinder.scoring.table import ScoreTable
from running import Run

__all__ = ["in_turn"]
METRICS = ["bleu-2", "cider", "distinct-1", "default-fast"]


def as_told(table: ScoreTable) -> dict[str, object]:
    return table.to_dict()


@pytest.mark.parametrize("name", ["replies.jsonl", "replies.parquet"])
def test_parts_hold_the_table_of_one_file(name: str, in_turn: InTurn, tmp_path: Path) -> None:
    local, parts = runs(written(tmp_path, name=name), METRICS, by=["topic", "length"])
    expected, found = local.score(tmp_path / "scores.parquet"), parts.score(tmp_path / "scores")
    assert as_told(found) == as_told(expected)
    assert found.resampled == "dialogue", "contexts that continue each other"
    one_file = pl.read_parquet(tmp_path / "scores.parquet")
    assert rows_of(tmp_path / "scores").equals(one_file)
    meta = json.loads((tmp_path / "scores" / "manifest.json").read_text())["meta"]
    assert meta == json.loads(pl.read_parquet_metadata(tmp_path / "scores.parquet")["rejoinder"])
    assert sorted(path.name for path in (tmp_path / "scores").iterdir()) == [
        "manifest.json",
        *(f"part-{number:05d}.parquet" for number in range(5)),
    ]


def test_a_folder_is_read_back(in_turn: InTurn, tmp_path: Path) -> None:
    _, parts = runs(written(tmp_path), METRICS)
    expected = parts.score(tmp_path / "scores")
    found = PartsFolder(tmp_path / "scores").read()
    assert as_told(found) == as_told(expected)
    ids = [row["id"] for row in rows()]
    assert list(found.ids) == ids
    assert [found.ids[row] for row in (89, 0, 44)] == [ids[row] for row in (89, 0, 44)]
    assert found.ids[18:23] == ids[18:23]
    with pytest.raises(IndexError):
        found.ids[90]


@pytest.mark.parametrize("after", [1, 4, 5, 7])
def test_an_interrupted_run_is_resumed_and_repeats_nothing(after: int, in_turn: InTurn, tmp_path: Path) -> None:
    path = written(tmp_path)
    runs(path, METRICS)[1].score(tmp_path / "whole")
    in_turn.done, in_turn.most = [], after
    with pytest.raises(KeyboardInterrupt):
        runs(path, METRICS)[1].score(tmp_path / "scores")
    folder = PartsFolder(tmp_path / "scores")
    with pytest.raises(CallError, match=rf"scores: unfinished \({max(0, after - 5)} of 5 parts\)"):
        PartsFolder(folder.path).read()
    in_turn.most = None
    runs(path, METRICS)[1].score(tmp_path / "scores", resume=True)
    scored = [number for task, number in in_turn.done if task == "score"]
    assert sorted(scored) == list(range(5)), "no part was scored twice"
    for name in (path.name for path in (tmp_path / "whole").iterdir()):
        assert (tmp_path / "scores" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert not folder.unfinished.exists()


def test_what_is_not_recorded_or_not_whole_is_scored_again(in_turn: InTurn, tmp_path: Path) -> None:
    path = written(tmp_path)
    in_turn.most = 3
    with pytest.raises(KeyboardInterrupt):
        runs(path, ["length"])[1].score(tmp_path / "scores")
    folder = PartsFolder(tmp_path / "scores")
    log = folder.unfinished / "finished.jsonl"
    recorded = log.read_text().splitlines()
    assert len(recorded) == 3
    log.write_text("\n".join([*recorded[:2], recorded[2][:9]]))  # cut off
    folder.part(3).write_bytes(folder.part(3).read_bytes()[:100])
    (folder.path / ".part-00000.parquet-0123456789abcdef.tmp").touch()  # left by a process that was killed
    in_turn.done, in_turn.most = [], None
    runs(path, ["length"])[1].score(tmp_path / "scores", resume=True)
    assert sorted(number for _, number in in_turn.done) == [0, 1, 2, 3]
    assert rows_of(folder.path).height == 90
    assert not list(folder.path.glob(".*"))


def test_another_run_is_not_resumed(in_turn: InTurn, tmp_path: Path) -> None:
    path = written(tmp_path)
    in_turn.most = 2
    with pytest.raises(KeyboardInterrupt):
        runs(path, ["length"])[1].score(tmp_path / "scores")
    in_turn.most = None
    for changed in (runs(path, ["bleu-2"]), runs(written(tmp_path, rows(80)), ["length"])):
        with pytest.raises(CallError, match="scores belongs to another run"):
            changed[1].score(tmp_path / "scores", resume=True)
    runs(written(tmp_path, rows(30)), ["length"])[1].score(tmp_path / "scores")
    assert rows_of(tmp_path / "scores").height == 30, "parts of the earlier run are gone"


def test_other_files_are_not_overwritten(in_turn: InTurn, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    with pytest.raises(CallError, match="mine contains other files"):
        runs(written(tmp_path), ["length"])[1].score(folder)
    for text in ("{", "[]", '{"rejoinder": "scores in parts"}', '{"rejoinder": "x", "parts": []}'):
        (folder / "manifest.json").write_text(text)
        with pytest.raises(DataError, match=r"manifest.json: is not a manifest of scores in parts"):
            PartsFolder(folder).read()


def test_a_part_over_which_every_process_dies_is_given_up(in_turn: InTurn, tmp_path: Path) -> None:
    folder = PartsFolder(tmp_path / "scores")
    _, run = runs(written(tmp_path), ["length"])
    folder.start(Manifest.planned(run.identity(), ("A", "B"), ("length",), (), run.spans))
    job = run._job(folder)
    for _ in range(MOST_ATTEMPTS):
        job.check_attempts(2)
    with pytest.raises(Exception, match="4 processes died while they scored it"):
        job.check_attempts(2)


def test_damaged_parts_are_one_line(in_turn: InTurn, tmp_path: Path) -> None:
    runs(written(tmp_path), ["length"])[1].score(tmp_path / "scores")
    (tmp_path / "scores" / "part-00001.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(DataError, match=r"part-00001.parquet: is not a readable part of the scores"):
        PartsFolder(tmp_path / "scores").read()


def test_large_tables_are_kept_on_disk(in_turn: InTurn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rejoinder.arrays.LARGEST_IN_MEMORY", 100)
    local, parts = runs(written(tmp_path), ["length", "bleu-2"])
    found = parts.score(tmp_path / "scores")
    assert isinstance(found["length"], np.memmap)
    assert as_told(found) == as_told(local.score())


def test_summaries_do_not_depend_on_how_many_columns_are_read_at_once(
    in_turn: InTurn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = runs(written(tmp_path), METRICS)[0].score()
    monkeypatch.setattr("rejoinder.scoring.table._MANY_ROWS", 1)
    again = runs(written(tmp_path), METRICS)[0].score()
    for label, systems in table.summary().items():
        for system, cell in systems.items():
            other = again.summary()[label][system]
            assert (cell.mean, cell.low, cell.high) == pytest.approx((other.mean, other.low, other.high))


# --- the command line: compare and report


def compared(ran: str) -> dict[str, object]:
    told = json.loads(ran)
    return {key: told[key] for key in ("comparisons", "rankings", "resampled")}


def test_compare_reads_folders(in_turn: InTurn, run: Run, tmp_path: Path) -> None:
    path = written(tmp_path)
    for system in "AB":
        half = written(tmp_path, [row for row in rows() if row["system"] == system], f"{system}.jsonl")
        runs(half, ["bleu-2", "length"])[1].score(tmp_path / f"scores-{system}")
    runs(path, ["bleu-2", "length"])[1].score(tmp_path / "scores")
    options = ("--json", "--quiet", "--resamples", 50)
    texts = run("compare", path, "-m", "bleu-2", "-m", "length", *options)
    one = run("compare", "--scores", "scores", *options)
    two = run("compare", "--scores", "scores-A", "scores-B", *options)
    assert (texts.code, one.code, two.code) == (0, 0, 0), one.err + two.err
    assert compared(one.out) == compared(texts.out)
    assert one.json["summary"] == texts.json["summary"]
    assert compared(two.out) == compared(texts.out)
    only = run("compare", "--scores", "scores", "-m", "length", *options)
    assert {verdict["metric"] for verdict in only.json["comparisons"]} == {"length"}


def test_compared_folders_keep_what_a_metric_cannot_judge(in_turn: InTurn, run: Run, tmp_path: Path) -> None:
    for system, ending in (("A", "."), ("B", ".\n\n- Call us.\n- Write to us.")):
        half = [{**row, "response": row["response"] + ending} for row in rows() if row["system"] == system]
        for row in half:
            del row["system"]
        runs(written(tmp_path, half, f"{system}.jsonl"), ["default-fast"])[1].score(tmp_path / f"scores-{system}")
    ran = run("compare", "--scores", "scores-A", "scores-B", "--fail-if", "worse", "--json", "--quiet")
    told = ran.json["doubts"]["default-fast"]["scores-B"]
    assert (ran.code, ran.json["decided"], told["doubtful"]) == (4, False, told["replies"])


def test_what_compare_refuses(in_turn: InTurn, run: Run, tmp_path: Path) -> None:
    path = written(tmp_path)
    runs(path, ["length", "bleu-2"])[1].score(tmp_path / "scores")
    runs(path, {"length": "length", "bleu-2": "bleu(n=3)"})[1].score(tmp_path / "other")
    runs(path, ["distinct-1"])[1].score(tmp_path / "third")
    written(tmp_path, [{"id": "1", "system": "A", "x": 1}], "table.jsonl")
    for arguments, expected in {
        ("scores", "other"): "bleu-2 is not the same metric in all folders",
        ("scores", "third"): "has no metric in common",
        ("scores", "table.jsonl"): "scores in parts are compared with each other",
        ("scores", "--pair-by", "id"): "scores in parts are compared with each other",
        ("scores", "-m", "bleu-4"): "unknown column of scores",
    }.items():
        ran = run("compare", "--scores", *arguments)
        assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err
        assert expected in ran.err


def test_report_shows_texts_of_the_rows_that_it_needs(in_turn: InTurn, run: Run, tmp_path: Path) -> None:
    path = written(tmp_path)
    local, parts = runs(path, ["bleu-2", "length"])
    parts.score(tmp_path / "scores")
    local.score(tmp_path / "scores.parquet")
    assert run("report", "scores", "--replies", path, "-o", "a.html").code == 0
    assert run("report", "scores.parquet", "--replies", path, "-o", "b.html").code == 0
    a, b = ((tmp_path / name).read_text().replace("scores.parquet", "scores") for name in ("a.html", "b.html"))
    assert a == b
    assert run("report", "scores", "-o", "c.html").code == 0
    other = run("report", "scores", "--replies", written(tmp_path, rows(80), "other.jsonl"), "-o", "d.html")
    assert (other.code, other.err.count("\n")) == (2, 1)
    assert "is not what scores was made from" in other.err
    assert PART < 90

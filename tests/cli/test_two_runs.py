"""Two runs into one output: the second is told who writes there, and nothing is mixed or left behind."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import rejoinder
from rejoinder.cli import main
from rejoinder.folders.outputs import locked
from rejoinder.metrics.batch import Batch
from rejoinder.metrics.overlap import Length
from rejoinder.types import Scores
from running import Run, WriteLines

HELD = "is being written by another call in this process: choose another name"


@pytest.fixture
def files(run: Run, write_lines: WriteLines) -> Run:
    """Data for each verb in the current folder."""
    rows = [
        {"id": str(n), "context": [f"{n}?"], "response": "hi " * n, "scores": {"overall": n % 5}} for n in range(60)
    ]
    write_lines(rows, "r.jsonl")
    write_lines([{"turns": ["hello there", "hi you"]}, {"turns": ["how are you", "fine"]}], "d.jsonl")
    assert run("train", "bm25", "--dialogues", "d.jsonl", "-o", "bot").code == 0
    assert run("score", "r.jsonl", "-m", "length", "-o", "scores.jsonl").code == 0
    assert run("annotate", "new", "r.jsonl", "-o", "study.toml").code == 0
    return run


WRITING = {
    "x.csv": ("score", "r.jsonl", "-m", "length", "-o", "x.csv"),
    "x.meta.json": ("score", "r.jsonl", "-m", "length", "-o", "x.jsonl"),
    "a.html": ("score", "r.jsonl", "-m", "length", "--report", "a.html"),
    "b.html": ("report", "scores.jsonl", "-o", "b.html"),
    "c.html": ("trust", "r.jsonl", "-m", "length", "--report", "c.html"),
    "g.jsonl": ("generate", "r.jsonl", "--model", "bot", "-o", "g.jsonl"),
    "model": ("train", "bm25", "--dialogues", "d.jsonl", "-o", "model"),
    "x.arpa": ("train", "fm", "--dialogues", "d.jsonl", "-o", "fm", "--write-arpa", "x.arpa"),
    "calibrated": ("calibrate", "default-fast", "--judged", "r.jsonl", "-o", "calibrated"),
    "student": ("distil", "default-fast", "--static", "--dialogues", "d.jsonl", "-o", "student"),
    "s.toml": ("annotate", "new", "r.jsonl", "-o", "s.toml"),
    "j.jsonl": ("annotate", "export", "study.toml", "-o", "j.jsonl"),
    "k.jsonl": ("convert", "r.jsonl", "-o", "k.jsonl"),
    "l.jsonl": ("sample", "r.jsonl", "--labels", "5", "-o", "l.jsonl"),
    "m.jsonl": ("agree", "r.jsonl", "--aggregation", "mean", "-o", "m.jsonl"),
}


def test_every_command_that_writes_refuses_an_output_of_another_run(files: Run, tmp_path: Path) -> None:
    before = sorted(path.name for path in tmp_path.iterdir())
    for target, arguments in WRITING.items():
        with locked(Path(target)):
            ran = files(*arguments)
        assert (ran.code, ran.err) == (2, f"rejoinder: {target} {HELD}\n")
    after = sorted(path.name for path in tmp_path.iterdir() if path.name != "study.db")
    assert after == before, "nothing was begun"


Meddle = Callable[[Callable[[], object]], None]


@pytest.fixture
def while_scoring(monkeypatch: pytest.MonkeyPatch) -> Meddle:
    """Makes `length` call a function while it scores."""
    whole = Length.score_batch

    def meddle(call: Callable[[], object]) -> None:
        def score_batch(metric: Length, batch: Batch) -> Scores:
            call()
            return whole(metric, batch)

        monkeypatch.setattr(Length, "score_batch", score_batch)

    return meddle


def test_a_second_run_during_the_first(
    run: Run, write_lines: WriteLines, tmp_path: Path, while_scoring: Meddle
) -> None:
    write_lines([{"id": str(n), "response": "hi " * n} for n in range(9)], "r.jsonl")
    codes = [
        (["-o", output, *more], 2)  # x.csv would share x.meta.json
        for output in ("x.jsonl", "x.csv")
        for more in ((), ("--resume",))
    ]
    found: list[tuple[list[str], int]] = []
    while_scoring(lambda: found.extend((more, main(["score", "r.jsonl", "-m", "bleu", *more])) for more, _ in codes))
    assert run("score", "r.jsonl", "-m", "length", "-o", "x.jsonl").code == 0
    assert found == codes
    rows = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    assert [row["scores"] for row in rows] == [{"length": float(n)} for n in range(9)]
    assert sorted(os.listdir(tmp_path)) == ["r.jsonl", "x.jsonl", "x.meta.json"]


def raising(error: BaseException) -> Callable[[], None]:
    def fail() -> None:
        assert Path("x.jsonl.part").exists()
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "code"), [(ValueError("a bug"), 1), (rejoinder.DataError("bad"), 2), (ZeroDivisionError(), 1)]
)
def test_a_metric_that_fails_leaves_nothing_behind(
    error: Exception, code: int, run: Run, write_lines: WriteLines, tmp_path: Path, while_scoring: Meddle
) -> None:
    write_lines([{"id": "1", "response": "hi"}], "r.jsonl")
    while_scoring(raising(error))
    assert run("score", "r.jsonl", "-m", "length", "-o", "x.jsonl").code == code
    assert os.listdir(tmp_path) == ["r.jsonl"]


@pytest.mark.parametrize(
    ("error", "code"), [(KeyboardInterrupt(), 130), (OSError(28, "No space left on device"), 1), (MemoryError(), 1)]
)
def test_what_can_be_resumed_is_kept(
    error: BaseException, code: int, run: Run, write_lines: WriteLines, tmp_path: Path, while_scoring: Meddle
) -> None:
    write_lines([{"id": "1", "response": "hi"}], "r.jsonl")
    while_scoring(raising(error))
    assert run("score", "r.jsonl", "-m", "length", "-o", "x.jsonl").code == code
    assert sorted(os.listdir(tmp_path)) == ["r.jsonl", "x.jsonl.part", "x.jsonl.part.json"]
    while_scoring(lambda: None)
    assert run("score", "r.jsonl", "-m", "length", "-o", "x.jsonl", "--resume").code == 0
    assert sorted(os.listdir(tmp_path)) == ["r.jsonl", "x.jsonl", "x.meta.json"]

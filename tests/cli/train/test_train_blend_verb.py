"""`rejoinder train blend`, from rated files to a folder that `score` and `calibrate` take."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from rejoinder.registry import load
from small_evaluators import judged

if TYPE_CHECKING:
    from running import Run, WriteLines

MEMBERS = ("--member", "length", "--member", "chrf(n=2)", "--models", "ridge")


@pytest.fixture
def labelled(write_lines: WriteLines) -> tuple[Path, Path]:
    rows = [{**asdict(item.example), "scores": item.scores} for item in judged()]
    moved = [{**row, "scores": {"quality": [10 * score for score in row["scores"]["overall"]]}} for row in rows]
    return write_lines(rows, "a.jsonl"), write_lines(moved, "b.jsonl")


def test_train_and_score(run: Run, labelled: tuple[Path, Path], tmp_path: Path) -> None:
    call = ("train", "blend", *MEMBERS, "--judged", labelled[0], "--judged", labelled[1], "-o", "mine")
    ran = run(*call)
    assert ran.code == 0, ran.err
    assert "80 judged replies" in ran.err
    assert "Spearman correlation with people, five folds of contexts" in ran.err
    assert "adds to the blend" in ran.err
    titles = ("a.jsonl", "b.jsonl", "mean", "length", "chrf(n=2)")
    lines = [line.split()[0] for line in ran.err.splitlines() if line.startswith(titles)]
    assert lines == list(titles), "one line per set and per member"
    assert len(list((tmp_path / "mine.scores").iterdir())) == 2
    again = run(*call, "--quiet")
    assert (again.code, again.err) == (0, "")
    scored = run("score", labelled[0], "-m", "mine", "-o", "scores.jsonl", "--intervals")
    assert scored.code == 0, scored.err
    rows = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    expected = load(tmp_path / "mine").score([item.example for item in judged()])
    np.testing.assert_allclose([row["scores"]["mine"] for row in rows], expected, atol=1e-4)
    assert all(row["scores"]["mine.low"] <= row["scores"]["mine"] <= row["scores"]["mine.high"] for row in rows)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--member", "lenght"), "did you mean length"),
        (("--member", "length", "--dimension", "fluency"), "none of the dimensions fluency"),
        (("--member", "length", "--models", "forest"), "models must be of ridge, trees"),
        (("--member", "length", "--hold-out", "sets"), "at least three judged sets"),
    ],
)
def test_wrong_calls(run: Run, labelled: tuple[Path, Path], options: tuple[str, ...], message: str) -> None:
    ran = run("train", "blend", "--judged", labelled[0], *options, "-o", "mine")
    assert ran.code == 2
    assert message in ran.err
    assert "Traceback" not in ran.err
    assert not Path("mine").exists()

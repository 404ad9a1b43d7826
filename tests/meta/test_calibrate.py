"""`rejoinder.calibrate`: what it reports, and what it leaves out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rejoinder
from rejoinder import registry
from rejoinder.errors import CallError
from rejoinder.training.calibrate import calibrate
from small_evaluators import Lengthy, judged


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.EVALUATORS, "lengthy", "small_evaluators:Lengthy")


def records() -> list[dict[str, Any]]:
    """New contexts, with ratings from 0 to 2 that rise with the length of the reply."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 10, 300)
    ratings = np.clip(np.round((lengths[:, None] / 5 + rng.normal(0, 0.5, (300, 3))) * 2) / 2, 0, 2)
    return [
        {
            "id": str(row),
            "context": [f"a new question, number {row // 3}"],
            "response": " ".join(["word"] * length),
            "scores": {"overall": ratings[row].tolist()},
        }
        for row, length in enumerate(lengths.tolist())
    ]


def test_an_evaluator_in_memory_and_its_folder_are_calibrated_alike(tmp_path: Path) -> None:
    evaluator = Lengthy().fit((), judged(), seed=3)
    evaluator.save(tmp_path / "model")
    ours = calibrate(evaluator, records(), scale=(0, 2))
    theirs = calibrate(tmp_path / "model", records(), scale=(0, 2), output=tmp_path / "calibrated")
    assert ours.to_dict() == theirs.to_dict()
    assert ours.evaluator.signature == theirs.evaluator.signature == rejoinder.load(tmp_path / "calibrated").signature
    assert not evaluator.gives_intervals
    calibrate(evaluator, records(), scale=(0, 2), output=tmp_path / "other")
    assert rejoinder.load(tmp_path / "other").gives_intervals


def test_the_report() -> None:
    report = calibrate(Lengthy().fit((), judged(), seed=3), records())
    assert (report.dimension, report.calibration.replies, report.calibration.scale) == ("overall", 300, (0.0, 2.0))
    assert report.correlations["spearman"][0] == report.correlations["spearman"][1], "ranks do not change"
    assert 0.85 < report.coverage.estimate < 0.97
    assert str(report).startswith("overall, 0 to 2: 300 replies, 100 contexts\n")
    assert report.notes == ()


def test_replies_of_the_split_test_are_left_out() -> None:
    held = [{**record, "split": "test"} if row < 30 else record for row, record in enumerate(records())]
    report = calibrate(Lengthy().fit((), judged(), seed=3), held)
    assert report.notes == ("30 of 300 replies are left out: they are of the split test",)
    with pytest.raises(CallError, match="no reply is left to calibrate on"):
        calibrate(Lengthy().fit((), judged(), seed=3), held[:30])


def test_a_level_that_makes_no_sense() -> None:
    with pytest.raises(CallError, match=r"level must be a number from 0\.5 to 0\.99, not 2"):
        calibrate(Lengthy().fit((), judged(), seed=3), records(), level=2.0)

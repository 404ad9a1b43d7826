"""Equal scores: no correlation, no significant difference, and no warning of numpy (here, warnings are errors)."""

from __future__ import annotations

import math
from typing import Any

import pytest

import rejoinder
from rejoinder.metrics.base import ScoreWarning


def replies(*, equal_replies: bool, equal_ratings: bool) -> list[dict[str, Any]]:
    return [
        {
            "id": str(n),
            "context": [f"c{n // 2}"],  # words that default-fast does not know
            "response": "two words" if equal_replies else "word " * (n % 7 + 1),
            "references": ["two words"],
            "system": "ABC"[n % 3],
            "scores": {"overall": [3, 3] if equal_ratings else [n % 5, n % 4]},
        }
        for n in range(60)
    ]


@pytest.mark.parametrize(("equal_replies", "equal_ratings"), [(True, True), (True, False), (False, True)])
def test_meta_evaluation(equal_replies: bool, equal_ratings: bool) -> None:
    judged = replies(equal_replies=equal_replies, equal_ratings=equal_ratings)
    report = rejoinder.trust(judged, metrics=["length", "bleu-2"], resamples=20, probes=["all"])
    row = report.dimensions[0].utterance.rows[0]
    assert math.isnan(row.measured["pearson"].interval.estimate)
    assert "length" in str(report)
    assert report.to_dict()
    assert report.page()


def test_scores_and_comparison() -> None:
    data = replies(equal_replies=True, equal_ratings=True)
    with pytest.warns(ScoreWarning) as said:
        cell = rejoinder.score(data, "length", resamples=20).summary()["length"]["A"]
    assert [str(each.message) for each in said] == [
        f"one and the same reply of {name} is given to 20 of 20 contexts" for name in "ABC"
    ]
    assert (cell.mean, cell.low, cell.high, cell.std) == (2.0, 2.0, 2.0, 0.0)
    comparison = rejoinder.compare(data, metrics=["length", "bleu-2"], labels=data, resamples=20)
    assert not any(verdict.significant for verdict in comparison.verdicts)
    assert str(comparison)


def test_calibration_needs_scores_that_differ() -> None:
    for equal_replies, problem in ((True, "the same score"), (False, "the scale must be")):
        judged = replies(equal_replies=equal_replies, equal_ratings=not equal_replies)
        with pytest.raises(rejoinder.CallError, match=problem):
            rejoinder.calibrate("default-fast", judged)

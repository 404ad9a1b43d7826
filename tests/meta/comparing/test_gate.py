"""Checks of a candidate against a baseline: when they pass, when they fail, and the reason they give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rejoinder.comparing.compare import compare, compare_table
from rejoinder.comparing.comparison import Comparison
from rejoinder.comparing.verdict import FailIf, gate
from rejoinder.errors import CallError
from scored_replies import table_of


def compared(shift: float, *, n: int = 60, margin: float | None = None, metric: str = "judge") -> Comparison:
    """The candidate's scores are the baseline's, shifted, with noise."""
    rng = np.random.default_rng(3)
    old = rng.uniform(0.3, 0.6, n)
    new = old + shift + rng.normal(0, 0.02, n)
    scores = np.concatenate([old, new]).tolist()
    rows = [
        {"id": str(row % n), "system": "old" if row < n else "new", metric: score} for row, score in enumerate(scores)
    ]
    table = table_of({metric: scores}, ["old"] * n + ["new"] * n)
    if metric == "judge":
        return compare(scores=rows, margin=margin)
    return compare_table(table, margin=margin)


@pytest.mark.parametrize(
    ("shift", "margin", "fail_if", "passed"),
    [
        (-0.1, None, "worse", False),
        (0.0, None, "worse", True),
        (0.1, None, "worse", True),
        (0.0, 0.05, "worse", True),
        (-0.1, 0.05, "worse", False),
        (-0.1, 0.2, "worse", True),  # significantly worse, but by less than matters
        (0.0, 0.001, "worse", False),  # nothing is significant, and the margin is narrower than the interval
        (0.1, None, "not-better", True),
        (0.0, None, "not-better", False),
        (-0.1, None, "not-better", False),
        (0.1, 0.05, "not-better", True),
        (0.1, 0.2, "not-better", False),  # significantly better, but by less than matters
    ],
)
def test_when_a_candidate_passes(shift: float, margin: float | None, fail_if: FailIf, passed: bool) -> None:
    assert gate(compared(shift, margin=margin), fail_if).passed is passed


def test_the_reason_gives_the_interval() -> None:
    worse = gate(compared(-0.1), "worse").reason
    assert worse.startswith("judge: old is better than new by 0.10")
    open_within = gate(compared(0.0, margin=0.001), "worse").reason
    assert open_within.startswith(
        "judge: not shown that new is no worse than old within 0.001 (new - old: 90% interval ["
    )


def test_lower_scores_may_be_better() -> None:
    assert not gate(compared(0.1, metric="perplexity"), "worse").passed
    assert not gate(compared(0.1, metric="perplexity", margin=0.05), "worse").passed
    assert gate(compared(-0.1, metric="perplexity", margin=0.05), "worse").passed
    assert gate(compared(-0.1, metric="perplexity"), "not-better").passed


def test_too_few_contexts_do_not_pass() -> None:
    found = gate(compared(0.0, n=4), "worse")
    assert not found.passed
    assert "4 items are too few to show any difference" in found.reason
    alone = gate(compared(0.0, n=1, margin=0.5), "worse")
    assert not alone.passed
    assert alone.reason == "judge: too few scored replies to compare old and new."


def test_identical_scores_are_no_worse_and_not_better() -> None:
    rows = [{"id": str(n), "system": system, "m": n % 5} for system in ("old", "new") for n in range(20)]
    for margin in (None, 0.1):
        assert gate(compare(scores=rows, margin=margin), "worse").passed
        assert not gate(compare(scores=rows, margin=margin), "not-better").passed


def test_people_decide_where_there_are_labels() -> None:
    def replies(system: str, words: int) -> list[dict[str, Any]]:
        return [
            {"id": str(n), "context": [f"q{n}"], "response": "word " * (words + n % 4), "system": system}
            for n in range(40)
        ]

    rng = np.random.default_rng(1)
    labelled = rng.permutation(40)[:20].tolist()
    labels = [
        {"id": str(n), "system": system, "scores": {"overall": score + int(rng.integers(3))}}
        for system, score in (("old", 3), ("new", 1))
        for n in labelled
    ]
    both = [*replies("old", 3), *replies("new", 9)]
    # Length alone says nothing about quality; people say that the new system is worse.
    assert not gate(compare(both, metrics="length", labels=labels), "worse").passed
    assert not gate(compare(both, metrics="length", labels=labels, margin=0.5), "worse").passed
    assert gate(compare(both, metrics="length", labels=labels, margin=3), "worse").passed


def test_what_cannot_be_checked_is_refused() -> None:
    with pytest.raises(CallError, match=r"^length does not say which replies are better"):
        gate(compared(0.0, metric="length"), "worse")
    three = [{"id": str(n), "system": system, "m": n} for system in "abc" for n in range(8)]
    with pytest.raises(CallError, match=r"expected two systems, found 3$"):
        gate(compare(scores=three), "worse")

"""The verdict of `trust` says no more than the tests show."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any

import numpy as np

from rejoinder.stats.intervals import Interval
from rejoinder.trusting.trust import DimensionTrust, Trust, trust, trust_sentences


@cache
def report() -> Trust:
    rng = np.random.default_rng(0)
    words = [f"word{number}" for number in range(20)]
    records = []
    for number in range(60):
        reference = rng.choice(words, 6).tolist()
        kept = rng.random(6) < rng.random()
        reply = [old if keep else "other" for old, keep in zip(reference, kept, strict=True)]
        rating = float(np.clip(np.round(1 + 4 * kept.mean() + rng.normal(0, 0.5)), 1, 5))
        record = {"id": str(number), "context": [f"c{number}"], "response": " ".join(reply), "system": "s"}
        records.append(record | {"references": [" ".join(reference)], "scores": {"overall": [rating]}})
    return trust(records, metrics=["bleu-1", "rouge-l", "distinct-1"], resamples=40)


def changed(p_values: list[float]) -> DimensionTrust:
    (dimension,) = report().dimensions
    level = dimension.utterance
    contests = tuple(
        dataclasses.replace(contest, p_adjusted=p) for contest, p in zip(level.contests, p_values, strict=True)
    )
    return dataclasses.replace(dimension, utterance=dataclasses.replace(level, contests=contests))


def with_interval(dimension: DimensionTrust, place: int, interval: Interval) -> DimensionTrust:
    level = dimension.utterance
    row = level.rows[place]
    measured: Any = {**row.measured, level.kind: dataclasses.replace(row.measured[level.kind], interval=interval)}
    rows = [*level.rows]
    rows[place] = dataclasses.replace(row, measured=measured)
    return dataclasses.replace(dimension, utterance=dataclasses.replace(level, rows=tuple(rows)))


def test_rivals_are_those_that_are_not_significantly_worse() -> None:
    best = report().dimensions[0].utterance.rows[0].metric
    contests = report().dimensions[0].utterance.contests
    assert trust_sentences(changed([0.5] * 3))[0].startswith(f"{best} agrees best with the ratings")
    assert "It is significantly better than every other metric." in trust_sentences(changed([0.01] * 3))
    assert "No other metric is significantly worse." in trust_sentences(changed([0.5] * 3))
    of_best = [best in (contest.a, contest.b) for contest in contests]
    first = of_best.index(True)
    mixed = trust_sentences(changed([0.01 if place == first else 0.5 for place in range(3)]))
    assert any(sentence.startswith("It is not significantly better than ") for sentence in mixed)


def test_metrics_without_agreement_are_named() -> None:
    (dimension,) = report().dimensions
    names = [row.metric for row in dimension.utterance.rows]
    fooled = with_interval(dimension, 2, Interval(-0.3, -0.5, -0.1))
    assert f"Replies that people rate lower score higher on {names[2]}." in trust_sentences(fooled)
    unrelated = with_interval(dimension, 1, Interval(0.1, -0.1, 0.3))
    assert any(
        sentence.startswith("No significant correlation with the ratings: ") for sentence in trust_sentences(unrelated)
    )
    doubtful = with_interval(dimension, 0, Interval(0.1, -0.1, 0.3))
    assert trust_sentences(doubtful)[0].endswith(", which is not significantly above zero.")


def test_latex_has_a_row_per_metric() -> None:
    latex = report().to_latex()
    assert latex.count(r"\\") == 4
    assert r"\textbf{" in latex
    assert latex.startswith(r"\begin{tabular}{lrrrrrrr}")

"""The spread of scores, compared with human ratings: a metric that always says "fairly good" is not informative.

Figure 3 of Zhao et al. 2020 shows how the scores of ADEM and RUBER concentrate around the middle of the scale, and
their tables give the standard deviations. Metrics have different ranges, so each metric's range is first mapped to the
human scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rejoinder.arrays import Floats
from rejoinder.figures.panels import HistogramPanel, IntervalPanel
from rejoinder.meta.studies.human_scale import HumanScale, comparable, scale_of
from rejoinder.meta.studies.wording import ROUNDING, above, below, listed
from rejoinder.meta.study import Cell, ScoredSet, StudyResult
from rejoinder.stats.intervals import Interval, bootstrap_bounds
from rejoinder.stats.resampling import bootstrap_chunks, group_codes, group_sums
from rejoinder.text.grid import number
from rejoinder.types import Scores

PEOPLE = "people"
HEADER = ("metric", "range", "mean", "sd", "sd on human scale", "ratio to human sd", "within half a step of the mean")


@dataclass(frozen=True, slots=True, eq=False)
class Rescaled:
    """A metric's scores, with its range mapped to the human scale and its mean moved to the human mean."""

    label: str
    range: str
    raw: Scores
    values: Scores


def study(scored: ScoredSet) -> StudyResult | None:
    """The standard deviations of metrics and people, on the human scale."""
    part = comparable(scored)
    if part is None:
        return None
    scale = scale_of(scored)
    people = Rescaled(PEOPLE, str(scale), part.human, part.human)
    columns = [people, *(rescaled(part, label, scale) for label in part.scores)]
    ratios = _ratios(np.stack([column.values for column in columns], axis=1), part)
    return StudyResult(
        "spread",
        "Spread of scores",
        "Zhao et al. 2020, Figure 3 and Table 3",
        HEADER,
        tuple(_row(column, ratio, scale) for column, ratio in zip(columns, ratios, strict=True)),
        tuple(_findings(columns, ratios, scale)),
        (
            HistogramPanel(
                "Scores with each metric's range mapped to the human scale and its mean moved to the human mean",
                tuple((column.label, column.values) for column in columns),
            ),
            IntervalPanel(
                "Standard deviation on the human scale, divided by that of people",
                tuple((column.label, ratio) for column, ratio in zip(columns[1:], ratios[1:], strict=True)),
            ),
        ),
    )


def rescaled(part: ScoredSet, label: str, scale: HumanScale) -> Rescaled:
    """The metric on the human scale; where its range is unknown or infinite, that of its scores is used."""
    raw, scores = part.scores[label], part.oriented(label)
    metric = part.metrics.get(label)
    low, high = metric.range if metric else (math.nan, math.nan)
    text = f"{low:g}..{high:g}"
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = float(raw.min()), float(raw.max())
        text = f"{low:.3g}..{high:.3g} (observed)"
    factor = (scale.high - scale.low) / (high - low) if high > low else 0.0
    return Rescaled(label, text, raw, part.human.mean() + (scores - scores.mean()) * factor)


def _ratios(matrix: Floats, part: ScoredSet) -> list[Interval]:
    """Each column's standard deviation divided by that of the first, with intervals that resample contexts."""
    codes, n_groups = group_codes(part.judged.contexts, len(matrix))
    centred = matrix - matrix.mean(axis=0)
    moments = group_sums(np.concatenate([np.ones((len(matrix), 1)), centred, centred**2], axis=1), codes, n_groups)
    drawn = []
    for counts in bootstrap_chunks(n_groups, part.resamples, part.seed):
        sums = counts @ moments
        mean, square = np.split(sums[:, 1:] / sums[:, :1], 2, axis=1)
        drawn.append(np.sqrt(np.maximum(square - mean**2, 0)))
    deviations = np.concatenate(drawn)
    ratios = np.divide(
        deviations, deviations[:, :1], out=np.full(deviations.shape, np.nan), where=deviations[:, :1] > 0
    )
    estimates = matrix.std(axis=0) / matrix[:, 0].std()
    return [bootstrap_bounds(ratios[:, j], float(estimates[j]), n_groups) for j in range(matrix.shape[1])]


def _near_mean(values: Scores, scale: HumanScale) -> float:
    return float(np.mean(np.abs(values - values.mean()) <= scale.step / 2 + ROUNDING))


def _row(column: Rescaled, ratio: Interval, scale: HumanScale) -> tuple[Cell, ...]:
    return (
        column.label,
        column.range,
        float(column.raw.mean()),
        float(column.raw.std(ddof=1)),
        float(column.values.std(ddof=1)),
        ratio,
        _near_mean(column.values, scale),
    )


def _findings(columns: list[Rescaled], ratios: list[Interval], scale: HumanScale) -> list[str]:
    people, *metrics = columns
    with_ratio = list(zip(metrics, ratios[1:], strict=True))
    sentences = [
        f"Mean human ratings have a standard deviation of {number(float(people.raw.std(ddof=1)), 2)} on {scale}; "
        f"{_near_mean(people.values, scale):.0%} of them are within half a step of their mean."
    ]
    for judgement, chosen in (
        ("These spread less than the human ratings", [m for m, ratio in with_ratio if below(ratio, 1)]),
        ("These spread more", [m for m, ratio in with_ratio if above(ratio, 1)]),
        ("No significant difference", [m for m, ratio in with_ratio if not above(ratio, 1) and not below(ratio, 1)]),
    ):
        if chosen:
            named = [f"{m.label} ({_near_mean(m.values, scale):.0%} near the mean)" for m in chosen]
            sentences.append(f"{judgement}: {listed(named)}.")
    return sentences

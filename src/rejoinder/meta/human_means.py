"""Human-scale means of whole systems from a few labels: scores on all replies, people on some of them.

Prediction-powered inference joins the two without trusting the metric: where it is wrong, the labels correct it, and
the interval says how sure that is. See `stats.prediction_powered`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from rejoinder.errors import CallError
from rejoinder.meta.judged import JudgedSet, chosen_dimensions
from rejoinder.metrics.table import ScoreTable, json_ready
from rejoinder.stats.prediction_powered import (
    LabelledScores,
    PredictionPowered,
    labels_needed,
    prediction_powered_difference,
    prediction_powered_mean,
)
from rejoinder.text.grid import grid, number
from rejoinder.text.ragged import Ints
from rejoinder.types import Example, Scores

FEWEST_LABELS = 5
"""Labels of a system below which no interval is worth printing."""


@dataclass(frozen=True, slots=True)
class HumanDifference:
    """By how much people would rate B above A."""

    a: str
    b: str
    result: PredictionPowered
    labels_needed: float

    @property
    def settled(self) -> bool:
        """Whether the interval leaves out 0."""
        return not self.result.interval.low <= 0 <= self.result.interval.high

    def sentence(self) -> str:
        """What a person would say of it."""
        gap = self.result.interval
        if self.settled:
            # Told from the better system's side, so that the number is positive.
            better, worse, sign = (self.b, self.a, 1) if gap.estimate > 0 else (self.a, self.b, -1)
            low, high = sorted((sign * gap.low, sign * gap.high))
            shown = f"{number(abs(gap.estimate))} [{number(low)}, {number(high)}]"
            return f"People would rate {better} above {worse} by {shown}."
        more = self.labels_needed - self.result.n_labelled
        if np.isinf(more):
            needed = "no number of labels on these replies would settle a gap so small; more replies would be needed"
        else:
            needed = f"about {max(more, 1):,.0f} more labels would settle it"
        open_gap = f"{number(gap.estimate)} [{number(gap.low)}, {number(gap.high)}]"
        return f"Whether people would rate {self.b} above {self.a} is open ({open_gap}); {needed}."


@dataclass(frozen=True, slots=True)
class HumanMeans:
    """What people would say of each system, and of each two."""

    dimension: str
    predictor: str
    means: Mapping[str, PredictionPowered]
    differences: tuple[HumanDifference, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "dimension": self.dimension,
            "predictor": self.predictor,
            "means": {system: _plain(result) for system, result in self.means.items()},
            "differences": [
                {
                    "a": row.a,
                    "b": row.b,
                    **_plain(row.result),
                    **json_ready({"labels_needed": row.labels_needed}),
                    "verdict": row.sentence(),
                }
                for row in self.differences
            ],
        }

    def __str__(self) -> str:
        rows = [
            [
                system,
                f"{number(r.interval.estimate)} [{number(r.interval.low)}, {number(r.interval.high)}]",
                f"{number(r.labels_only.estimate)} [{number(r.labels_only.low)}, {number(r.labels_only.high)}]",
                str(r.n_labelled),
                f"{r.gain:.2f}",
            ]
            for system, r in self.means.items()
        ]
        title = f"What people would say ({self.dimension}), from the labels and {self.predictor}"
        header = ["system", "mean [95 %]", "labels alone", "labels", "worth x"]
        said = [row.sentence() for row in self.differences]
        if len(said) > 1:
            said.append("Each interval stands for itself: none is corrected for the number of comparisons.")
        return "\n".join([title, grid(header, rows), *said])


def labels_by_row(examples: Iterable[Example], labelled: JudgedSet, dimension: str | None) -> tuple[str, Scores]:
    """The dimension, and the mean label of each example, NaN where there is none. Joined by id, and system if given."""
    wanted = chosen_dimensions(labelled, dimension)
    if len(wanted) > 1:
        raise CallError(f"{labelled.name} has labels on {', '.join(wanted)}: name one with --dimension")
    values = labelled.human(wanted[0])
    known = {(e.id, e.system): value for e, value in zip(labelled.examples, values.tolist(), strict=True)}
    labels, used = [], dict.fromkeys(known, 0)
    for example in examples:
        key = (example.id, example.system)
        key = key if key in known else (example.id, "")
        if key in used:
            used[key] += 1
        labels.append(known.get(key, np.nan))
    twice = next((key for key, count in used.items() if count > 1), None)
    if twice is not None:
        raise CallError(
            f"{labelled.name}: the label of {twice[0]!r} fits several replies: expected its system beside it"
        )
    if not any(used.values()):
        raise CallError(f"{labelled.name} labels none of the replies: ids and systems must be equal")
    return wanted[0], np.array(labels)


def human_means(table: ScoreTable, keys: Ints, labels: Scores, dimension: str, predictor: str) -> HumanMeans:
    """Join labels and scores, system by system and two by two."""
    column = table[predictor]
    sides = {system: _side(system, table.rows_of(system), column, keys, labels) for system in table.system_names}
    differences = []
    for a, b in combinations(table.system_names, 2):
        result = prediction_powered_difference(sides[a], sides[b])
        differences.append(HumanDifference(a, b, result, labels_needed(result)))
    means = {system: prediction_powered_mean(side) for system, side in sides.items()}
    return HumanMeans(dimension, predictor, means, tuple(differences))


def _side(system: str, rows: Ints, column: Scores, keys: Ints, labels: Scores) -> LabelledScores:
    rows = rows[~np.isnan(column[rows])]
    has = ~np.isnan(labels[rows])
    if has.sum() < FEWEST_LABELS:
        raise CallError(
            f"{system} has {int(has.sum())} labelled replies that were scored: expected at least {FEWEST_LABELS}"
        )
    with_label, without = rows[has], rows[~has]
    return LabelledScores(labels[with_label], column[with_label], column[without], keys[with_label], keys[without])


def _plain(result: PredictionPowered) -> dict[str, Any]:
    return json_ready(
        {
            "mean": result.interval.estimate,
            "low": result.interval.low,
            "high": result.interval.high,
            "labels_only": result.labels_only.estimate,
            "labels_only_low": result.labels_only.low,
            "labels_only_high": result.labels_only.high,
            "labels": result.n_labelled,
            "gain": result.gain,
        }
    )

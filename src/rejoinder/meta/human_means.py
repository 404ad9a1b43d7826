"""Human-scale means of whole systems from a few labels: scores on all replies, people on some of them.

Prediction-powered inference joins the two without trusting the metric: where it is wrong, the labels correct it, and
the interval says how sure that is. See `stats.prediction_powered`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from rejoinder.arrays import Ints
from rejoinder.errors import CallError
from rejoinder.meta import p_values
from rejoinder.meta.judged import JudgedSet, chosen_dimensions
from rejoinder.scoring.table import ScoreTable, json_ready
from rejoinder.stats.multiple import ALPHA, holm
from rejoinder.stats.prediction_powered import (
    LabelledScores,
    PredictionPowered,
    labels_needed,
    prediction_powered_difference,
    prediction_powered_mean,
)
from rejoinder.text.grid import grid, number
from rejoinder.types import Example, Scores

FEWEST_LABELS = 5
"""Labels of a system below which no interval is worth printing."""

MANY_LABELS = 20
"""Labels of a system below which intervals are a little short: in simulations with 5 to 12 labels they covered 93 to
95 % for normal labels and ratings 1..5, and down to 90 % for skewed ones."""


@dataclass(frozen=True, slots=True)
class HumanDifference:
    """By how much people would rate B above A."""

    a: str
    b: str
    result: PredictionPowered
    p_adjusted: float
    """Holm-corrected for all differences."""
    labels_needed: float

    @property
    def settled(self) -> bool:
        """Whether the corrected p-value is below .05."""
        return self.p_adjusted < ALPHA

    def sentence(self) -> str:
        """What a person would say of it."""
        gap = self.result.interval
        if self.settled:
            # Told from the better system's side, so that the number is positive.
            better, worse, sign = (self.b, self.a, 1) if gap.estimate > 0 else (self.a, self.b, -1)
            low, high = sorted((sign * gap.low, sign * gap.high))
            shown = f"{number(abs(gap.estimate))} [{number(low)}, {number(high)}]"
            return f"People would rate {better} above {worse} by {shown} ({p_values.in_words(self.p_adjusted)})."
        question = f"Whether people would rate {self.b} above {self.a} is open"
        if np.isnan(self.p_adjusted):
            return f"{question}: too few contexts with labels."
        open_gap = f"{number(gap.estimate)} [{number(gap.low)}, {number(gap.high)}]"
        return f"{question} ({open_gap}, {p_values.in_words(self.p_adjusted)}); {self._needed()}."

    def _needed(self) -> str:
        """What more labels could do."""
        more, remaining = self.labels_needed - self.result.n_labelled, self.result.n_unlabelled
        if not remaining:
            return "all replies are labelled: only more replies could settle it"
        if more > remaining:
            return f"labelling all {remaining:,} remaining replies would not be expected to settle it"
        return (
            f"if the true difference is the estimated one, about {max(more, 1):,.0f} more labels "
            "would show it four times in five"
        )


@dataclass(frozen=True, slots=True)
class HumanMeans:
    """What people would say of each system, and of each two."""

    dimension: str
    predictor: str
    means: Mapping[str, PredictionPowered]
    differences: tuple[HumanDifference, ...]
    notes: tuple[str, ...] = ()
    """What a reader should know: replies without a score, few labels."""

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
                    **json_ready(
                        {
                            "p": row.result.p_value,
                            "p_adjusted": row.p_adjusted,
                            "settled": bool(row.settled),
                            "labels_needed": row.labels_needed,
                        }
                    ),
                    "verdict": row.sentence(),
                }
                for row in self.differences
            ],
            "notes": list(self.notes),
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
        title = (
            f"What people would say ({self.dimension}), from the labels and {self.predictor}, "
            "if the labelled replies are a random sample of all:"
        )
        header = ["system", "mean [95 %]", "labels alone", "labels", "worth x"]
        return "\n".join([title, grid(header, rows), *(row.sentence() for row in self.differences)])


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
    pairs = list(combinations(table.system_names, 2))
    results = [prediction_powered_difference(sides[a], sides[b]) for a, b in pairs]
    adjusted = holm([result.p_value for result in results]).tolist()
    differences = [
        # Bonferroni's level: the corrected test asks no more than that of a difference.
        HumanDifference(a, b, result, p, labels_needed(result, alpha=ALPHA / len(pairs)))
        for (a, b), result, p in zip(pairs, results, adjusted, strict=True)
    ]
    means = {system: prediction_powered_mean(side) for system, side in sides.items()}
    return HumanMeans(dimension, predictor, means, tuple(differences), tuple(_notes(column, predictor, means)))


def _side(system: str, rows: Ints, column: Scores, keys: Ints, labels: Scores) -> LabelledScores:
    """A system's labels and scores; a reply without a score gets the mean of the others.

    Replies that a metric cannot score (empty ones) are often the bad ones: without them and their labels the system
    would look better than it is. The estimate is unbiased for any predictor, so also for one that knows no better.
    """
    scores = column[rows]
    unscored = np.isnan(scores)
    scores = np.where(unscored, 0.0 if unscored.all() else scores[~unscored].mean(), scores)
    has = ~np.isnan(labels[rows])
    if has.sum() < FEWEST_LABELS:
        raise CallError(f"{system} has {int(has.sum())} labelled replies: expected at least {FEWEST_LABELS}")
    of = keys[rows]
    return LabelledScores(labels[rows][has], scores[has], scores[~has], of[has], of[~has])


def _notes(column: Scores, predictor: str, means: Mapping[str, PredictionPowered]) -> Iterator[str]:
    unscored = int(np.isnan(column).sum())
    if unscored:
        yield f"{predictor} could not score {unscored} replies: they count with their system's mean score"
    few = [system for system, result in means.items() if result.n_labelled < MANY_LABELS]
    if few:
        yield (
            f"{', '.join(few)}: fewer than {MANY_LABELS} labels, so 95 % intervals of human means are a little short "
            "(in simulations they covered 90 to 95 %)"
        )


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

"""Mean ratings of whole systems, estimated from automatic scores of all replies and human labels of a few.

Prediction-powered inference does not trust the metric: the labels correct its bias, and the interval includes the
uncertainty of that correction. See `stats.prediction_powered`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from rejoinder.arrays import Ints
from rejoinder.comparing.verdict import Outcome, VerdictFacts, no_worse, outcome_of, verdict_words
from rejoinder.data.judged import JudgedSet, chosen_dimensions, item_of
from rejoinder.errors import CallError
from rejoinder.scoring.table import ScoreTable, json_ready
from rejoinder.show.text import counted, inflected, number_text, p_statement
from rejoinder.stats.intervals import rating_limits
from rejoinder.stats.labels import ChosenLabels, coverage_p_value, weighted_difference, weighted_mean
from rejoinder.stats.means import Equivalence
from rejoinder.stats.predicted import (
    LabelledScores,
    PredictionPowered,
    labels_needed,
    prediction_powered_difference,
    prediction_powered_mean,
    selection_p_value,
)
from rejoinder.stats.resampling import ALPHA, holm
from rejoinder.types import Example, Scores

FEWEST_LABELS = 5
"""Fewest labels per system for which an interval is worth printing."""

MANY_LABELS = 20
"""Labels per system below which intervals of means may be too narrow: in simulations with 5 to 19 labels they covered
95 % or more for normal labels, ratings 1..5 and yes/no labels, but 90 to 91 % for exponential ones."""

MANY_TWO_VALUED = 30
"""Minimum number of labels for two distinct values to be treated as yes/no labels; fewer may be ratings by chance."""

SELECTED = 0.01
"""Level of the test that the labelled replies differ from the others in their scores."""


_NAMES_PEOPLE = ("better", "equivalent", "no worse")
"""Outcomes whose words say that people decide."""


@dataclass(frozen=True, slots=True)
class LabelDifference:
    """The estimated difference between the mean ratings of B and A."""

    a: str
    b: str
    result: PredictionPowered
    p_adjusted: float
    """Holm-corrected over all pairs of systems."""
    labels_needed: float
    equivalence: Equivalence | None = None
    """Whether the difference is smaller than a margin, where one was given."""

    @property
    def significant(self) -> bool:
        """Whether the corrected p-value is below .05."""
        return self.p_adjusted < ALPHA

    @property
    def better(self) -> str | None:
        """The system that people would rate above the other; None where that is not significant."""
        return self.facts.leader if self.outcome == "better" else None

    @property
    def no_worse(self) -> str | None:
        """The system that people would rate no worse than the other by the margin or more; B if both are."""
        return no_worse(self.a, self.b, self.equivalence)

    @property
    def outcome(self) -> Outcome:
        """What the comparison shows."""
        return outcome_of(self.p_adjusted, self.equivalence, self.no_worse)

    @property
    def facts(self) -> VerdictFacts:
        """What the sentence is made from."""
        leader = self.b if self.result.interval.estimate > 0 else self.a
        return VerdictFacts(
            a=self.a,
            b=self.b,
            outcome=self.outcome,
            difference=self.result.interval,
            p_adjusted=self.p_adjusted,
            leader=(self.no_worse or leader) if self.outcome == "no worse" else leader,
            units=counted(self.result.n_labelled, "label"),
            by_people=True,
            equivalence=self.equivalence,
        )

    def sentence(self) -> str:
        """The verdict in words."""
        words = verdict_words(self.facts, "" if self.outcome in _NAMES_PEOPLE else " by people's ratings")
        needed = f"; {self._needed()}" if self.outcome in ("open", "no worse") else ""
        return f"{words[0].upper()}{words[1:]}{needed}."

    def _needed(self) -> str:
        """How many more labels would settle the question."""
        more, remaining = self.labels_needed - self.result.n_labelled, self.result.n_unlabelled
        if not remaining:
            return "all replies are labelled, so only more replies could settle it"
        if more > remaining:
            return f"labelling all {remaining:,} remaining replies would not be expected to settle it"
        labels = f"about {max(more, 1):,.0f} more labels"
        return f"if the observed difference is the true one, {labels} would detect it with 80% power"


@dataclass(frozen=True, slots=True)
class LabelMeans:
    """The estimated mean rating of each system, and the difference of each pair."""

    dimension: str
    predictor: str
    means: Mapping[str, PredictionPowered]
    differences: tuple[LabelDifference, ...]
    notes: tuple[str, ...] = ()
    """What a reader should know, such as replies without a score or too few labels."""
    weighted: bool = False
    """Whether the labelled replies were chosen with known probabilities, and not as a random sample."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "dimension": self.dimension,
            "predictor": self.predictor,
            "weighted": self.weighted,
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
                            "outcome": row.outcome,
                            "significant": bool(row.significant),
                            "settled": bool(row.significant),  # as it was named before 0.2
                            "better": row.better,
                            "no_worse": row.no_worse,
                            "labels_needed": row.labels_needed,
                        }
                    ),
                    "verdict": row.sentence(),
                }
                for row in self.differences
            ],
            "notes": list(self.notes),
        }

    @property
    def title(self) -> str:
        """What the means are estimated from."""
        how = (
            "labels are weighted by the probabilities with which replies were chosen:"
            if self.weighted
            else "the labelled replies must be a random sample of all:"
        )
        return f"Estimated mean ratings ({self.dimension}), from the labels and {self.predictor}; {how}"


@dataclass(frozen=True, slots=True)
class RowLabels:
    """The mean label of each example (NaN: none), and the probability with which it was chosen to be labelled."""

    values: Scores
    probabilities: Scores | None = None
    """None where the labelled examples are a random sample."""
    limits: tuple[float, float] = (-math.inf, math.inf)
    """The ends of the scale of the ratings, as far as they are known."""
    notes: tuple[str, ...] = ()
    """Which labels are missing, or are of none of the replies."""


def labels_by_row(examples: Iterable[Example], labelled: JudgedSet, dimension: str | None) -> tuple[str, RowLabels]:
    """The dimension, and the labels of the examples, joined by id and, where given, by system."""
    wanted = chosen_dimensions(labelled, dimension)
    if len(wanted) > 1:
        raise CallError(f"{labelled.name} has labels on {', '.join(wanted)}: name one with --dimension")
    values = labelled.human(wanted[0])
    chosen = labelled.probabilities or (np.nan,) * len(labelled)
    known = {
        (e.id, e.system): (value, probability)
        for e, value, probability in zip(labelled.examples, values.tolist(), chosen, strict=True)
    }
    labels, used = [], dict.fromkeys(known, 0)
    for example in examples:
        names = ((example.id, example.system), (example.id, ""), (item_of(example.system, example.id), ""))
        key = next((name for name in names if name in known), names[0])
        if key in used:
            used[key] += 1
        labels.append(known.get(key, (np.nan, np.nan)))
    twice = next((key for key, count in used.items() if count > 1), None)
    if twice is not None:
        raise CallError(f"{labelled.name}: the label of {twice[0]!r} matches several replies: expected a system too")
    if not any(used.values()):
        raise CallError(
            f"{labelled.name} labels none of the replies: ids and systems must be equal, or the files those that "
            "`rejoinder sample` read"
        )
    values, probabilities = np.array(labels).reshape(-1, 2).T
    limits, notes = rating_limits(labelled.ratings[wanted[0]]), tuple(_left_out(labelled, used))
    if not labelled.probabilities:
        return wanted[0], RowLabels(values, limits=limits, notes=notes)
    if np.isnan(probabilities[~np.isnan(values)]).any():
        raise CallError(f"{labelled.name}: only some labels have a probability: expected one for all of them or none")
    return wanted[0], RowLabels(values, probabilities, limits, notes)


def _left_out(labelled: JudgedSet, used: Mapping[tuple[str, str], int]) -> Iterator[str]:
    if labelled.unrated:
        total = len(labelled) + labelled.unrated
        yield f"{labelled.unrated:,} of the {total:,} rows of {labelled.name} have no rating: they are left out"
    if strange := sum(not count for count in used.values()):
        verb = inflected(strange, "is", "are")
        yield f"{counted(strange, 'label')} of {labelled.name} {verb} of none of these replies"


def human_means(
    table: ScoreTable,
    keys: Ints,
    labels: RowLabels | Scores,
    dimension: str,
    predictor: str,
    margin: float | None = None,
) -> LabelMeans:
    """The estimates for each system and each pair of systems; with a margin, whether they differ by less than it.

    Labels without probabilities are a random sample.
    """
    given = labels if isinstance(labels, RowLabels) else RowLabels(labels)
    estimator = _Estimator.of(table, keys, given, table[predictor])
    pairs = list(combinations(table.system_names, 2))
    results = [estimator.difference(a, b) for a, b in pairs]
    adjusted = holm([result.p_value for result in results]).tolist()
    within: list[Equivalence | None] = [None] * len(pairs)
    if margin is not None:
        confidence = 1 - 2 * ALPHA / len(pairs)
        narrower = [estimator.difference(a, b, confidence) for a, b in pairs]
        within = [Equivalence(margin, result.interval, confidence) for result in narrower]
    differences = [
        # Bonferroni's level is the strictest that Holm's correction can ask of a difference.
        LabelDifference(a, b, result, p, labels_needed(result, alpha=ALPHA / len(pairs)), equivalence)
        for (a, b), result, p, equivalence in zip(pairs, results, adjusted, within, strict=True)
    ]
    means = {system: estimator.mean(system) for system in table.system_names}
    notes = (*given.notes, *_notes(table[predictor], predictor, means), *estimator.notes(predictor))
    return LabelMeans(dimension, predictor, means, tuple(differences), notes, weighted=given.probabilities is not None)


@dataclass(frozen=True)
class _Estimator:
    """The systems' labels and scores, and how means are estimated from them."""

    sides: Mapping[str, LabelledScores]
    chosen: Mapping[str, ChosenLabels]
    """Empty where the labelled replies are a random sample."""
    label_values: tuple[float, float] | None
    limits: tuple[float, float]
    """No mean lies outside them."""

    @classmethod
    def of(cls, table: ScoreTable, keys: Ints, labels: RowLabels, column: Scores) -> _Estimator:
        rows_of = {system: table.rows_of(system) for system in table.system_names}
        sides = {system: _side(system, rows, column, keys, labels.values) for system, rows in rows_of.items()}
        chosen = {}
        if labels.probabilities is not None:
            for system, rows in rows_of.items():
                scores = _filled(column[rows])
                chosen[system] = ChosenLabels(labels.values[rows], scores, labels.probabilities[rows], keys[rows])
        return cls(sides, chosen, _two_values(labels.values), labels.limits)

    def mean(self, system: str) -> PredictionPowered:
        if self.chosen:
            found = weighted_mean(self.chosen[system])
        else:
            found = prediction_powered_mean(self.sides[system], label_values=self.label_values)
        return _within(found, self.limits)

    def difference(self, a: str, b: str, confidence: float = 1 - ALPHA) -> PredictionPowered:
        if self.chosen:
            found = weighted_difference(self.chosen[a], self.chosen[b], confidence=confidence)
        else:
            found = prediction_powered_difference(
                self.sides[a], self.sides[b], confidence=confidence, label_values=self.label_values
            )
        low, high = self.limits
        return _within(found, (low - high, high - low))

    def notes(self, predictor: str) -> Iterator[str]:
        """Which systems' labelled replies are hardly what they should be."""
        if not self.chosen:
            yield from _selection_notes(self.sides, predictor)
        for system, side in self.chosen.items():
            if coverage_p_value(side) < SELECTED:
                values, probabilities = np.asarray(side.labels), np.asarray(side.probabilities)
                has = ~np.isnan(values)
                yield (
                    f"{system}: by their probabilities, the {int(has.sum())} labelled replies stand for "
                    f"{float(np.sum(1 / probabilities[has])):,.0f} replies, but there are {len(values):,}: labels are "
                    "missing or were not chosen with these probabilities, and the estimated ratings may be wrong"
                )


def _within(result: PredictionPowered, limits: tuple[float, float]) -> PredictionPowered:
    """The same result, with estimates and intervals that do not leave the limits."""
    return replace(result, interval=result.interval.within(limits), labels_only=result.labels_only.within(limits))


def _two_values(labels: Scores) -> tuple[float, float] | None:
    """The two values of yes/no labels; None if labels have more values, or are too few to decide."""
    values, counts = np.unique(labels[~np.isnan(labels)], return_counts=True)
    is_two_valued = values.size == 2 and counts.sum() >= MANY_TWO_VALUED
    return (float(values[0]), float(values[1])) if is_two_valued else None


def _side(system: str, rows: Ints, column: Scores, keys: Ints, labels: Scores) -> LabelledScores:
    """A system's labels and scores; a reply without a score gets the mean of the others.

    Replies that a metric cannot score (empty ones) are often bad: dropping them and their labels would make the system
    look better than it is. The estimate is unbiased whatever the predictor, so an uninformative value does no harm.
    """
    scores = _filled(column[rows])
    has = ~np.isnan(labels[rows])
    if has.sum() < FEWEST_LABELS:
        raise CallError(f"{system} has {int(has.sum())} labelled replies: expected at least {FEWEST_LABELS}")
    of = keys[rows]
    return LabelledScores(labels[rows][has], scores[has], scores[~has], of[has], of[~has])


def _filled(scores: Scores) -> Scores:
    """The scores, with the mean of the others in place of those that are missing."""
    unscored = np.isnan(scores)
    return np.where(unscored, 0.0 if unscored.all() else scores[~unscored].mean(), scores)


def _notes(column: Scores, predictor: str, means: Mapping[str, PredictionPowered]) -> Iterator[str]:
    unscored = int(np.isnan(column).sum())
    if unscored:
        yield f"{predictor} could not score {unscored} replies: they were given their system's mean score"
    few = [system for system, result in means.items() if result.n_labelled < MANY_LABELS]
    if few:
        yield (
            f"{', '.join(few)}: fewer than {MANY_LABELS} labels; if labels are skewed, the 95 % intervals of means are "
            "too narrow (in simulations they covered 90 to 91 %)"
        )


def _selection_notes(sides: Mapping[str, LabelledScores], predictor: str) -> Iterator[str]:
    """Which systems' labelled replies are hardly a random sample."""
    for system, side in sides.items():
        p_value = selection_p_value(side)
        if p_value < SELECTED:
            labelled, others = (float(np.asarray(scores).mean()) for scores in (side.scores, side.unlabelled))
            yield (
                f"{system}: the labelled replies have a mean {predictor} of {number_text(labelled)}, the others of "
                f"{number_text(others)} ({p_statement(p_value)}): they are not a random sample, and the estimated "
                "ratings may be wrong"
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

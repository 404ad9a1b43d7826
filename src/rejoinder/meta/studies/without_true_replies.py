"""The correlation when replies that equal their reference are left out (Zhao et al. 2020, Table 1).

A metric that compares with a reference always recognises the true reply, and people like true replies: part of its
correlation may be due to that alone. Correlations are computed with and without the true replies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Floats
from rejoinder.figures.panels import IntervalPanel
from rejoinder.meta.studies.human_scale import FEWEST, comparable
from rejoinder.meta.studies.true_replies import of_true_systems, own_references
from rejoinder.meta.studies.wording import above, below, listed_with, replies
from rejoinder.meta.study import Cell, ScoredSet, StudyResult
from rejoinder.stats.bootstrap_correlation import correlation_replicates
from rejoinder.stats.correlation import correlate
from rejoinder.stats.intervals import Interval, bootstrap_bounds

KINDS = ("pearson", "spearman")
PEOPLE = "people"
HEADER = (
    "metric",
    "Pearson",
    "Pearson without",
    "Pearson change",
    "Spearman",
    "Spearman without",
    "Spearman change",
    "sd",
    "sd without",
)


@dataclass(frozen=True, slots=True)
class Change:
    """A correlation over all replies, the correlation without the true ones, and the difference."""

    of_all: float
    without: float
    change: Interval


def study(scored: ScoredSet) -> StudyResult | None:
    """Correlations with and without true replies; None where there are none, or too few others."""
    part = comparable(scored)
    if part is None:
        return None
    equal, named = own_references(part.judged.examples), of_true_systems(part.judged.examples)
    true = equal | named
    if not true.any() or len(true) - true.sum() < FEWEST or np.ptp(part.human[~true]) == 0:
        return None
    changes = _changes(part, true)
    rows = [_people_row(part, true), *(_row(label, changes, part, true) for label in part.scores)]
    return StudyResult(
        "without-true-replies",
        "Without true replies",
        "Zhao et al. 2020, Table 1",
        HEADER,
        tuple(rows),
        tuple(_findings(list(part.scores), changes, equal, named)),
        tuple(
            IntervalPanel(
                f"{kind.capitalize()} without true replies, minus that with them",
                tuple((label, changes[label][kind].change) for label in part.scores),
            )
            for kind in KINDS
        ),
    )


def _changes(part: ScoredSet, true: NDArray[np.bool_]) -> dict[str, dict[str, Change]]:
    """Metric -> kind -> change. Both correlations of a resample use the same contexts."""
    labels = list(part.scores)
    matrix = np.stack([part.oriented(label) for label in part.scores], axis=1)
    both = np.concatenate([matrix, np.where(true[:, None], np.nan, matrix)], axis=1)
    contexts = part.judged.contexts
    replicates = correlation_replicates(both, part.human, contexts, part.resamples, part.seed, KINDS)
    n_groups = len(np.unique(contexts[~true]))

    def change(kind: str, place: int) -> Change:
        of_all = correlate(matrix[:, place], part.human, kind).coefficient
        without = correlate(matrix[~true, place], part.human[~true], kind).coefficient
        drawn: Floats = replicates[kind][:, len(labels) + place] - replicates[kind][:, place]
        return Change(of_all, without, bootstrap_bounds(drawn, without - of_all, n_groups))

    return {label: {kind: change(kind, place) for kind in KINDS} for place, label in enumerate(labels)}


def _row(
    label: str, changes: dict[str, dict[str, Change]], part: ScoredSet, true: NDArray[np.bool_]
) -> tuple[Cell, ...]:
    cells: list[Cell] = []
    for kind in KINDS:
        found = changes[label][kind]
        cells += [found.of_all, found.without, found.change]
    scores = part.oriented(label)
    return (label, *cells, float(scores.std(ddof=1)), float(scores[~true].std(ddof=1)))


def _people_row(part: ScoredSet, true: NDArray[np.bool_]) -> tuple[Cell, ...]:
    spreads = (float(part.human.std(ddof=1)), float(part.human[~true].std(ddof=1)))
    return (PEOPLE, 1.0, 1.0, "-", 1.0, 1.0, "-", *spreads)


def _findings(
    labels: Sequence[str],
    changes: dict[str, dict[str, Change]],
    equal: NDArray[np.bool_],
    named: NDArray[np.bool_],
) -> list[str]:
    both = int((equal & named).sum())
    sentences = [
        f"{replies(int((equal | named).sum()))} of {len(equal):,} are true ones: {int(equal.sum()):,} equal a "
        f'reference, {int(named.sum()):,} come from a system with a name such as "ground truth", and {both:,} are both.'
    ]
    spearman = {label: changes[label]["spearman"].change for label in labels}
    lower = {label: change.estimate for label, change in spearman.items() if below(change)}
    higher = {label: change.estimate for label, change in spearman.items() if above(change)}
    if lower:
        sentences.append(f"Without them the Spearman correlation is lower for {listed_with(lower)}.")
    if higher:
        sentences.append(f"Without them it is higher for {listed_with(higher)}.")
    if not lower and not higher:
        sentences.append("Without them no metric's Spearman correlation changes significantly.")
    return sentences

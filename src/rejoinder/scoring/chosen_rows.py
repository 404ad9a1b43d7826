"""Which replies a report shows: those that systems or metrics differ on most, the best, the worst, and a sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Bools, Ints, run_starts
from rejoinder.data.contexts import Grouping
from rejoinder.scoring.table import DecidingMetric, ScoreTable
from rejoinder.types import Scores

# Which replies a report shows: contexts where systems differ most, the best, the worst and the most disputed replies,
# and a sample for the table of replies.
#
# Metrics differ in scale, so each score is replaced by its percentile among all scores of that metric, reversed where
# lower is better. A metric with an infinite range (length) measures something that is neither good nor bad in itself,
# and is left out. Variants of one metric (BLEU-1..4) count as one.


SHOWN = 6
"""Number of replies in each of "best", "worst" and "most disputed"."""
CONTRASTS = 4
"""Number of contexts whose replies are shown side by side."""
BESIDE = 4
"""Most replies that are shown side by side."""


@dataclass(frozen=True, slots=True)
class ChosenRows:
    """Row numbers of a table of scores, counted from 0."""

    contrasts: tuple[tuple[int, ...], ...]
    """Replies of different systems to one context, best first by the primary metric, by system where it cannot judge
    them; the largest differences first."""
    best: tuple[int, ...]
    """By mean percentile, best first."""
    worst: tuple[int, ...]
    disputed: tuple[int, ...]
    """By the difference between the highest and the lowest percentile, largest first."""
    listed: tuple[int, ...]
    """The rows of the table of replies, in order."""
    total: int
    """Number of rows of the table."""
    seed: int
    """The random seed of the sample, where not all rows are listed."""

    @property
    def needed(self) -> frozenset[int]:
        """All rows whose texts the report shows."""
        return frozenset(self.best + self.worst + self.disputed + self.listed + sum(self.contrasts, ()))


def rows_to_show(table: ScoreTable, *, primary: str | None = None, most: int = 5000, seed: int = 0) -> ChosenRows:
    """The rows whose texts the report needs; its table lists a random sample of at most `most` rows.

    `primary` is the metric by which systems differ, by default the one that `compare` would choose.
    """
    if most < 1:
        raise ValueError(f"most must be at least 1, not {most}")
    best, worst, disputed = _extremes(table)
    total = len(table)
    drawn = np.random.default_rng(seed).choice(total, most, replace=False) if total > most else np.arange(total)
    return ChosenRows(
        contrasts=_contrasts(table, primary or DecidingMetric.of(table, None, ()).metric) if table.metrics else (),
        best=best,
        worst=worst,
        disputed=disputed,
        listed=tuple(np.sort(drawn).tolist()),
        total=total,
        seed=seed,
    )


def _extremes(table: ScoreTable) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The best, the worst and the most disputed rows.

    Best and worst come from the two ends of one order, so that no reply is among both, however few or equal they are.
    """
    mean, spread = standing(table)
    spread[spread == 0] = np.nan
    disputed = tuple(_highest_first(spread)[:SHOWN].tolist())
    order = _highest_first(mean)
    best, worst = order[: min(SHOWN, (len(order) + 1) // 2)], order[::-1][: min(SHOWN, len(order) // 2)]
    return tuple(best.tolist()), tuple(worst.tolist()), disputed


def _contrasts(table: ScoreTable, label: str) -> tuple[tuple[int, ...], ...]:
    """The contexts that systems answered most differently: the same contexts first, then those of which only the
    dialogue and the turn are the same."""
    if table.grouping is None or len(table.system_names) < 2:
        return ()
    scores = table[label] if table.higher_is_better.get(label, True) else -table[label]
    contexts = table.grouping.contexts
    rows = _first_replies(table, table.grouping, ~np.isnan(scores))
    best, worst = (np.full(table.grouping.n_contexts, end) for end in (-np.inf, np.inf))
    np.maximum.at(best, contexts[rows], scores[rows])
    np.minimum.at(worst, contexts[rows], scores[rows])
    widest = np.argsort(worst - best, kind="stable")
    widest = widest[best[widest] > worst[widest]]
    if table.labels is not None:  # what contradicts people's labels is never first
        against = _contradicted(table.labels, scores, contexts, rows, best, worst)
        widest = widest[np.argsort(against[widest], kind="stable")]
    differ = table.grouping.differ
    found = [_widest(table, label, scores, rows, widest[differ[widest] == kind], best) for kind in (False, True)]
    return (*found[0], *found[1])


def _widest(
    table: ScoreTable, label: str, scores: Scores, rows: Ints, widest: Ints, best: Scores
) -> tuple[tuple[int, ...], ...]:
    """The replies to the first of some contexts; of two systems, half in favour of each."""
    contexts = table.grouping.contexts if table.grouping else np.arange(len(table))
    sides = [widest]
    if len(table.system_names) == 2:
        leading = rows[scores[rows] == best[contexts[rows]]]
        leader = np.zeros(len(best), np.int32)
        leader[contexts[leading]] = table.system_of[leading]
        sides = [widest[leader[widest] == system] for system in (0, 1)]
    in_turn = zip_longest(*(side[:CONTRASTS].tolist() for side in sides))
    shown = [context for each in in_turn for context in each if context is not None][:CONTRASTS]
    rows = rows[np.isin(contexts[rows], shown)]
    if not table.doubt(label):  # else they stay in the order of the systems
        rows = rows[np.argsort(-scores[rows], kind="stable")]
    replies = (tuple(rows[contexts[rows] == context].tolist()) for context in shown)
    return tuple(one if len(one) <= BESIDE else one[: BESIDE // 2] + one[-BESIDE // 2 :] for one in replies)


def _contradicted(labels: Scores, scores: Scores, contexts: Ints, rows: Ints, best: Scores, worst: Scores) -> Bools:
    """Of which contexts the reply with the best score has a lower label than that with the worst one. (contexts,)"""
    ends = np.full((2, len(best)), np.nan)
    for side, extreme in zip(ends, (best, worst), strict=True):
        found = rows[scores[rows] == extreme[contexts[rows]]]
        side[contexts[found]] = labels[found]
    contradicted: Bools = ends[0] < ends[1]
    return contradicted


def _first_replies(table: ScoreTable, grouping: Grouping, wanted: Bools) -> Ints:
    """The first wanted row of each system for each context, in order."""
    first, found = np.zeros(len(table), np.bool_), np.empty(grouping.n_contexts, np.int64)
    for system in table.system_names:
        rows = table.rows_of(system)
        rows = rows[wanted[rows]][::-1]
        found[grouping.contexts[rows]] = rows  # of several rows of a context, the first one is assigned last
        first[found[grouping.contexts[rows]]] = True
    return np.flatnonzero(first)


def ranked_metrics(table: ScoreTable) -> tuple[str, ...]:
    """The metrics that say which of these replies are better, on a finite range."""
    return tuple(
        label
        for label in table.metrics
        if math.isfinite(table.ranges.get(label, (0.0, 1.0))[0]) and table.says_better(label) and not table.doubt(label)
    )


def standing(table: ScoreTable) -> tuple[Scores, Scores]:
    """Mean and spread (highest minus lowest) of each row's percentiles over the ranked metrics.

    Variants of one metric count as one, by their mean percentile. The mean is NaN where fewer than half of the metrics
    could score the row, the spread where fewer than two could.
    """
    # Metric by metric, so that millions of rows need memory for a few columns and not for all metrics.
    families: dict[str, list[str]] = {}
    for label in ranked_metrics(table):
        families.setdefault(table.family_of(label), []).append(label)
    columns = (_mean_percentiles(table, labels) for labels in families.values())
    count, total = np.zeros(len(table), np.int32), np.zeros(len(table))
    lowest, highest = np.full(len(table), np.inf), np.full(len(table), -np.inf)
    for column in columns:
        _add(column, count, total)
        np.fmin(lowest, column, out=lowest)
        np.fmax(highest, column, out=highest)
    highest -= lowest
    highest[count < 2] = np.nan
    total[2 * count < len(families)] = np.nan
    return _divided(total, count), highest


def _mean_percentiles(table: ScoreTable, labels: list[str]) -> Scores:
    """Mean over some metrics, NaN where none of them could score."""
    columns = (percentiles(table[label], higher_is_better=table.higher_is_better.get(label, True)) for label in labels)
    if len(labels) == 1:
        return next(columns)
    count, total = np.zeros(len(table), np.int32), np.zeros(len(table))
    for column in columns:
        _add(column, count, total)
    return _divided(total, count)


def _add(column: Scores, count: NDArray[np.int32], total: Scores) -> None:
    """Add what is not NaN in a column to the totals, in place."""
    known = ~np.isnan(column)
    count += known
    np.add(total, column, out=total, where=known)


def _divided(total: Scores, count: NDArray[np.int32]) -> Scores:
    """The totals as means, in place; NaN where nothing was counted."""
    total[count == 0] = np.nan
    np.divide(total, count, out=total, where=count > 0)
    return total


def percentiles(column: Scores, *, higher_is_better: bool = True) -> Scores:
    """The share of scores that are worse, with equal ones counted half; 0 .. 1, and NaN for NaN."""
    values = column if higher_is_better else -column
    order = np.argsort(values)  # NaN is last
    order = order[: len(values) - np.count_nonzero(np.isnan(values))]
    edges = np.append(np.flatnonzero(run_starts(values[order])), len(order))  # of runs of equal values
    shares = (edges[1:] + edges[:-1]) / 2 / max(1, len(order))
    placed = np.full(len(values), np.nan)
    placed[order] = np.repeat(shares, np.diff(edges))
    return placed


def percentile_of(row: int, column: Scores, *, higher_is_better: bool = True) -> float:
    """One row's entry of `percentiles`, without sorting the column."""
    value, known = column[row], ~np.isnan(column)
    if np.isnan(value):
        return math.nan
    worse = column < value if higher_is_better else column > value
    return float((worse.sum() + (column == value).sum() / 2) / known.sum())


def _highest_first(key: Scores) -> Ints:
    """The rows with a key, sorted by key, then by row."""
    order = np.argsort(-key, kind="stable")  # NaN is last
    return order[: len(key) - np.count_nonzero(np.isnan(key))]

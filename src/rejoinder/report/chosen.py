"""Which replies a report shows: the best, the worst, the most disputed, and a sample for the table of replies.

Metrics differ in scale, so each score is replaced by its percentile among all scores of that metric, reversed where
lower is better. A metric with an infinite range (length) measures something that is neither good nor bad in itself,
and is left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rejoinder.scoring.table import ScoreTable
from rejoinder.types import Scores

SHOWN = 6
"""Number of replies in each of "best", "worst" and "most disputed"."""


@dataclass(frozen=True, slots=True)
class ChosenRows:
    """Row numbers of a table of scores, counted from 0."""

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
        return frozenset(self.best + self.worst + self.disputed + self.listed)


def rows_to_show(table: ScoreTable, *, most: int = 5000, seed: int = 0) -> ChosenRows:
    """The rows whose texts the report needs; its table lists a random sample of at most `most` rows."""
    if most < 1:
        raise ValueError(f"most must be at least 1, not {most}")
    mean, spread = standing(table)
    # Best and worst come from the two ends of one order, so that no reply is among both, however few or equal they are.
    order = _highest_first(mean)
    total = len(table)
    drawn = np.random.default_rng(seed).choice(total, most, replace=False) if total > most else np.arange(total)
    return ChosenRows(
        best=_rows(order[: min(SHOWN, (len(order) + 1) // 2)]),
        worst=_rows(order[::-1][: min(SHOWN, len(order) // 2)]),
        disputed=_rows(_highest_first(np.where(spread > 0, spread, np.nan))[:SHOWN]),
        listed=_rows(np.sort(drawn)),
        total=total,
        seed=seed,
    )


def ranked_metrics(table: ScoreTable) -> tuple[str, ...]:
    """The metrics that say which replies are better: those with a finite range."""
    return tuple(label for label in table.metrics if all(map(math.isfinite, table.ranges.get(label, (0.0, 1.0)))))


def standing(table: ScoreTable) -> tuple[Scores, Scores]:
    """Mean and spread (highest minus lowest) of each row's percentiles over the ranked metrics.

    The mean is NaN where fewer than half of them could score the row, the spread where fewer than two could.
    """
    # Metric by metric, so that millions of rows need memory for a few columns and not for all metrics.
    count = np.zeros(len(table))
    total, lowest, highest = np.zeros(len(table)), np.full(len(table), np.inf), np.full(len(table), -np.inf)
    labels = ranked_metrics(table)
    for label in labels:
        column = percentiles(table[label], higher_is_better=table.higher_is_better.get(label, True))
        known = ~np.isnan(column)
        count += known
        total[known] += column[known]
        np.fmin(lowest, column, out=lowest)
        np.fmax(highest, column, out=highest)
    enough = (count > 0) & (2 * count >= len(labels))
    mean = np.divide(total, count, out=np.full(len(table), np.nan), where=enough)
    return mean, np.subtract(highest, lowest, out=np.full(len(table), np.nan), where=count > 1)


def percentiles(column: Scores, *, higher_is_better: bool = True) -> Scores:
    """The share of scores that are worse, with equal ones counted half; 0 .. 1, and NaN for NaN."""
    placed = np.full(len(column), np.nan)
    known = ~np.isnan(column)
    values = column[known] if higher_is_better else -column[known]
    if len(values):
        _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
        placed[known] = ((np.cumsum(counts) - counts / 2) / len(values))[inverse]
    return placed


def percentile_of(row: int, column: Scores, *, higher_is_better: bool = True) -> float:
    """One row's entry of `percentiles`, without sorting the column."""
    value, known = column[row], ~np.isnan(column)
    if np.isnan(value):
        return math.nan
    worse = column < value if higher_is_better else column > value
    return float((worse.sum() + (column == value).sum() / 2) / known.sum())


def _highest_first(key: Scores) -> NDArray[np.int64]:
    """The rows with a key, sorted by key, then by row."""
    known = np.flatnonzero(~np.isnan(key))
    return known[np.argsort(-key[known], kind="stable")]


def _rows(numbers: NDArray[np.int64]) -> tuple[int, ...]:
    return tuple(numbers.tolist())

"""Which replies a report shows: contexts where systems differ most, the best, the worst and the most disputed replies,
and a sample for the table of replies.

Metrics differ in scale, so each score is replaced by its percentile among all scores of that metric, reversed where
lower is better. A metric with an infinite range (length) measures something that is neither good nor bad in itself,
and is left out. Variants of one metric (BLEU-1..4) count as one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from rejoinder.meta.comparing.comparison import Primary
from rejoinder.scoring.table import ScoreTable
from rejoinder.types import Scores

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
    """Replies of different systems to one context, best first by the primary metric; the largest differences first."""
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
    mean, spread = standing(table)
    # Best and worst come from the two ends of one order, so that no reply is among both, however few or equal they are.
    order = _highest_first(mean)
    total = len(table)
    drawn = np.random.default_rng(seed).choice(total, most, replace=False) if total > most else np.arange(total)
    return ChosenRows(
        contrasts=_contrasts(table, primary or Primary.of(table, None, ()).metric) if table.metrics else (),
        best=_rows(order[: min(SHOWN, (len(order) + 1) // 2)]),
        worst=_rows(order[::-1][: min(SHOWN, len(order) // 2)]),
        disputed=_rows(_highest_first(np.where(spread > 0, spread, np.nan))[:SHOWN]),
        listed=_rows(np.sort(drawn)),
        total=total,
        seed=seed,
    )


def _contrasts(table: ScoreTable, label: str) -> tuple[tuple[int, ...], ...]:
    """The contexts that systems answered most differently; of two systems, half in favour of each."""
    if table.grouping is None or len(table.system_names) < 2:
        return ()
    scores = table[label] if table.higher_is_better.get(label, True) else -table[label]
    answers: dict[int, dict[int, int]] = {}  # context -> system -> its first reply
    for row in np.flatnonzero(~np.isnan(scores)).tolist():
        answers.setdefault(int(table.grouping.contexts[row]), {}).setdefault(int(table.system_of[row]), row)
    by_score = [sorted(rows.values(), key=lambda row: -scores[row]) for rows in answers.values() if len(rows) > 1]
    found = [rows for rows in by_score if scores[rows[0]] > scores[rows[-1]]]
    found.sort(key=lambda rows: scores[rows[-1]] - scores[rows[0]])
    if len(table.system_names) == 2:
        for_each = [[rows for rows in found if table.system_of[rows[0]] == system] for system in (0, 1)]
        found = [rows for pair in zip_longest(*for_each) for rows in pair if rows is not None]
    return tuple(_ends(rows) for rows in found[:CONTRASTS])


def _ends(rows: list[int]) -> tuple[int, ...]:
    """The best and the worst of many replies."""
    return tuple(rows if len(rows) <= BESIDE else rows[: BESIDE // 2] + rows[-BESIDE // 2 :])


def ranked_metrics(table: ScoreTable) -> tuple[str, ...]:
    """The metrics that say which replies are better: those with a finite range."""
    return tuple(label for label in table.metrics if all(map(math.isfinite, table.ranges.get(label, (0.0, 1.0)))))


def standing(table: ScoreTable) -> tuple[Scores, Scores]:
    """Mean and spread (highest minus lowest) of each row's percentiles over the ranked metrics.

    Variants of one metric count as one, by their mean percentile. The mean is NaN where fewer than half of the metrics
    could score the row, the spread where fewer than two could.
    """
    # Metric by metric, so that millions of rows need memory for a few columns and not for all metrics.
    count = np.zeros(len(table))
    total, lowest, highest = np.zeros(len(table)), np.full(len(table), np.inf), np.full(len(table), -np.inf)
    families: dict[str, list[str]] = {}
    for label in ranked_metrics(table):
        families.setdefault(table.family_of(label), []).append(label)
    for labels in families.values():
        column = _mean_percentiles(table, labels)
        known = ~np.isnan(column)
        count += known
        total[known] += column[known]
        np.fmin(lowest, column, out=lowest)
        np.fmax(highest, column, out=highest)
    enough = (count > 0) & (2 * count >= len(families))
    mean = np.divide(total, count, out=np.full(len(table), np.nan), where=enough)
    return mean, np.subtract(highest, lowest, out=np.full(len(table), np.nan), where=count > 1)


def _mean_percentiles(table: ScoreTable, labels: list[str]) -> Scores:
    """Mean over some metrics, NaN where none of them could score."""
    count, total = np.zeros(len(table)), np.zeros(len(table))
    for label in labels:
        column = percentiles(table[label], higher_is_better=table.higher_is_better.get(label, True))
        known = ~np.isnan(column)
        count += known
        total[known] += column[known]
    means: Scores = np.divide(total, count, out=np.full(len(table), np.nan), where=count > 0)
    return means


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

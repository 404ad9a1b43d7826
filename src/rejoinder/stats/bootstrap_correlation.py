"""Intervals of correlations with people by cluster bootstrap, for many metrics with the same resamples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rejoinder.arrays import Floats, Ints
from rejoinder.defaults import RESAMPLES
from rejoinder.stats.correlation import KINDS, correlate
from rejoinder.stats.intervals import Interval, bootstrap_bounds
from rejoinder.stats.resampling import Groups, bootstrap_chunks, group_codes
from rejoinder.stats.weighted_correlation import (
    Sample,
    WeightedCorrelation,
    WeightedKendall,
    WeightedPearson,
    WeightedSpearman,
)

MEASURES: dict[str, type[WeightedCorrelation]] = {
    "pearson": WeightedPearson,
    "spearman": WeightedSpearman,
    "kendall": WeightedKendall,
}


def bootstrap_correlations(
    scores: ArrayLike,
    human: ArrayLike,
    groups: Groups = None,
    n_resamples: int = RESAMPLES,
    confidence: float = 0.95,
    seed: int = 0,
    kinds: Sequence[str] = ("pearson", "spearman"),
) -> dict[str, list[Interval]]:
    """For each kind the correlation of each metric with the human scores, with its interval.

    `scores` is (examples, metrics) or one vector; an example without a score of a metric is left out for that metric
    only. The interval is an expanded percentile interval (see `intervals`).
    """
    matrix, target = _checked(scores, human)
    replicates = correlation_replicates(matrix, target, groups, n_resamples, seed, kinds)
    codes, _ = group_codes(groups, target.size)
    known = ~(np.isnan(matrix) | np.isnan(target)[:, None])
    n_groups = [np.unique(codes[column]).size for column in known.T]

    def interval(kind: str, j: int) -> Interval:
        estimate = correlate(matrix[:, j], target, kind).coefficient
        return bootstrap_bounds(replicates[kind][:, j], estimate, n_groups[j], confidence)

    return {kind: [interval(kind, j) for j in range(matrix.shape[1])] for kind in kinds}


def correlation_replicates(
    scores: ArrayLike,
    human: ArrayLike,
    groups: Groups = None,
    n_resamples: int = RESAMPLES,
    seed: int = 0,
    kinds: Sequence[str] = ("pearson", "spearman"),
) -> dict[str, Floats]:
    """For each kind every metric's correlation in each resample (n_resamples, metrics), or NaN."""
    matrix, target = _checked(scores, human)
    unknown = sorted(set(kinds) - set(KINDS))
    if unknown:
        raise ValueError(f"unknown correlation {unknown[0]!r}; known: {', '.join(KINDS)}")
    codes, n_groups = group_codes(groups, target.size)
    replicates = {kind: np.full((n_resamples, matrix.shape[1]), np.nan) for kind in kinds}
    if not n_groups:
        return replicates
    work = [
        (replicates[kind], columns, MEASURES[kind](sample))
        for columns, sample in _complete_samples(matrix, target, codes, n_groups)
        for kind in kinds
    ]
    start = 0
    for counts in bootstrap_chunks(n_groups, n_resamples, seed):
        for table, columns, measure in work:
            table[start : start + len(counts), columns] = measure.of_counts(counts)
        start += len(counts)
    return replicates


def _checked(scores: ArrayLike, human: ArrayLike) -> tuple[Floats, Floats]:
    matrix, target = np.asarray(scores, np.float64), np.asarray(human, np.float64)
    if matrix.ndim == 1:
        matrix = matrix[:, None]
    if target.ndim != 1 or matrix.ndim != 2 or len(matrix) != len(target):
        raise ValueError(
            f"scores must be (examples, metrics) and human (examples,), not {matrix.shape}, {target.shape}"
        )
    return matrix, target


def _complete_samples(
    matrix: Floats, human: Floats, codes: Ints, n_groups: int
) -> Iterator[tuple[NDArray[np.int64], Sample]]:
    """Groups of metrics that scored the same examples: they share the human ranks of a resample."""
    known = ~(np.isnan(matrix) | np.isnan(human)[:, None])
    patterns, pattern_of = np.unique(known.T, axis=0, return_inverse=True)
    for index, rows in enumerate(patterns):
        columns = np.flatnonzero(pattern_of.reshape(-1) == index)
        if rows.any():
            yield columns, Sample(matrix[np.ix_(rows, columns)], human[rows], codes[rows], n_groups)

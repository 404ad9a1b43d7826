"""Intervals of correlations by cluster bootstrap, and tests against independence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rejoinder.arrays import Floats, Ints
from rejoinder.options import RESAMPLES
from rejoinder.stats.correlation import (
    KINDS,
    ScoreSample,
    WeightedCorrelation,
    WeightedKendall,
    WeightedPearson,
    WeightedSpearman,
    correlate,
    jointly_known,
    midranks,
)
from rejoinder.stats.intervals import Interval, bootstrap_bounds, t_quantile
from rejoinder.stats.resampling import Groups, bootstrap_chunks, chunk_sizes, group_codes

# Intervals of correlations with people by cluster bootstrap, for many metrics with the same resamples.
#
# Resamples of a few replies with ties or rare labels are too much alike, and the bootstrap's interval is too narrow. So
# the bounds are the outer ones of the expanded percentile interval (see `intervals`) and of the textbook interval on
# Fisher's z for as many independent replies (Fisher 1921; Bonett and Wright 2000 for Spearman; for Kendall with the
# standard error that tau-b has without correlation).


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
    """For each kind the correlation of each metric with the ratings, with its interval.

    `scores` is (examples, metrics) or one vector; an example without a score of a metric is left out for that metric
    only.
    """
    matrix, target = _checked(scores, human)
    replicates = correlation_replicates(matrix, target, groups, n_resamples, seed, kinds)
    codes, _ = group_codes(groups, target.size)
    known = ~(np.isnan(matrix) | np.isnan(target)[:, None])
    n_groups = [np.unique(codes[column]).size for column in known.T]

    def interval(kind: str, j: int) -> Interval:
        return correlation_bounds(matrix[:, j], target, kind, replicates[kind][:, j], n_groups[j], confidence)

    return {kind: [interval(kind, j) for j in range(matrix.shape[1])] for kind in kinds}


def correlation_bounds(
    x: ArrayLike, y: ArrayLike, kind: str, replicates: Floats, n_groups: int, confidence: float = 0.95
) -> Interval:
    """The correlation of x and y with its interval, given its replicates; NaN bounds with fewer than two groups."""
    first, second = jointly_known(x, y)
    estimate = correlate(first, second, kind).coefficient
    drawn = bootstrap_bounds(replicates, estimate, n_groups, confidence)
    if math.isnan(drawn.low) or abs(estimate) >= 1 or first.size < 5:
        return drawn
    error = _kendall_error(first, second) if kind == "kendall" else _fisher_error(estimate, first.size, kind)
    reach, z = t_quantile(confidence, math.inf) * error, math.atanh(estimate)
    return Interval(estimate, min(drawn.low, math.tanh(z - reach)), max(drawn.high, math.tanh(z + reach)))


def _fisher_error(estimate: float, n: int, kind: str) -> float:
    """The standard error of Fisher's z of a correlation over n independent examples."""
    return math.sqrt((1 + (estimate**2 / 2 if kind == "spearman" else 0)) / (n - 3))


def _kendall_error(x: Floats, y: Floats) -> float:
    """The standard error of tau-b over independent examples without correlation, ties included (Kendall 1970)."""
    n = x.size
    pairs, triples, sums = (np.zeros(2) for _ in range(3))
    for side, values in enumerate((x, y)):
        t = np.unique(values, return_counts=True)[1].astype(np.float64)
        pairs[side], triples[side] = np.sum(t * (t - 1)), np.sum(t * (t - 1) * (t - 2))
        sums[side] = np.sum(t * (t - 1) * (2 * t + 5))
    variance = (n * (n - 1) * (2 * n + 5) - sums.sum()) / 18
    variance += pairs.prod() / (2 * n * (n - 1)) + triples.prod() / (9 * n * (n - 1) * (n - 2))
    return math.sqrt(variance / ((n * (n - 1) - pairs) / 2).prod())


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
) -> Iterator[tuple[NDArray[np.int64], ScoreSample]]:
    """Groups of metrics that scored the same examples: they share the human ranks of a resample."""
    known = ~(np.isnan(matrix) | np.isnan(human)[:, None])
    patterns, pattern_of = np.unique(known.T, axis=0, return_inverse=True)
    for index, rows in enumerate(patterns):
        columns = np.flatnonzero(pattern_of.reshape(-1) == index)
        if rows.any():
            yield columns, ScoreSample(matrix[np.ix_(rows, columns)], human[rows], codes[rows], n_groups)


# Is a correlation with people more than chance: permutation tests of independence that keep contexts together.
#
# Each context gets the ratings of another one, in random order. Replies to one context stay together, so that they
# are not taken for independent; and a permutation test needs no approximation for ties or rare labels. A context with
# fewer replies than the one whose scores it gets takes some of them, one with more replies takes some of them twice.


MOST_FOR_KENDALL = 200
"""With more replies Kendall's p-value is that of Spearman's test: the two differ less than the draws of either."""


def independence_p_values(
    scores: ArrayLike,
    human: ArrayLike,
    groups: Groups = None,
    kind: str = "pearson",
    *,
    n_permutations: int = 1999,
    seed: int = 0,
) -> Floats:
    """For each metric the two-sided p-value of its correlation with the ratings. (metrics,)

    `scores` is (examples, metrics), without NaN. NaN where a metric or people give only one value.
    """
    if kind not in KINDS:
        raise ValueError(f"unknown correlation {kind!r}; known: {', '.join(KINDS)}")
    matrix, target = np.asarray(scores, np.float64), np.asarray(human, np.float64)
    codes, _ = group_codes(groups, target.size)
    by_group = np.argsort(codes, kind="stable")
    matrix, target, codes = matrix[by_group], target[by_group], codes[by_group]
    p_values = np.full(matrix.shape[1], np.nan)
    varied = np.array([target.size > 1 and np.ptp(column) > 0 < np.ptp(target) for column in matrix.T])
    if not varied.any():
        return p_values
    by_pairs = kind == "kendall" and target.size <= MOST_FOR_KENDALL
    if kind != "pearson" and not by_pairs:
        matrix, target = np.stack([midranks(column) for column in matrix.T], axis=1), midranks(target)
    columns = _unit(_pair_signs(matrix.T[varied]) if by_pairs else matrix.T[varied], centre=not by_pairs)
    observed = np.abs(columns @ _unit(_pair_signs(target[None]) if by_pairs else target[None], centre=not by_pairs)[0])
    extreme = np.zeros(observed.size)
    rng = np.random.default_rng(seed)
    for size in chunk_sizes(columns.shape[1], n_permutations):
        rows = target[_block_permutations(codes, size, rng)]
        permuted = _unit(_pair_signs(rows) if by_pairs else rows, centre=not by_pairs) @ columns.T
        extreme += np.count_nonzero(np.abs(permuted) >= observed * (1 - 1e-9), axis=0)
    p_values[varied] = (extreme + 1) / (n_permutations + 1)
    return p_values


def _block_permutations(codes: Ints, size: int, rng: np.random.Generator) -> Ints:
    """For each example, sorted by group, another one, so that a group gets examples of one group. (size, examples)"""
    sizes = np.bincount(codes)
    starts: Ints = np.cumsum(sizes) - sizes
    place = np.arange(codes.size) - starts[codes]
    source = rng.random((size, sizes.size)).argsort(axis=1)[:, codes]  # the group that each example's group draws from
    shuffled = np.argsort(codes + rng.random((size, codes.size)), axis=1)  # the examples in random order within groups
    drawn = (starts[source] + place % sizes[source]).astype(np.int64)
    return np.take_along_axis(shuffled, drawn, axis=1)


def _unit(rows: Floats, *, centre: bool) -> Floats:
    """The rows scaled to length 1, less their means if `centre`; a constant row is all 0."""
    centred = rows - rows.mean(axis=1, keepdims=True) if centre else rows
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    unit: Floats = np.divide(centred, length, out=np.zeros(centred.shape), where=length > 1e-12)
    return unit


def _pair_signs(rows: Floats) -> Floats:
    """Which of each two values is larger: (rows, n) -> (rows, pairs)."""
    left, right = np.triu_indices(rows.shape[1], 1)
    signs: Floats = np.sign(rows[:, left] - rows[:, right])
    return signs

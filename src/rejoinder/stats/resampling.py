"""Cluster bootstrap, permutations, and corrections for many tests."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rejoinder.arrays import Floats, Ints
from rejoinder.options import RESAMPLES
from rejoinder.stats.intervals import (
    Interval,
    Sums,
    Values,
    bootstrap_bounds,
    check_confidence,
    share_interval,
    t_quantile,
    two_values,
)

# Cluster bootstrap: whole groups of examples are drawn with replacement; intervals of means.
#
# Replies to one context are not independent, so contexts (*groups*) are drawn, not replies. A resample is represented
# by counts, how often each group was drawn, so that weighted sums for a thousand resamples are one matrix product.


Groups = Sequence[Any] | NDArray[Any] | None

CHUNK_VALUES = 4_000_000
"""Counts per chunk: 32 MB as float64, for any number of resamples."""

CACHED_VALUES = 50_000
"""Counts generated at once: few enough for the processor's cache, many enough to keep the Python loop short."""

LARGE = 20_000
"""With at least this many groups a mean is practically normal, and its interval needs no resampling."""


def group_codes(groups: Groups, n: int) -> tuple[Ints, int]:
    """Each example's group as an integer from 0, and the number of groups; without groups each example is its own."""
    if groups is None:
        return np.arange(n), n
    if len(groups) != n:
        raise ValueError(f"{len(groups)} groups for {n} examples")
    labels = np.asarray(groups)
    if labels.ndim != 1:
        raise ValueError(f"each group must be one name or number, but together they have the shape {labels.shape}")
    if labels.dtype == np.int64 and n and labels.min() >= 0 and labels.max() < 4 * n:
        # The same for small numbers, without sorting them; numbers that leave none out are returned as they are.
        present = np.zeros(int(labels.max()) + 1, np.bool_)
        present[labels] = True
        if present.all():
            return labels, len(present)
        numbers = np.cumsum(present) - 1
        return np.asarray(numbers[labels], np.int64), int(present.sum())
    names, codes = np.unique(labels, return_inverse=True)
    return codes.reshape(-1).astype(np.int64), len(names)


def bootstrap_chunks(n_groups: int, n_resamples: int, seed: int) -> Iterator[Floats]:
    """How often each group was drawn, in chunks of shape (some resamples, n_groups), so that memory stays bounded.

    The counts do not depend on the size of the chunks.
    """
    if n_resamples < 1:
        raise ValueError(f"n_resamples must be at least 1, not {n_resamples}")
    rng = np.random.default_rng(seed)
    rows = max(1, CHUNK_VALUES // max(n_groups, 1))
    for start in range(0, n_resamples, rows):
        size = min(rows, n_resamples - start)
        counts = np.empty((size, n_groups))
        block = max(1, CACHED_VALUES // n_groups)
        for first in range(0, size, block):
            target = counts[first : first + block]
            drawn = rng.integers(0, n_groups, target.shape, dtype=np.uint32)
            places = drawn + np.arange(len(target))[:, None] * n_groups
            target[:] = np.bincount(places.reshape(-1), minlength=target.size).reshape(target.shape)
        yield counts


def bootstrap_counts(groups: Groups, n_resamples: int = RESAMPLES, seed: int = 0, n: int | None = None) -> Floats:
    """How often each group was drawn in each resample. (n_resamples, n_groups)

    Without groups, `n` examples are drawn one by one. The columns follow the sorted names of the groups.
    """
    if groups is None and n is None:
        raise ValueError("bootstrap_counts needs groups, or n, the number of examples")
    _, n_groups = group_codes(groups, len(groups) if groups is not None else int(n or 0))
    if n_groups == 0:
        return np.zeros((n_resamples, 0))
    return np.concatenate(list(bootstrap_chunks(n_groups, n_resamples, seed)))


def mean_interval(
    values: ArrayLike,
    groups: Groups = None,
    n_resamples: int = RESAMPLES,
    confidence: float = 0.95,
    seed: int = 0,
    limits: Values | None = None,
) -> Interval:
    """The mean of the values that are not NaN, with its interval: see `mean_intervals`."""
    column = np.asarray(values, np.float64).reshape(-1, 1)
    return mean_intervals(column, groups, n_resamples, confidence, seed, [limits])[0]


def mean_intervals(
    matrix: ArrayLike,
    groups: Groups = None,
    n_resamples: int = RESAMPLES,
    confidence: float = 0.95,
    seed: int = 0,
    limits: Sequence[Values | None] | None = None,
) -> list[Interval]:
    """The mean of each column (one metric) with its interval, all columns over the same resamples.

    `matrix` is (examples, metrics); NaN is left out of its own column. A column without values gives NaN, and one with
    values of a single group NaN bounds. The interval reaches from the lower to the higher bound of
    two: the expanded BCa interval (see `intervals`), which allows for skewed scores, and the cluster-robust t interval,
    which allows for few groups. With 20,000 groups or more it is the latter alone. Scores that are all 0 or 1, or all
    at the ends of the metric's range (`limits`), get the interval of `yes_no`. See `benchmarks/coverage.py`.
    """
    values = np.asarray(matrix, np.float64)
    if values.ndim != 2:
        raise ValueError(f"matrix must be (examples, metrics), not of shape {values.shape}")
    check_confidence(confidence)
    codes, n_groups = group_codes(groups, len(values))
    ranges = limits if limits is not None else [None] * values.shape[1]
    pairs = [two_values(column[~np.isnan(column)], limit) for column, limit in zip(values.T, ranges, strict=True)]
    columns: Iterable[Sums] = (_known_sums(column, codes, n_groups) for column in values.T)  # one in memory at a time
    replicates = np.zeros((0, len(pairs)))
    if n_groups < LARGE and not all(pairs):
        columns = list(columns)
        sums, sizes = (np.stack(parts, axis=1) for parts in zip(*((c.sums, c.sizes) for c in columns), strict=True))
        replicates = mean_replicates(sums, sizes, n_resamples, seed)
    found = []
    for column, pair, means in zip(columns, pairs, replicates.T, strict=True):
        if pair is not None:
            found.append(share_interval(column.present, pair, confidence))
        elif n_groups >= LARGE:
            found.append(linear_interval(column.sums, column.sizes, confidence))
        else:
            found.append(_interval(column.present, means, confidence))
    return found


def _known_sums(column: Floats, codes: Ints, n_groups: int) -> Sums:
    """The sums of the values that are not NaN, and how many they are, by group."""
    known = ~np.isnan(column)
    if not known.all():
        column, codes = column[known], codes[known]
    return Sums(sums_by_group(column, codes, n_groups), np.bincount(codes, minlength=n_groups).astype(np.float64))


def sums_by_group(values: NDArray[Any], codes: Ints, n_groups: int) -> Floats:
    """The sum of the values within each group. (n_groups,)"""
    return np.asarray(np.bincount(codes, weights=values, minlength=n_groups), np.float64)


def group_sums(values: NDArray[Any], codes: Ints, n_groups: int) -> Floats:
    """The sum of each column within each group. (n_groups, columns)"""
    columns = [sums_by_group(column, codes, n_groups) for column in values.T]
    return np.stack(columns, axis=1) if columns else np.zeros((n_groups, 0))


def linear_interval(sums: Floats, sizes: Floats, confidence: float = 0.95) -> Interval:
    """The mean of groups with the given sums and sizes, and its cluster-robust t interval.

    NaN bounds with fewer than two groups.
    """
    values = Sums(sums, sizes).present
    n_groups, variance = values.sums.size, values.variance
    if n_groups < 2:
        return Interval(values.mean, np.nan, np.nan)
    margin = t_quantile(confidence, n_groups - 1) * float(np.sqrt(variance))
    return Interval(values.mean, values.mean - margin, values.mean + margin)


def mean_replicates(sums: Floats, sizes: Floats, n_resamples: int, seed: int) -> Floats:
    """The mean of each column in each resample. (n_resamples, columns)"""
    if not len(sums):
        return np.zeros((0, sums.shape[1]))
    totals = [(c @ sums, c @ sizes) for c in bootstrap_chunks(len(sums), n_resamples, seed)]
    return np.concatenate([_ratio(total, size) for total, size in totals])


def _interval(values: Sums, replicates: Floats, confidence: float) -> Interval:
    """The outer bounds of the BCa and the t interval."""
    by_t = linear_interval(values.sums, values.sizes, confidence)
    if np.isnan(by_t.low):
        return by_t
    without: Floats = _ratio(values.sums.sum() - values.sums, values.sizes.sum() - values.sizes)
    skewed = bootstrap_bounds(replicates, values.mean, values.sums.size, confidence, without)
    return Interval(values.mean, min(by_t.low, skewed.low), max(by_t.high, skewed.high))


def _ratio(top: Any, bottom: Any) -> Any:
    """top / bottom, and NaN where bottom is 0."""
    return np.divide(top, bottom, out=np.full(np.shape(top), np.nan), where=np.asarray(bottom) > 0)[()]


# Random swaps and shuffles, in chunks, and the p-value of a permutation test.
#
# Where there are no more different swaps or shuffles than were asked for, each comes once, except for the one that
# changes nothing: the p-value is then exact.


SORTED_UNITS = 1000
"""Up to so many units, the members of many permutations are drawn at once, by sorting random numbers."""


def swap_chunks(n_units: int, n_permutations: int, seed: int) -> Iterator[Floats]:
    """For each permutation and unit 0 or 1 with equal probability, in chunks of shape (permutations, n_units)."""
    if n_swaps(n_units, n_permutations) < n_permutations:
        numbers = np.arange(1, 2**n_units)[:, None]
        yield (numbers >> np.arange(n_units) & 1).astype(np.float64)
        return
    rng = np.random.default_rng(seed)
    width = -(-n_units // 8)
    for size in chunk_sizes(n_units, n_permutations):
        random_bytes = rng.integers(0, 256, (size, width), dtype=np.uint8)
        yield np.unpackbits(random_bytes, axis=1, count=n_units).astype(np.float64)


def membership_chunks(n_units: int, n_members: int, n_permutations: int, seed: int) -> Iterator[Floats]:
    """For each permutation 1 at `n_members` random units, else 0, in chunks of shape (permutations, n_units).

    The last `n_members` units are those of the data.
    """
    if n_memberships(n_units, n_members, n_permutations) < n_permutations:
        chosen = np.array(list(combinations(range(n_units), n_members)))[:-1]  # the last are those of the data
        every = np.zeros((len(chosen), n_units))
        np.put_along_axis(every, chosen, 1, axis=1)
        yield every
        return
    rng = np.random.default_rng(seed)
    for size in chunk_sizes(n_units, n_permutations):
        chunk = np.zeros((size, n_units))
        if n_units <= SORTED_UNITS:
            chosen = rng.random((size, n_units)).argpartition(n_members - 1, axis=1)[:, :n_members]
            np.put_along_axis(chunk, chosen, 1, axis=1)
        else:
            for row in chunk:
                row[rng.choice(n_units, n_members, replace=False, shuffle=False)] = 1
        yield chunk


def n_swaps(n_units: int, n_permutations: int) -> int:
    """How many swaps are drawn: at most all that change something."""
    return min((1 << n_units) - 1, n_permutations)


def n_memberships(n_units: int, n_members: int, n_permutations: int) -> int:
    """How many memberships are drawn: at most all but that of the data."""
    return min(math.comb(n_units, n_members) - 1, n_permutations)


def permutation_p_value(observed: float, permuted: NDArray[np.float64]) -> float:
    """The two-sided p-value: the share of permuted statistics at least as extreme as the observed one.

    The observed one counts as one of them: otherwise p could be 0, and the test would reject too often (Phipson and
    Smyth 2010).
    """
    if np.isnan(observed):
        return float("nan")
    # A permutation that equals the data must count as extreme, although summing in another order may change its bits.
    extreme = np.count_nonzero(np.abs(permuted) >= abs(observed) * (1 - 1e-9))
    return float((extreme + 1) / (permuted.size + 1))


def chunk_sizes(width: int, n_permutations: int) -> Iterator[int]:
    """How many permutations to make at a time, so that memory stays bounded."""
    if n_permutations < 1:
        raise ValueError(f"n_permutations must be at least 1, not {n_permutations}")
    rows = max(1, CHUNK_VALUES // max(width, 1))
    for start in range(0, n_permutations, rows):
        yield min(rows, n_permutations - start)


# Many comparisons at once: corrected p-values, and clusters of items without significant differences.


ALPHA = 0.05
"""The significance level of every verdict."""


def holm(p_values: ArrayLike) -> Floats:
    """The p-values, corrected to control the probability of any false positive (Holm 1979); NaN stays NaN.

    The k-th smallest of m is multiplied by m - k + 1, and the results are made non-decreasing.
    """
    given = np.asarray(p_values, np.float64)
    adjusted = np.full(given.shape, np.nan)
    known = np.flatnonzero(~np.isnan(given.reshape(-1)))
    flat = given.reshape(-1)[known]
    order = np.argsort(flat, kind="stable")
    steps = flat[order] * np.arange(flat.size, 0, -1)
    adjusted.reshape(-1)[known[order]] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def significance_clusters(estimates: ArrayLike, p_values: ArrayLike, alpha: float = ALPHA) -> Ints:
    """The cluster of each item, 1 for the best.

    From the highest estimate down, a new cluster starts where an item is significantly worse than any item of the
    current cluster, as in the metrics tasks of WMT (Freitag et al. 2022): no two items of one cluster differ
    significantly, but items of different clusters may not differ either. `p_values[i, j]` is the p-value of the
    difference between items i and j. An item without an estimate gets 0.
    """
    values, table = np.asarray(estimates, np.float64), np.asarray(p_values, np.float64)
    if values.ndim != 1 or table.shape != (values.size, values.size):
        raise ValueError(f"{values.shape} estimates need a square table of p-values, not {table.shape}")
    clusters = np.zeros(values.size, np.int64)
    members: list[int] = []
    cluster = 1
    for item in [int(i) for i in np.argsort(-values, kind="stable") if not np.isnan(values[i])]:
        if (table[members, item] < alpha).any():
            cluster += 1
            members = []
        clusters[item] = cluster
        members.append(item)
    return clusters

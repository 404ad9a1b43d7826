"""Cluster bootstrap: whole groups of examples are drawn with replacement; intervals of means.

Replies to one context are not independent, so contexts (*groups*) are drawn, not replies. A resample is represented by
counts, how often each group was drawn, so that weighted sums for a thousand resamples are one matrix product.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rejoinder.arrays import Floats, Ints
from rejoinder.defaults import RESAMPLES
from rejoinder.stats.intervals import Interval, bootstrap_bounds, check_confidence, t_quantile
from rejoinder.stats.sums import Sums
from rejoinder.stats.yes_no import Values, share_interval, two_values

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
        return _numbered(labels)
    names, codes = np.unique(labels, return_inverse=True)
    return codes.reshape(-1).astype(np.int64), len(names)


def _numbered(labels: Ints) -> tuple[Ints, int]:
    """The same for small numbers, without sorting them; numbers that leave none out are returned as they are."""
    present = np.zeros(int(labels.max()) + 1, np.bool_)
    present[labels] = True
    if present.all():
        return labels, len(present)
    numbers = np.cumsum(present) - 1
    return np.asarray(numbers[labels], np.int64), int(present.sum())


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

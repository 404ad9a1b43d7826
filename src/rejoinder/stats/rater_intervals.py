"""Intervals of agreement measures: items are resampled, with all their ratings.

Items (or, with groups, contexts) are drawn with replacement, and the measure is computed again from the drawn items.
The interval is the expanded percentile interval of `stats.intervals`. That of alpha also contains the jackknife
interval on Fisher's scale for intraclass correlations, because a percentile interval of alpha is too short with few
items.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Floats, Ints
from rejoinder.options import RESAMPLES
from rejoinder.stats.intervals import Interval, bootstrap_bounds, t_quantile
from rejoinder.stats.raters import half_means, kept_raters, krippendorff_alpha, rating_matrix, rest_means
from rejoinder.stats.resampling import Groups, bootstrap_chunks, group_codes, group_sums

MANY_GROUPS = 1000
"""Items (or contexts) from which on the jackknife of an ordinal or nominal alpha is left out: it takes long, and the
percentile interval is good enough."""


def alpha_interval(
    ratings: ArrayLike,
    level: str = "interval",
    groups: Groups = None,
    n_resamples: int = RESAMPLES,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Krippendorff's alpha of the ratings (items, raters) with its interval.

    Items with fewer than two ratings say nothing about agreement and are left out.
    """
    matrix = rating_matrix(ratings)
    useful = np.sum(~np.isnan(matrix), axis=1) > 1
    codes, n_groups = group_codes(None if groups is None else np.asarray(groups)[useful], int(useful.sum()))
    matrix = _without_gaps(matrix[useful])
    alpha = krippendorff_alpha(matrix, level)
    if n_groups < 2 or np.isnan(alpha):
        return Interval(alpha, np.nan, np.nan)
    replicates, left_out = _resampled(matrix, level, codes, n_groups, n_resamples, seed)
    by_resampling = bootstrap_bounds(replicates, alpha, n_groups, confidence)
    if not left_out.size:
        return by_resampling
    by_jackknife = _jackknife_interval(alpha, left_out, _harmonic_mean(matrix), confidence)
    low, high = np.fmin(by_resampling.low, by_jackknife.low), np.fmax(by_resampling.high, by_jackknife.high)
    return Interval(alpha, float(low), float(high))


def _resampled(
    matrix: Floats, level: str, codes: Ints, n_groups: int, n_resamples: int, seed: int
) -> tuple[Floats, Floats]:
    """The alphas of the resamples, and those without each group, which many groups do without."""
    chunks = bootstrap_chunks(n_groups, n_resamples, seed)
    if level == "interval":
        sums = _alpha_sums(matrix, codes, n_groups)
        left_out = _alpha_of_sums(sums.sum(axis=0) - sums)
        return np.concatenate([_alpha_of_sums(chunk @ sums) for chunk in chunks]), left_out
    places = np.arange(len(matrix))
    drawn = (np.repeat(places, counts[codes].astype(np.int64)) for chunk in chunks for counts in chunk)
    replicates = np.array([krippendorff_alpha(matrix[rows], level) for rows in drawn])
    groups = range(n_groups if n_groups < MANY_GROUPS else 0)
    return replicates, np.array([krippendorff_alpha(matrix[codes != group], level) for group in groups])


def _alpha_sums(matrix: Floats, codes: Ints, n_groups: int) -> Floats:
    """For each group the sums that the interval-scale alpha is made of: disagreement, number, sum, squares."""
    known = ~np.isnan(matrix)
    values = np.where(known, matrix - np.nanmean(matrix), 0)
    sizes, totals, squares = known.sum(axis=1), values.sum(axis=1), (values**2).sum(axis=1)
    within = 2 * sizes / (sizes - 1) * np.maximum(squares - totals**2 / sizes, 0)
    return group_sums(np.stack([within, sizes, totals, squares], axis=1), codes, n_groups)


def _alpha_of_sums(sums: Floats) -> Floats:
    """Alpha from its sums; NaN where all ratings are equal. (...,)"""
    within, n, total, squares = np.moveaxis(sums, -1, 0)
    safe = np.maximum(n, 2)
    expected = 2 * (squares - total**2 / safe) / (safe - 1)
    varies = expected > 1e-12 * np.maximum(squares / safe, 1e-300)
    found: Floats = 1 - np.divide(within / safe, expected, out=np.full(n.shape, np.nan), where=varies)
    return found


def _jackknife_interval(alpha: float, left_out: Floats, k: float, confidence: float) -> Interval:
    """From the alphas without each group, on the scale log((1 + (k - 1) a) / (1 - a)) (Fisher 1925, section 39).

    NaN bounds where an alpha is at an end of the scale.
    """
    every = np.append(left_out, alpha)
    if np.isnan(every).any() or (every >= 1).any() or (every <= -1 / (k - 1)).any():
        return Interval(alpha, np.nan, np.nan)
    values, n = np.log((1 + (k - 1) * every) / (1 - every)), len(left_out)
    error = np.sqrt((n - 1) / n * np.sum((values[:-1] - values[:-1].mean()) ** 2))
    bounds = np.exp(values[-1] + t_quantile(confidence, n - 1) * error * np.array([-1.0, 1.0]))
    low, high = (bounds - 1) / (bounds + k - 1)
    return Interval(alpha, float(low), float(high))


def _harmonic_mean(matrix: Floats) -> float:
    counts = np.sum(~np.isnan(matrix), axis=1)
    return float(len(counts) / np.sum(1 / counts))


def split_half_interval(
    ratings: ArrayLike,
    groups: Groups = None,
    *,
    n_splits: int = 25,
    n_resamples: int = RESAMPLES,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """The mean Pearson correlation of random halves of each item's ratings, with its interval."""
    first, second = half_means(ratings, n_splits=n_splits, seed=seed, within_items=True)
    return _mean_correlation(first, second, np.ones(n_splits), groups, n_resamples, confidence, seed)


def one_against_rest_interval(
    ratings: ArrayLike,
    groups: Groups = None,
    *,
    n_resamples: int = RESAMPLES,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """The mean Pearson correlation of one rater with the mean of the others, as `one_against_rest` has it."""
    matrix = rating_matrix(ratings)
    rest = rest_means(matrix)
    counts = np.sum(~np.isnan(matrix + rest), axis=0)
    kept = kept_raters(counts)
    return _mean_correlation(
        matrix[:, kept], rest[:, kept], counts[kept].astype(np.float64), groups, n_resamples, confidence, seed
    )


def _mean_correlation(
    first: Floats,
    second: Floats,
    weights: Floats,
    groups: Groups,
    n_resamples: int,
    confidence: float,
    seed: int,
) -> Interval:
    """The weighted mean of the correlations of corresponding columns, with its interval."""
    codes, n_groups = group_codes(groups, len(first))
    sums = _sums_of_products(first, second, codes, n_groups)
    estimate = float(_weighted_mean(_correlations(sums.sum(axis=1, keepdims=True)), weights)[0])
    if n_groups < 2 or np.isnan(estimate):
        return Interval(estimate, np.nan, np.nan)
    replicates = [
        _weighted_mean(_correlations(np.stack([chunk @ table for table in sums])), weights)
        for chunk in bootstrap_chunks(n_groups, n_resamples, seed)
    ]
    return bootstrap_bounds(np.concatenate(replicates), estimate, n_groups, confidence)


def _sums_of_products(first: Floats, second: Floats, codes: Ints, n_groups: int) -> Floats:
    """For each group and column: the number of pairs and the sums of x, y, xx, yy, xy. (6, groups, columns)"""
    known = ~np.isnan(first + second)
    # Correlations do not depend on the origin; centred values lose no digits in the differences of sums.
    x = np.where(known, first - np.nanmean(first), 0) if known.any() else np.zeros(first.shape)
    y = np.where(known, second - np.nanmean(second), 0) if known.any() else np.zeros(first.shape)
    tables = [known.astype(np.float64), x, y, x * x, y * y, x * y]
    sums = np.zeros((6, n_groups, first.shape[1]))
    for table, target in zip(tables, sums, strict=True):
        np.add.at(target, codes, table)
    return sums


def _correlations(sums: Floats) -> Floats:
    """Pearson's r from the six sums; NaN where one side does not vary. (resamples, columns)"""
    n, x, y, xx, yy, xy = sums
    safe = np.maximum(n, 1)
    variances = np.maximum(xx - x * x / safe, 0) * np.maximum(yy - y * y / safe, 0)
    varies = variances > 1e-20 * np.maximum(xx * yy, 1e-300)
    found: Floats = np.divide(xy - x * y / safe, np.sqrt(variances), out=np.full(n.shape, np.nan), where=varies)
    return found


def _weighted_mean(correlations: Floats, weights: Floats) -> Floats:
    """The mean of each row, NaN left out. (resamples,)"""
    known = ~np.isnan(correlations)
    total = known @ weights
    sums = np.where(known, correlations, 0) @ weights
    means: Floats = np.divide(sums, total, out=np.full(len(sums), np.nan), where=total > 0)
    return means


def _without_gaps(matrix: Floats) -> Floats:
    """The ratings of each item moved to the left, in as few columns as the item with the most ratings has."""
    order = np.argsort(np.isnan(matrix), axis=1, kind="stable")
    width = int(np.sum(~np.isnan(matrix), axis=1).max(initial=0))
    return np.take_along_axis(matrix, order, axis=1)[:, :width]

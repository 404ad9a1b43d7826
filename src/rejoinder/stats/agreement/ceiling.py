"""How well people agree with people: the reference for metrics.

*Split half*: the annotators are divided at random, and the means of the two halves are correlated (Liu et al. 2016).
*One against the rest*: each annotator is treated as a metric and correlated with the mean of the others (Tao et al.
2018).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rejoinder.arrays import Floats, Ints
from rejoinder.stats.agreement.kappa import rating_matrix
from rejoinder.stats.correlation import correlate

FEWEST_ITEMS = 30
"""Items that an annotator must have rated for a correlation that is worth reporting."""


@dataclass(frozen=True, slots=True)
class SplitHalf:
    """The mean correlation of two random halves and its standard deviation over the splits."""

    mean: float
    deviation: float
    n_splits: int


@dataclass(frozen=True, slots=True)
class OneAgainstRest:
    """The correlation of each annotator with the mean of the others, and its mean, median and maximum.

    Of a handful of ratings a correlation is mostly noise, and the best of several is the luckiest: the three summaries
    leave out annotators with too few, and the mean weights them by their number of ratings.
    """

    mean: float
    median: float
    maximum: float
    annotators: Floats
    """All of them; NaN where it is undefined."""
    counts: Ints
    """The items that each annotator and another one rated."""


def split_half(
    ratings: ArrayLike,
    *,
    kind: str = "pearson",
    n_splits: int = 100,
    seed: int = 0,
    within_items: bool = False,
) -> SplitHalf:
    """The agreement of random halves of the annotators. Ratings: (items, annotators), NaN: not rated.

    `within_items` splits each item's ratings separately: for ratings whose columns are not the same people throughout,
    or where each annotator rated few items. An item without a rating in one of the halves is left out of that split.
    """
    first, second = half_means(ratings, n_splits=n_splits, seed=seed, within_items=within_items)
    correlations = [correlate(x, y, kind).coefficient for x, y in zip(first.T, second.T, strict=True)]
    known = np.array([r for r in correlations if not np.isnan(r)])
    if not known.size:
        return SplitHalf(np.nan, np.nan, 0)
    return SplitHalf(float(known.mean()), float(known.std()), known.size)


def half_means(
    ratings: ArrayLike, *, n_splits: int = 100, seed: int = 0, within_items: bool = False
) -> tuple[Floats, Floats]:
    """The mean ratings of each item by the two halves of each split. (items, splits), twice"""
    if n_splits < 1:
        raise ValueError(f"n_splits must be at least 1, not {n_splits}")
    matrix = rating_matrix(ratings)
    rng = np.random.default_rng(seed)
    shuffle = _shuffled_within_items if within_items else _shuffled_annotators
    halves = [_halves(shuffle(matrix, rng)) for _ in range(n_splits)]
    return np.stack([first for first, _ in halves], axis=1), np.stack([second for _, second in halves], axis=1)


def one_against_rest(ratings: ArrayLike, *, kind: str = "pearson") -> OneAgainstRest:
    """Each annotator's correlation with the mean of the others, over the items that both rated.

    Annotators with fewer than 30 such items are left out of the summaries, or, where nobody has as many, those with
    fewer than half as many as the one with the most.
    """
    matrix = rating_matrix(ratings)
    found = [correlate(x, y, kind) for x, y in zip(matrix.T, rest_means(matrix).T, strict=True)]
    each, counts = np.array([one.coefficient for one in found]), np.array([one.n for one in found], np.int64)
    enough = kept_annotators(counts) & ~np.isnan(each)
    if not enough.any():
        return OneAgainstRest(np.nan, np.nan, np.nan, each, counts)
    kept = each[enough]
    mean = float(np.average(kept, weights=counts[enough]))
    return OneAgainstRest(mean, float(np.median(kept)), float(kept.max()), each, counts)


def rest_means(matrix: Floats) -> Floats:
    """For each annotator, the mean rating of each item by the others. (items, annotators)"""
    known = ~np.isnan(matrix)
    filled = np.where(known, matrix, 0)
    counts = known.sum(axis=1, keepdims=True) - known
    sums = filled.sum(axis=1, keepdims=True) - filled
    means: Floats = np.divide(sums, counts, out=np.full(matrix.shape, np.nan), where=counts > 0)
    return means


def kept_annotators(counts: Ints) -> NDArray[np.bool_]:
    """Which annotators have enough items in common with others for a correlation that is worth reporting."""
    most = int(counts.max(initial=0))
    enough: NDArray[np.bool_] = counts >= (FEWEST_ITEMS if most >= FEWEST_ITEMS else most / 2)
    return enough


def row_means(matrix: Floats) -> Floats:
    """The mean of each row, NaN left out; NaN for a row without values."""
    known = ~np.isnan(matrix)
    counts = known.sum(axis=1)
    sums = np.where(known, matrix, 0).sum(axis=1)
    means: Floats = np.divide(sums, counts, out=np.full(len(matrix), np.nan), where=counts > 0)
    return means


def _shuffled_annotators(matrix: Floats, rng: np.random.Generator) -> Floats:
    return matrix[:, rng.permutation(matrix.shape[1])]


def _shuffled_within_items(matrix: Floats, rng: np.random.Generator) -> Floats:
    """Each item's ratings in random order, assigned alternately to the two halves, so that gaps affect both equally."""
    shuffled = rng.permuted(matrix, axis=1)
    rank = np.argsort(np.isnan(shuffled), axis=1, kind="stable")  # the ratings first, the gaps last
    dealt = np.take_along_axis(shuffled, rank, axis=1)
    return np.concatenate([dealt[:, 0::2], dealt[:, 1::2]], axis=1)


def _halves(matrix: Floats) -> tuple[Floats, Floats]:
    """The row means of the columns before and after the middle."""
    middle = matrix.shape[1] // 2
    return row_means(matrix[:, :middle]), row_means(matrix[:, middle:])

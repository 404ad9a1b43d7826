"""How far raters agree: kappa, Krippendorff's alpha, intraclass correlation; unusual raters; the ceiling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rejoinder.arrays import Floats, Ints
from rejoinder.stats.correlation import correlate, jointly_known, midranks

# How far raters agree: kappa, Krippendorff's alpha, intraclass correlation; unusual raters; the ceiling.


# Chance-corrected agreement on categories: Cohen's kappa of two raters, Fleiss' kappa of many.


def cohens_kappa(first: ArrayLike, second: ArrayLike, weights: str = "quadratic") -> float:
    """Two raters' agreement beyond chance: 1 - observed over expected disagreement (Cohen 1960, 1968).

    Disagreement is the distance of the two scores (`linear`), its square (`quadratic`), or 1 for any difference
    (`none`). Expected is the disagreement of the same scores in random order. An item that one of them did not rate
    (NaN) is left out. NaN without items, or where both always give the same score.
    """
    distance = _distance(weights)
    x, y = jointly_known(first, second)
    if not x.size:
        return float("nan")
    values, codes = np.unique(np.concatenate([x, y]), return_inverse=True)
    margins = [np.bincount(c, minlength=values.size) / x.size for c in codes.reshape(2, -1)]
    table = distance(np.abs(values[:, None] - values[None, :]))
    expected = float(margins[0] @ table @ margins[1])
    return 1 - float(distance(np.abs(x - y)).mean()) / expected if expected > 0 else float("nan")


def fleiss_kappa(ratings: ArrayLike) -> float:
    """The agreement beyond chance of several raters on categories (Fleiss 1971). Ratings: (items, raters).

    Different items may have different raters, and different numbers of ratings (NaN: not rated); an item with
    fewer than two is left out. NaN where all ratings are equal.
    """
    counts = category_counts(ratings)
    n = counts.sum(axis=1)
    counts, n = counts[n > 1], n[n > 1]
    if not n.size:
        return float("nan")
    observed = float(np.mean((np.sum(counts**2, axis=1) - n) / (n * (n - 1))))
    expected = float(np.sum((counts.sum(axis=0) / n.sum()) ** 2))
    return (observed - expected) / (1 - expected) if expected < 1 else float("nan")


def category_counts(ratings: ArrayLike) -> Floats:
    """How often each item got each distinct rating; NaN is not counted. (items, categories)"""
    matrix = rating_matrix(ratings)
    known = ~np.isnan(matrix)
    values, codes = np.unique(matrix[known], return_inverse=True)
    counts = np.zeros((len(matrix), values.size))
    np.add.at(counts, (np.nonzero(known)[0], codes.reshape(-1)), 1)
    return counts


def rating_matrix(ratings: ArrayLike) -> Floats:
    """The ratings as floats, (items, raters); a ValueError for any other shape."""
    matrix = np.asarray(ratings, np.float64)
    if matrix.ndim != 2:
        raise ValueError(f"ratings must be (items, raters), not of shape {matrix.shape}")
    return matrix


def _distance(weights: str) -> np.ufunc:
    distances = {"none": np.sign, "linear": np.abs, "quadratic": np.square}
    if weights not in distances:
        raise ValueError(f"weights must be one of {', '.join(distances)}, not {weights!r}")
    return distances[weights]


# Krippendorff's alpha: agreement of any number of raters, with missing ratings, on any scale.
#
# alpha = 1 - D_o / D_e, where D_o is the mean squared difference of two ratings of one item and D_e that of any two
# ratings (Krippendorff 2011, "Computing Krippendorff's alpha-reliability"). The usual table of all pairs of values is
# not needed: on an interval scale both are sums of squares about means, and the ordinal difference of two values is
# the difference of their midranks, so the ordinal alpha is the interval alpha of midranks.


LEVELS = ("nominal", "ordinal", "interval")


def krippendorff_alpha(ratings: ArrayLike, level: str = "interval") -> float:
    """Alpha of the ratings (items, raters), NaN: not rated; 1 is full agreement, 0 is chance.

    An item with a single rating does not count. NaN where no item has two ratings, or where all ratings are equal.
    """
    if level not in LEVELS:
        raise ValueError(f"level must be one of {', '.join(LEVELS)}, not {level!r}")
    matrix = rating_matrix(ratings)
    matrix = matrix[np.sum(~np.isnan(matrix), axis=1) > 1]
    if not len(matrix):
        return float("nan")
    observed, expected = _nominal(matrix) if level == "nominal" else _interval(matrix, ranked=level == "ordinal")
    return 1 - observed / expected if expected > 0 else float("nan")


def perfect_correlation(alpha: float, counts: Ints) -> float:
    """The highest Pearson correlation with mean ratings, given the number of ratings of each item.

    The mean of k ratings has the reliability k a / (1 + (k - 1) a), a being Krippendorff's alpha (Spearman and Brown
    1910), and no correlation with it exceeds the root of that. k is the harmonic mean of the counts.
    """
    return float(np.sqrt(mean_reliability(alpha, counts)))


def mean_reliability(alpha: float, counts: Ints) -> float:
    """The reliability of mean ratings; 0 where alpha is negative."""
    single, raters = max(alpha, 0.0), len(counts) / float(np.sum(1 / counts))
    return raters * single / (1 + (raters - 1) * single) if not np.isnan(alpha) else float("nan")


def _nominal(matrix: Floats) -> tuple[float, float]:
    """Observed and expected share of unequal pairs."""
    counts = category_counts(matrix)
    sizes, totals = counts.sum(axis=1), counts.sum(axis=0)
    n = float(sizes.sum())
    observed = float(np.sum((sizes**2 - np.sum(counts**2, axis=1)) / (sizes - 1))) / n
    return observed, (n**2 - float(totals @ totals)) / (n * (n - 1))


def _interval(matrix: Floats, *, ranked: bool) -> tuple[float, float]:
    """Observed and expected mean squared difference; over all pairs of m values it sums to m times their squares."""
    known = ~np.isnan(matrix)
    values = midranks(matrix[known]) if ranked else matrix[known]
    item = np.nonzero(known)[0]
    sizes = np.bincount(item)
    means = np.bincount(item, weights=values) / sizes
    squares = np.bincount(item, weights=(values - means[item]) ** 2)
    observed = float(np.sum(2 * squares * sizes / (sizes - 1))) / values.size
    expected = 2 * float(np.sum((values - values.mean()) ** 2)) / (values.size - 1)
    return observed, expected if np.ptp(values) > 0 else 0.0


# Intraclass correlations: the share of the variance of ratings that is due to the items (Shrout and Fleiss 1979).


@dataclass(frozen=True, slots=True)
class IntraclassCorrelation:
    """The six coefficients; `single` is the reliability of one rater, `average` that of the mean of all.

    1: each item has different raters. 2: the same raters rate all items and are a random sample; differences
    in leniency count as error. 3: the same raters rate all items and are fixed; leniency does not count as error.
    """

    single_1: float
    single_2: float
    single_3: float
    average_1: float
    average_2: float
    average_3: float
    n_items: int
    n_raters: int


def intraclass_correlation(ratings: ArrayLike) -> IntraclassCorrelation:
    """The intraclass correlations of the ratings (items, raters); an item with a gap (NaN) is left out.

    They are computed from the mean squares of a two-way table: between items (B), within items (W), between raters
    (J), and residual (E). NaN with fewer than two items or raters, or where all ratings are equal.
    """
    matrix = rating_matrix(ratings)
    matrix = matrix[~np.isnan(matrix).any(axis=1)]
    n, k = matrix.shape
    if n < 2 or k < 2 or np.ptp(matrix) == 0:
        nan = float("nan")
        return IntraclassCorrelation(nan, nan, nan, nan, nan, nan, n, k)
    grand, items, raters = matrix.mean(), matrix.mean(axis=1), matrix.mean(axis=0)
    b = k * float(np.sum((items - grand) ** 2)) / (n - 1)
    j = n * float(np.sum((raters - grand) ** 2)) / (k - 1)
    w = float(np.sum((matrix - items[:, None]) ** 2)) / (n * (k - 1))
    e = (w * n * (k - 1) - j * (k - 1)) / ((n - 1) * (k - 1))
    return IntraclassCorrelation(
        single_1=_ratio(b - w, b + (k - 1) * w),
        single_2=_ratio(b - e, b + (k - 1) * e + k * (j - e) / n),
        single_3=_ratio(b - e, b + (k - 1) * e),
        average_1=_ratio(b - w, b),
        average_2=_ratio(b - e, b + (j - e) / n),
        average_3=_ratio(b - e, b),
        n_items=n,
        n_raters=k,
    )


def _ratio(top: float, bottom: float) -> float:
    return top / bottom if bottom != 0 else float("nan")


# Ratings that are far from the other ratings of the same item, by median absolute deviation.
#
# Unlike mean and standard deviation, the median and the deviation from it are hardly affected by the outliers (Leys et
# al. 2013). Zhao et al. 2020 drop ratings more than one deviation from the median of their item.


NORMAL_SCALE = 1.4826
"""Makes the median absolute deviation of normal values their standard deviation (Leys et al. 2013)."""


def mad_outliers(ratings: ArrayLike, threshold: float = 1.0) -> NDArray[np.bool_]:
    """Which ratings are more than `threshold` scaled deviations from their item's median. (items, raters)

    Where most ratings of an item are equal, the deviation is 0 and every other rating is an outlier.
    """
    if not threshold >= 0:
        raise ValueError(f"threshold must not be negative, but is {threshold}")
    matrix = rating_matrix(ratings)
    away = np.abs(matrix - _median(matrix)[:, None])
    outliers: NDArray[np.bool_] = away > threshold * NORMAL_SCALE * _median(away)[:, None]
    return outliers


def without_outliers(ratings: ArrayLike, threshold: float = 1.0) -> Floats:
    """The ratings with NaN in place of the outliers."""
    matrix = rating_matrix(ratings)
    return np.where(mad_outliers(matrix, threshold), np.nan, matrix)


def _median(matrix: Floats) -> Floats:
    """The median of each row, NaN left out; NaN for a row without ratings."""
    medians = np.full(len(matrix), np.nan)
    rated = ~np.isnan(matrix).all(axis=1)
    medians[rated] = np.nanmedian(matrix[rated], axis=1)
    return medians


# How well people agree with people: the reference for metrics.
#
# *Split half*: the raters are divided at random, and the means of the two halves are correlated (Liu et al. 2016).
# *One against the rest*: each rater is treated as a metric and correlated with the mean of the others (Tao et al.
# 2018).


FEWEST_ITEMS = 30
"""Items that a rater must have rated for a correlation that is worth reporting."""


@dataclass(frozen=True, slots=True)
class SplitHalf:
    """The mean correlation of two random halves and its standard deviation over the splits."""

    mean: float
    deviation: float
    n_splits: int


@dataclass(frozen=True, slots=True)
class OneAgainstRest:
    """The correlation of each rater with the mean of the others, and its mean, median and maximum.

    Of a handful of ratings a correlation is mostly noise, and the best of several is the luckiest: the three summaries
    leave out raters with too few, and the mean weights them by their number of ratings.
    """

    mean: float
    median: float
    maximum: float
    raters: Floats
    """All of them; NaN where it is undefined."""
    counts: Ints
    """The items that each rater and another one rated."""


def split_half(
    ratings: ArrayLike,
    *,
    kind: str = "pearson",
    n_splits: int = 100,
    seed: int = 0,
    within_items: bool = False,
) -> SplitHalf:
    """The agreement of random halves of the raters. Ratings: (items, raters), NaN: not rated.

    `within_items` splits each item's ratings separately: for ratings whose columns are not the same people throughout,
    or where each rater rated few items. An item without a rating in one of the halves is left out of that split.
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
    shuffle = _shuffled_within_items if within_items else _shuffled_raters
    halves = [_halves(shuffle(matrix, rng)) for _ in range(n_splits)]
    return np.stack([first for first, _ in halves], axis=1), np.stack([second for _, second in halves], axis=1)


def one_against_rest(ratings: ArrayLike, *, kind: str = "pearson") -> OneAgainstRest:
    """Each rater's correlation with the mean of the others, over the items that both rated.

    Raters with fewer than 30 such items are left out of the summaries, or, where nobody has as many, those with
    fewer than half as many as the one with the most.
    """
    matrix = rating_matrix(ratings)
    found = [correlate(x, y, kind) for x, y in zip(matrix.T, rest_means(matrix).T, strict=True)]
    each, counts = np.array([one.coefficient for one in found]), np.array([one.n for one in found], np.int64)
    enough = kept_raters(counts) & ~np.isnan(each)
    if not enough.any():
        return OneAgainstRest(np.nan, np.nan, np.nan, each, counts)
    kept = each[enough]
    mean = float(np.average(kept, weights=counts[enough]))
    return OneAgainstRest(mean, float(np.median(kept)), float(kept.max()), each, counts)


def rest_means(matrix: Floats) -> Floats:
    """For each rater, the mean rating of each item by the others. (items, raters)"""
    known = ~np.isnan(matrix)
    filled = np.where(known, matrix, 0)
    counts = known.sum(axis=1, keepdims=True) - known
    sums = filled.sum(axis=1, keepdims=True) - filled
    means: Floats = np.divide(sums, counts, out=np.full(matrix.shape, np.nan), where=counts > 0)
    return means


def kept_raters(counts: Ints) -> NDArray[np.bool_]:
    """Which raters have enough items in common with others for a correlation that is worth reporting."""
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


def _shuffled_raters(matrix: Floats, rng: np.random.Generator) -> Floats:
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

"""Krippendorff's alpha: agreement of any number of annotators, with missing ratings, on any scale.

alpha = 1 - D_o / D_e, where D_o is the mean squared difference of two ratings of one item and D_e that of any two
ratings (Krippendorff 2011, "Computing Krippendorff's alpha-reliability"). The usual table of all pairs of values is not
needed: on an interval scale both are sums of squares about means, and the ordinal difference of two values is the
difference of their midranks, so the ordinal alpha is the interval alpha of midranks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Floats, Ints
from rejoinder.stats.agreement.kappa import category_counts, rating_matrix
from rejoinder.stats.correlation import midranks

LEVELS = ("nominal", "ordinal", "interval")


def krippendorff_alpha(ratings: ArrayLike, level: str = "interval") -> float:
    """Alpha of the ratings (items, annotators), NaN: not rated; 1 is full agreement, 0 is chance.

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
    return float(np.sqrt(reliability(alpha, counts)))


def reliability(alpha: float, counts: Ints) -> float:
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

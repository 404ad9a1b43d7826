"""Intraclass correlations: the share of the variance of ratings that is due to the items (Shrout and Fleiss 1979)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.stats.agreement.kappa import rating_matrix


@dataclass(frozen=True, slots=True)
class IntraclassCorrelation:
    """The six coefficients; `single` is the reliability of one annotator, `average` that of the mean of all.

    1: each item has different annotators. 2: the same annotators rate all items and are a random sample; differences
    in leniency count as error. 3: the same annotators rate all items and are fixed; leniency does not count as error.
    """

    single_1: float
    single_2: float
    single_3: float
    average_1: float
    average_2: float
    average_3: float
    n_items: int
    n_annotators: int


def intraclass_correlation(ratings: ArrayLike) -> IntraclassCorrelation:
    """The intraclass correlations of the ratings (items, annotators); an item with a gap (NaN) is left out.

    They are computed from the mean squares of a two-way table: between items (B), within items (W), between annotators
    (J), and residual (E). NaN with fewer than two items or annotators, or where all ratings are equal.
    """
    matrix = rating_matrix(ratings)
    matrix = matrix[~np.isnan(matrix).any(axis=1)]
    n, k = matrix.shape
    if n < 2 or k < 2 or np.ptp(matrix) == 0:
        nan = float("nan")
        return IntraclassCorrelation(nan, nan, nan, nan, nan, nan, n, k)
    grand, items, annotators = matrix.mean(), matrix.mean(axis=1), matrix.mean(axis=0)
    b = k * float(np.sum((items - grand) ** 2)) / (n - 1)
    j = n * float(np.sum((annotators - grand) ** 2)) / (k - 1)
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
        n_annotators=k,
    )


def _ratio(top: float, bottom: float) -> float:
    return top / bottom if bottom != 0 else float("nan")

"""Ratings that are far from the other ratings of the same item, by median absolute deviation.

Unlike mean and standard deviation, the median and the deviation from it are hardly affected by the outliers (Leys et
al. 2013). Zhao et al. 2020 drop ratings more than one deviation from the median of their item.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rejoinder.arrays import Floats
from rejoinder.stats.agreement.kappa import rating_matrix

NORMAL_SCALE = 1.4826
"""Makes the median absolute deviation of normal values their standard deviation (Leys et al. 2013)."""


def mad_outliers(ratings: ArrayLike, threshold: float = 1.0) -> NDArray[np.bool_]:
    """Which ratings are more than `threshold` scaled deviations from their item's median. (items, annotators)

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

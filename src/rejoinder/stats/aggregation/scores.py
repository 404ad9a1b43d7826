"""One score per item from the ratings of several raters, by any of four methods."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Floats
from rejoinder.stats.aggregation.dawid_skene import dawid_skene
from rejoinder.stats.aggregation.mace import mace
from rejoinder.stats.agreement.ceiling import row_means
from rejoinder.stats.agreement.kappa import rating_matrix

METHODS = ("mean", "normalised", "dawid-skene", "mace")

MOST_CATEGORIES = 20
"""Distinct scores above which ratings are not categories: a slider, a mean of several questions."""


def aggregate(ratings: ArrayLike, method: str = "mean", *, seed: int = 0) -> Floats:
    """The score of each item of a matrix (items, raters), NaN: not rated, or no rating at all.

    `mean` is the plain mean; `normalised` that of each rater's z-scores, on the scale of all ratings. `dawid-skene` and
    `mace` treat scores as categories and give the expected score under the estimated probabilities.
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    matrix = rating_matrix(ratings)
    if method == "mean":
        return row_means(matrix)
    if method == "normalised":
        return row_means(normalised_ratings(matrix))
    n_values = len(np.unique(matrix[~np.isnan(matrix)]))
    if n_values > MOST_CATEGORIES:
        raise ValueError(f"{method} is for at most {MOST_CATEGORIES} distinct scores, but there are {n_values}")
    posterior = dawid_skene(matrix) if method == "dawid-skene" else mace(matrix, seed=seed)
    return posterior.means()


def normalised_ratings(ratings: ArrayLike) -> Floats:
    """Each rater's z-scores, multiplied by the standard deviation of all ratings and added to their mean.

    A rater who always gives the same score gets the mean throughout. Raters must have rated comparable items.
    """
    matrix = rating_matrix(ratings)
    known = ~np.isnan(matrix)
    if not known.any():
        return matrix
    means = row_means(matrix.T)
    deviations = np.sqrt(row_means((matrix - means).T ** 2))
    z = np.divide(matrix - means, deviations, out=np.zeros(matrix.shape), where=known & (deviations > 0))
    every = matrix[known]
    return np.where(known, every.mean() + every.std() * z, np.nan)

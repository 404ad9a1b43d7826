"""Chance-corrected agreement on categories: Cohen's kappa of two annotators, Fleiss' kappa of many."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Floats
from rejoinder.stats.correlation import jointly_known


def cohens_kappa(first: ArrayLike, second: ArrayLike, weights: str = "quadratic") -> float:
    """Two annotators' agreement beyond chance: 1 - observed over expected disagreement (Cohen 1960, 1968).

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
    """The agreement beyond chance of several annotators on categories (Fleiss 1971). Ratings: (items, annotators).

    Different items may have different annotators, and different numbers of ratings (NaN: not rated); an item with
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
    """The ratings as floats, (items, annotators); a ValueError for any other shape."""
    matrix = np.asarray(ratings, np.float64)
    if matrix.ndim != 2:
        raise ValueError(f"ratings must be (items, annotators), not of shape {matrix.shape}")
    return matrix


def _distance(weights: str) -> np.ufunc:
    distances = {"none": np.sign, "linear": np.abs, "quadratic": np.square}
    if weights not in distances:
        raise ValueError(f"weights must be one of {', '.join(distances)}, not {weights!r}")
    return distances[weights]

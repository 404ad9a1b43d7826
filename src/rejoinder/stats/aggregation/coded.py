"""Ratings as categories: the numbers of item, rater and category of each rating, and what models infer from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Floats, Ints
from rejoinder.stats.agreement.kappa import rating_matrix

SMALLEST = 1e-10
"""Probability in place of 0, so that no single rating rules out a category."""


@dataclass(frozen=True, slots=True)
class CodedRatings:
    """One element per rating."""

    items: Ints
    raters: Ints
    categories: Ints
    values: Floats
    """The distinct scores, in rising order: the categories."""
    n_items: int
    n_raters: int

    @classmethod
    def of(cls, ratings: ArrayLike) -> CodedRatings:
        """From a matrix (items, raters), NaN: not rated."""
        matrix = rating_matrix(ratings)
        items, raters = np.nonzero(~np.isnan(matrix))
        values, categories = np.unique(matrix[items, raters], return_inverse=True)
        return cls(items, raters, categories.reshape(-1).astype(np.int64), values, *matrix.shape)

    def votes(self) -> Floats:
        """How often each item got each category. (items, categories)"""
        counts = np.zeros((self.n_items, len(self.values)))
        np.add.at(counts, (self.items, self.categories), 1)
        return counts


@dataclass(frozen=True, slots=True)
class Posterior:
    """The probability of each category for each item, and the reliability of each rater."""

    values: Floats
    """The categories' scores."""
    probabilities: Floats
    """(items, categories); NaN for an item without ratings."""
    competence: Floats
    """The estimated share of a rater's ratings that are right, or given in earnest. (raters,)"""

    def means(self) -> Floats:
        """The expected score of each item. (items,)"""
        return self.probabilities @ self.values


def normalised(logs: Floats) -> Floats:
    """Probabilities in proportion to the exponentials of each row."""
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    found: Floats = shares / shares.sum(axis=1, keepdims=True)
    return found

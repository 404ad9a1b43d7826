"""Dawid and Skene 1979: each rater has a table of how often each true category gets which rating.

Categories of items and tables of raters are estimated in turn (EM), beginning with the shares of votes. A rater who is
always one point too low is corrected, not only outvoted; but a table of K x K numbers per rater needs many ratings of
each, about ten per category.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Floats
from rejoinder.stats.aggregation.coded import SMALLEST, CodedRatings, Posterior, normalised


def dawid_skene(ratings: ArrayLike, *, iterations: int = 100, tolerance: float = 1e-8) -> Posterior:
    """The categories of the items of a matrix (items, raters), NaN: not rated.

    It ends when no probability changes by more than the tolerance, or after the given number of iterations.
    """
    data = CodedRatings.of(ratings)
    votes = data.votes()
    rated = votes.sum(axis=1) > 0
    found = np.full(votes.shape, np.nan)
    if not rated.any():
        return Posterior(data.values, found, np.full(data.n_raters, np.nan))
    found[rated] = votes[rated] / votes[rated].sum(axis=1, keepdims=True)
    for _ in range(iterations):
        before = found[rated]
        shares, tables = before.mean(axis=0), _tables(data, found)
        logs = np.zeros(votes.shape)
        np.add.at(logs, data.items, np.log(tables)[data.raters, data.categories])
        found[rated] = normalised(logs + np.log(np.maximum(shares, SMALLEST)))[rated]
        if np.abs(found[rated] - before).max() < tolerance:
            break
    right = np.bincount(data.raters, found[data.items, data.categories], data.n_raters)
    counts = np.bincount(data.raters, minlength=data.n_raters)
    competence = np.divide(right, counts, out=np.full(data.n_raters, np.nan), where=counts > 0)
    return Posterior(data.values, found, competence)


def _tables(data: CodedRatings, found: Floats) -> Floats:
    """The probability of each rating given the true category. (raters, given, true)"""
    k = len(data.values)
    tables = np.zeros((data.n_raters, k, k))
    np.add.at(tables, (data.raters, data.categories), found[data.items])
    tables = np.maximum(tables, SMALLEST)
    # A rating that a rater never gave does not count in the sum, as in crowd-kit.
    given = np.zeros((data.n_raters, k, 1))
    given[data.raters, data.categories] = 1
    sums = np.maximum((tables * given).sum(axis=1, keepdims=True), SMALLEST)
    normal: Floats = tables / sums
    return normal

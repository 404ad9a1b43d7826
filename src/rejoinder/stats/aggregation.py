"""One label or score from several raters: Dawid and Skene, MACE, weighted means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Floats, Ints
from rejoinder.stats.raters import rating_matrix, row_means

# Ratings as categories: the numbers of item, rater and category of each rating, and what models infer from them.


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


def row_softmax(logs: Floats) -> Floats:
    """Probabilities in proportion to the exponentials of each row."""
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    found: Floats = shares / shares.sum(axis=1, keepdims=True)
    return found


# Dawid and Skene 1979: each rater has a table of how often each true category gets which rating.
#
# Categories of items and tables of raters are estimated in turn (EM), beginning with the shares of votes. A rater who
# is always one point too low is corrected, not only outvoted; but a table of K x K numbers per rater needs many
# ratings of each, about ten per category.


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
        found[rated] = row_softmax(logs + np.log(np.maximum(shares, SMALLEST)))[rated]
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


# MACE (Hovy, Berg-Kirkpatrick, Vaswani and Hovy 2013): each rater gives the true category, or is careless.
#
# A careless rater draws from categories of her own liking, whatever the item. How often each rater is careless, her
# preferences and the items' categories are estimated together by variational Bayes, with the priors of crowd-kit
# (Beta(.5, .5) for carelessness, Dirichlet(10) for preferences). Of several random starts the one with the highest
# marginal likelihood is kept.


CARELESS_PRIOR = np.array([0.5, 0.5])
PREFERENCE_PRIOR = 10.0


def mace(ratings: ArrayLike, *, starts: int = 10, iterations: int = 50, seed: int = 0) -> Posterior:
    """The categories of the items of a matrix (items, raters), NaN: not rated; `competence` is earnestness."""
    data = CodedRatings.of(ratings)
    rng, k = np.random.default_rng(seed), len(data.values)
    if not k:
        nothing = np.full((data.n_items, 0), np.nan)
        return Posterior(data.values, nothing, np.full(data.n_raters, np.nan))
    best, found = -np.inf, (np.zeros((0, 0)), np.zeros((0, 0)))
    for _ in range(starts):
        careless = _shares(rng.uniform(1, 2.5, (data.n_raters, 2)))
        preferences = _shares(rng.uniform(1, 2.5, (data.n_raters, k)))
        for _ in range(iterations):
            _, _, counts, liked = _expected(data, careless, preferences)
            careless = _variational(counts + CARELESS_PRIOR)
            preferences = _variational(liked + PREFERENCE_PRIOR)
        likelihood = _expected(data, careless, preferences)[0]
        if likelihood > best:
            best, found = likelihood, (careless, preferences)
    _, probabilities, counts, _ = _expected(data, *found)
    probabilities[data.votes().sum(axis=1) == 0] = np.nan
    total = counts.sum(axis=1)
    competence = np.divide(counts[:, 1], total, out=np.full(data.n_raters, np.nan), where=total > 0)
    return Posterior(data.values, probabilities, competence)


def _expected(data: CodedRatings, careless: Floats, preferences: Floats) -> tuple[float, Floats, Floats, Floats]:
    """The log marginal likelihood, the items' probabilities, and the expected numbers of careless and earnest ratings
    by rater (raters, 2) and of careless ratings by rater and category."""
    k = len(data.values)
    by_chance = careless[data.raters, 0] * preferences[data.raters, data.categories]
    known = careless[data.raters, 1]
    # The probability of each rating given each true category. (ratings, categories)
    given = by_chance[:, None] + known[:, None] * (np.arange(k) == data.categories[:, None])
    logs = np.zeros((data.n_items, k))
    np.add.at(logs, data.items, np.log(given))
    highest = logs.max(axis=1)
    likelihood = float(np.sum(highest + np.log(np.exp(logs - highest[:, None]).mean(axis=1))))
    probabilities = row_softmax(logs)
    of_item = probabilities[data.items]
    by_chance_share = np.sum(of_item / given, axis=1) * by_chance
    earnest_share = of_item[np.arange(len(known)), data.categories] * known / (by_chance + known)
    counts: Floats = np.stack(
        [np.bincount(data.raters, share, data.n_raters) for share in (by_chance_share, earnest_share)], axis=1
    ).astype(np.float64)
    liked = np.zeros((data.n_raters, k))
    np.add.at(liked, (data.raters, data.categories), by_chance_share)
    return likelihood, probabilities, counts, liked


def _shares(weights: Floats) -> Floats:
    found: Floats = weights / weights.sum(axis=1, keepdims=True)
    return found


def _variational(counts: Floats) -> Floats:
    """exp(E[log p]) of Dirichlet distributions with these parameters."""
    from scipy.special import digamma

    found: Floats = np.exp(digamma(counts) - digamma(counts.sum(axis=1, keepdims=True)))
    return found


# One score per item from the ratings of several raters, by any of four methods.


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

"""MACE (Hovy, Berg-Kirkpatrick, Vaswani and Hovy 2013): each rater gives the true category, or is careless.

A careless rater draws from categories of her own liking, whatever the item. How often each rater is careless, her
preferences and the items' categories are estimated together by variational Bayes, with the priors of crowd-kit
(Beta(.5, .5) for carelessness, Dirichlet(10) for preferences). Of several random starts the one with the highest
marginal likelihood is kept.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Floats
from rejoinder.stats.aggregation.coded import CodedRatings, Posterior, normalised

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
    probabilities = normalised(logs)
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

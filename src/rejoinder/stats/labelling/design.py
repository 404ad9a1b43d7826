"""Which replies to label: probabilities of being chosen, and a draw of fixed size with exactly these probabilities.

Labels are worth most where the automatic score is least certain. *Stratified*: replies are divided by score, and each
stratum gets labels in proportion to its size times its standard deviation (Neyman 1934). *Active*: the probability of a
reply is proportional to the uncertainty of its score, mixed with equal probabilities, so that no reply is nearly
impossible to choose and an uncertainty that is wrong does little harm (Zrnic and Candes 2024, "Active statistical
inference"). Whatever the probabilities, `weighted` gives valid intervals, because they are known.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rejoinder.arrays import Floats, Ints

EQUAL_SHARE = 0.5
"""The share of the labels that is spread equally, whatever the uncertainty; Zrnic and Candes use .5 in experiments."""


def equal_probabilities(n_replies: int, n_labels: int) -> Floats:
    """The same probability for each reply."""
    _check(n_replies, n_labels)
    return np.full(n_replies, n_labels / n_replies)


def active_probabilities(uncertainty: ArrayLike, n_labels: int, *, equal_share: float = EQUAL_SHARE) -> Floats:
    """Probabilities that grow with the uncertainty of each reply's score and sum to `n_labels`; none is above 1."""
    u = np.asarray(uncertainty, np.float64)
    _check(len(u), n_labels)
    if not 0 < equal_share <= 1:
        raise ValueError(f"equal_share must be above 0 and up to 1, not {equal_share}")
    if np.isnan(u).any() or (u < 0).any():
        raise ValueError("uncertainties must be known and must not be negative")
    total = float(u.sum())
    shares = u / total if total > 0 else np.full(len(u), 1 / len(u))
    mixed: Floats = equal_share / len(u) + (1 - equal_share) * shares
    return _scaled(mixed, n_labels)


def stratum_sizes(sizes: ArrayLike, n_labels: int, deviations: ArrayLike | None = None) -> Ints:
    """How many labels each stratum gets: in proportion to size times deviation (Neyman), without deviations to size.

    A stratum gets at least two labels, or as many as it has replies, where there are enough labels for that.
    """
    counts = np.asarray(sizes, np.int64)
    _check(int(counts.sum()), n_labels)
    spread = np.ones(len(counts)) if deviations is None else np.asarray(deviations, np.float64)
    wanted = counts * spread if float(counts @ spread) > 0 else counts.astype(np.float64)
    least = np.minimum(counts, 2)
    given = least if int(least.sum()) <= n_labels else np.zeros(len(counts), np.int64)
    for _ in range(n_labels - int(given.sum())):  # one after the other to the stratum that lacks most
        lacking = np.where(given < counts, wanted / (given + 1), -1.0)
        given[int(np.argmax(lacking))] += 1
    return given


def stratified_probabilities(strata: Ints, n_labels: int, deviations: ArrayLike | None = None) -> Floats:
    """The probability of each reply, given the number of its stratum, from 0."""
    sizes = np.bincount(strata)
    if (sizes == 0).any():
        raise ValueError("strata must be numbered from 0 without gaps")
    shares: Floats = (stratum_sizes(sizes, n_labels, deviations) / sizes)[strata]
    return shares


def score_strata(scores: ArrayLike, n_strata: int) -> Ints:
    """The number of each score's stratum, from 0: strata of about equal size, equal scores in one stratum."""
    values = np.asarray(scores, np.float64)
    edges = np.unique(np.quantile(values, np.linspace(0, 1, n_strata + 1)[1:-1]))
    return np.unique(np.searchsorted(edges, values, side="left"), return_inverse=True)[1].astype(np.int64)


def drawn(probabilities: ArrayLike, seed: int = 0, strata: Ints | None = None) -> NDArray[np.bool_]:
    """Which replies are chosen: systematic sampling in random order (Madow 1949), within each stratum.

    Each reply is chosen with exactly its probability, and the number of chosen replies of a stratum is the sum of its
    probabilities, up to rounding.
    """
    p = np.asarray(probabilities, np.float64)
    if ((p < 0) | (p > 1 + 1e-9) | np.isnan(p)).any():
        raise ValueError("probabilities must be from 0 to 1")
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(p))
    if strata is not None:
        order = order[np.argsort(np.asarray(strata)[order], kind="stable")]
    # Sums of probabilities that should be whole numbers must not miss them by rounding.
    ends = np.round(np.cumsum(p[order]), 9)
    start = rng.random()
    steps = np.floor(ends - start).astype(np.int64)
    chosen = np.zeros(len(p), np.bool_)
    chosen[order] = np.diff(steps, prepend=-1) > 0
    return chosen


def _scaled(weights: Floats, n_labels: int) -> Floats:
    """Probabilities in proportion to the weights that sum to `n_labels`; where one would exceed 1, it is 1."""
    certain = np.zeros(len(weights), np.bool_)
    while True:
        rest = n_labels - int(certain.sum())
        probabilities = np.where(certain, 1.0, weights * rest / max(float(weights[~certain].sum()), 1e-300))
        above = (probabilities > 1) & ~certain
        if not above.any():
            return np.minimum(probabilities, 1.0)
        certain |= above


def _check(n_replies: int, n_labels: int) -> None:
    if not 1 <= n_labels <= n_replies:
        raise ValueError(f"expected from 1 to {n_replies} labels, not {n_labels}")

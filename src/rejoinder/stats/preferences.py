"""Pairwise preferences: strengths, rankings, contests, control for length."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Bools, Floats, Ints
from rejoinder.options import RESAMPLES
from rejoinder.stats.intervals import Interval, bootstrap_bounds, t_quantile
from rejoinder.stats.resampling import ALPHA, Groups, bootstrap_chunks, group_codes, holm, significance_clusters

# Strengths of systems from pairwise preferences.
#
# Bradley and Terry 1952: system i with the strength s_i beats j with the probability p_i / (p_i + p_j), p = exp(s).
# Davidson 1970 adds ties: wins, losses and ties of i are as p_i : p_j : v (p_i p_j)^(1/2), where v says how common ties
# are. Both likelihoods are concave in s and log v, so Newton's method finds the maximum; many resamples are fitted at
# once. Without ties in the model, a tie counts as half a win for each side.
#
# A system that beats all others has an infinite maximum-likelihood estimate. Where the maximum is not finite (see
# `contests.all_beaten_in_turn`; also without any ties, or with nothing but ties), a prior is added: half a win, half a
# loss and half a tie for each free strength, spread evenly over the compared pairs. For two systems this is Jeffreys'
# prior up to the ties, and log((w + 1/2) / (l + 1/2)) has almost no bias (Haldane 1956; Anscombe 1956).


PRIOR = 0.5
"""Wins, losses and ties that the prior adds for each free strength."""
_FIT_STEPS = 100
_SMALL = 1e-10
_LONGEST_STEP = 2.0


@dataclass(frozen=True, slots=True)
class Strengths:
    """The strengths of one or many data sets."""

    values: Floats
    """(rows, systems), each row with mean 0."""
    log_ties: Floats
    """log v of Davidson's model (rows,); -inf without ties in the model."""
    with_prior: Bools
    """Where the prior was added, because no finite maximum exists. (rows,)"""
    covariance: Floats
    """The inverse Fisher information of the strengths. (rows, systems, systems)"""


def fit(contests: Contests, totals: Floats, *, ties: bool = True) -> Strengths:
    """The strengths that fit the counts `totals` (rows, pairs, 3) best, one row per data set.

    The systems must be connected by comparisons. `ties=False` counts a tie as half a win for each.
    """
    counts = totals if ties else _halved(totals)
    alone = ~_has_maximum(contests, counts, ties=ties)
    counts = counts + alone[:, None, None] * _prior(contests, ties=ties)
    # A row of the design is a pair: half the first system's strength minus half the second's.
    design = np.zeros((contests.first.size, contests.n_systems))
    design[np.arange(len(design)), contests.first] = 0.5
    design[np.arange(len(design)), contests.second] = -0.5
    values, log_ties = np.zeros((len(counts), contests.n_systems)), np.zeros(len(counts))
    for _ in range(_FIT_STEPS):
        gradient, information = _derivatives(values, log_ties, counts, design, ties=ties)
        step = np.linalg.solve(information, gradient[:, :, None])[:, :, 0]
        size = np.abs(step).max(axis=1)
        step *= np.minimum(1, _LONGEST_STEP / np.maximum(size, _SMALL))[:, None]
        values, log_ties = values + step[:, :-1], log_ties + step[:, -1]
        if size.max(initial=0) < _SMALL:
            break
    _, information = _derivatives(values, log_ties, counts, design, ties=ties)
    covariance: Floats = np.linalg.inv(information).astype(np.float64)[:, :-1, :-1] - 1 / contests.n_systems**2
    return Strengths(values, log_ties if ties else np.full(len(counts), -np.inf), alone, covariance)


def _derivatives(
    values: Floats, log_ties: Floats, counts: Floats, design: Floats, *, ties: bool
) -> tuple[Floats, Floats]:
    """The gradient (rows, systems + 1) and the negative second derivatives of the log-likelihood; log v is last.

    The likelihood does not change if all strengths grow together, so the matrix gets a 1 in every cell of the
    strengths: the solution then has mean 0.
    """
    half = values @ design.T  # (rows, pairs)
    tie = np.broadcast_to(log_ties[:, None], half.shape) if ties else np.full(half.shape, -np.inf)
    top = np.maximum(np.abs(half), tie)
    weights = np.exp(np.stack([half, -half, tie], axis=2) - top[:, :, None])
    shares = weights / weights.sum(axis=2, keepdims=True)
    n = counts.sum(axis=2)
    lead, drawn = shares[:, :, WIN] - shares[:, :, LOSS], shares[:, :, TIE]
    rows, systems = values.shape
    gradient = np.empty((rows, systems + 1))
    gradient[:, :-1] = (counts[:, :, WIN] - counts[:, :, LOSS] - n * lead) @ design
    gradient[:, -1] = (counts[:, :, TIE] - n * drawn).sum(axis=1)
    information = np.empty((rows, systems + 1, systems + 1))
    outer = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)
    information[:, :-1, :-1] = ((n * (1 - drawn - lead**2)) @ outer).reshape(rows, systems, systems) + 1
    information[:, :-1, -1] = information[:, -1, :-1] = -(n * lead * drawn) @ design
    information[:, -1, -1] = (n * drawn * (1 - drawn)).sum(axis=1) if ties else 1.0
    return gradient, information


def _has_maximum(contests: Contests, counts: Floats, *, ties: bool) -> Bools:
    finite = all_beaten_in_turn(contests.wins(counts))
    return finite & (counts[:, :, TIE].sum(axis=1) > 0) if ties else finite


def _halved(totals: Floats) -> Floats:
    counts = totals.copy()
    counts[:, :, [WIN, LOSS]] += totals[:, :, [TIE]] / 2
    counts[:, :, TIE] = 0
    return counts


def _prior(contests: Contests, *, ties: bool) -> Floats:
    each = PRIOR * (contests.n_systems - 1) / max(contests.first.size, 1)
    return np.array([each, each, each if ties else 0.0])


# Wins and ties of each pair of systems, by context: what every estimate from preferences starts from.


WIN, LOSS, TIE = 0, 1, 2
"""The outcome of a comparison, for the first system."""


@dataclass(frozen=True, eq=False)
class Contests:
    """The outcomes of comparisons, counted by context and pair of systems."""

    counts: Floats
    """(contexts, pairs, 3): wins of the pair's first system, wins of its second, ties."""
    first: Ints
    second: Ints
    """The systems of each pair, first < second. (pairs,)"""
    n_systems: int

    @classmethod
    def of(cls, first: ArrayLike, second: ArrayLike, outcomes: ArrayLike, contexts: Groups = None) -> Contests:
        """From one comparison per row: two systems as integers from 0, and WIN, LOSS or TIE of the first."""
        left, right = np.asarray(first, np.int64), np.asarray(second, np.int64)
        outcome = np.asarray(outcomes, np.int64)
        if not left.shape == right.shape == outcome.shape or left.ndim != 1:
            raise ValueError("first, second and outcomes must be vectors of equal length")
        if (left == right).any():
            raise ValueError("a comparison must be of two different systems")
        turned = (left > right) & (outcome != TIE)
        outcome = np.where(turned, LOSS - outcome, outcome)
        left, right = np.minimum(left, right), np.maximum(left, right)
        n_systems = int(right.max(initial=-1)) + 1
        names, pair = np.unique(left * n_systems + right, return_inverse=True)
        context, n_contexts = group_codes(contexts, left.size)
        cell = (context * names.size + pair) * 3 + outcome
        counts = np.bincount(cell, minlength=n_contexts * names.size * 3).astype(np.float64)
        return cls(counts.reshape(n_contexts, names.size, 3), names // n_systems, names % n_systems, n_systems)

    @property
    def n_contexts(self) -> int:
        """How many contexts there are."""
        return len(self.counts)

    @cached_property
    def totals(self) -> Floats:
        """The counts over all contexts. (pairs, 3)"""
        totals: Floats = self.counts.sum(axis=0)
        return totals

    @cached_property
    def components(self) -> Ints:
        """The number of each system's component: systems of different components were never compared, not even
        through others. (systems,)"""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        shape = (self.n_systems, self.n_systems)
        graph = coo_array((np.ones(self.first.size), (self.first, self.second)), shape=shape)
        _, labels = connected_components(graph, directed=False)
        components: Ints = labels.astype(np.int64)
        return components

    def wins(self, totals: Floats) -> Floats:
        """How often each system beat each other one, from counts (rows, pairs, 3). (rows, systems, systems)"""
        table = np.zeros((len(totals), self.n_systems, self.n_systems))
        table[:, self.first, self.second] = totals[:, :, WIN]
        table[:, self.second, self.first] = totals[:, :, LOSS]
        return table

    def take(self, systems: Ints) -> Contests:
        """The contests among the given systems, which are numbered anew in that order."""
        place = np.full(self.n_systems, -1)
        place[systems] = np.arange(systems.size)
        kept = np.flatnonzero((place[self.first] >= 0) & (place[self.second] >= 0))
        left, right = place[self.first[kept]], place[self.second[kept]]
        counts = self.counts[:, kept]
        turned = left > right
        counts[:, turned] = counts[:, turned][:, :, [LOSS, WIN, TIE]]
        compared = counts.sum(axis=(1, 2)) > 0  # contexts of other systems only are not these systems' contexts
        return Contests(counts[compared], np.minimum(left, right), np.maximum(left, right), systems.size)


def all_beaten_in_turn(wins: Floats) -> Bools:
    """Whether every division of the systems into two sets has wins in both directions (Ford 1957). (rows,)

    Exactly then is the likelihood of the Bradley-Terry model largest at finite strengths. `wins` is (rows, systems,
    systems).
    """
    reaches: Bools = np.asarray((wins > 0) | np.eye(wins.shape[1], dtype=np.bool_))
    for _ in range(max(1, int(np.ceil(np.log2(wins.shape[1]))))):  # paths of twice the length each time
        reaches = np.asarray((reaches.astype(np.float32) @ reaches.astype(np.float32)) > 0)
    everywhere: Bools = np.asarray(reaches.all(axis=(1, 2)))
    return everywhere


# Systems ranked by pairwise preferences: strengths with intervals, differences with p-values, and groups.
#
# Contexts are resampled, because preferences of one context are not independent. Strengths and their differences
# have intervals of Student's t: plus and minus the quantile times the standard deviation over the resamples, or the
# standard error of the Fisher information where that is larger. The p-value of a difference is that of the same t, so
# that interval and p-value never contradict each other. `benchmarks/coverage.py` measures the coverage.


@dataclass(frozen=True, slots=True)
class Standing:
    """One system's strength: the log-odds of beating the average system."""

    system: int
    strength: Interval
    """Its interval resamples contexts. NaN bounds with one context."""
    fisher: Interval
    """The same strength with the interval of the Fisher information, which takes all comparisons as independent."""
    group: int
    """1 for the best. No two systems of one group differ significantly."""


@dataclass(frozen=True, slots=True)
class Duel:
    """Two systems: is the second stronger than the first?"""

    first: int
    second: int
    difference: Interval
    """The second's strength minus the first's."""
    p_value: float
    p_adjusted: float
    """Holm-corrected over all duels."""


@dataclass(frozen=True, slots=True)
class PreferenceRanking:
    """Systems that were compared with each other, directly or through others, best first."""

    standings: tuple[Standing, ...]
    duels: tuple[Duel, ...]
    log_ties: float
    """log v of Davidson's model; -inf without ties in the model."""
    with_prior: bool
    """Whether the prior was needed: some system, or set of systems, won or lost all its comparisons with the others."""
    n_contexts: int


def rank(
    contests: Contests,
    *,
    ties: bool = True,
    n_resamples: int = RESAMPLES,
    confidence: float = 0.95,
    alpha: float = ALPHA,
    seed: int = 0,
) -> PreferenceRanking:
    """The systems by strength. They must be connected by comparisons: `Contests.take` gives one component."""
    if contests.n_systems < 2 or len(set(contests.components.tolist())) > 1:
        raise ValueError("the systems must be at least two, and connected by comparisons")
    ties = ties and bool(contests.totals[:, TIE].any())
    found = fit(contests, contests.totals[None], ties=ties)
    values, n_contexts = found.values[0], contests.n_contexts
    resampled = replicates(contests, n_resamples, seed, ties=ties)
    reach = t_quantile(confidence, n_contexts - 1) if n_contexts > 1 else np.nan
    duels = _duels(found, resampled, n_contexts, reach)
    p_values = np.full((values.size, values.size), np.nan)
    for duel in duels:
        p_values[duel.first, duel.second] = p_values[duel.second, duel.first] = duel.p_adjusted
    groups = significance_clusters(values, p_values, alpha)
    errors, fisher = _errors(found, resampled, np.eye(values.size), n_contexts)
    normal = t_quantile(confidence, np.inf)
    standings = [
        Standing(i, _around(s, reach * float(errors[i])), _around(s, normal * float(fisher[i])), int(groups[i]))
        for i, s in enumerate(values.tolist())
    ]
    return PreferenceRanking(
        tuple(sorted(standings, key=lambda standing: -standing.strength.estimate)),
        tuple(duels),
        float(found.log_ties[0]),
        bool(found.with_prior[0]),
        n_contexts,
    )


def _duels(found: Strengths, resampled: Floats, n_contexts: int, reach: float) -> list[Duel]:
    """All pairs of systems."""
    from scipy.special import stdtr

    pairs = list(combinations(range(found.values.shape[1]), 2))
    contrasts = np.zeros((len(pairs), found.values.shape[1]))
    for row, (a, b) in zip(contrasts, pairs, strict=True):
        row[a], row[b] = -1, 1
    gaps = contrasts @ found.values[0]
    errors, _ = _errors(found, resampled, contrasts, n_contexts)
    p_values = 2 * stdtr(max(n_contexts - 1, 1), -np.abs(gaps) / errors)
    columns = zip(pairs, gaps.tolist(), errors.tolist(), p_values.tolist(), holm(p_values).tolist(), strict=True)
    return [Duel(a, b, _around(gap, reach * error), p, adjusted) for (a, b), gap, error, p, adjusted in columns]


def replicates(contests: Contests, n_resamples: int, seed: int, *, ties: bool) -> Floats:
    """The strengths in each resample of contexts. (resamples, systems)"""
    flat = contests.counts.reshape(contests.n_contexts, -1)
    found = []
    for counts in bootstrap_chunks(contests.n_contexts, n_resamples, seed):
        totals = (counts @ flat).reshape(len(counts), *contests.totals.shape)
        found.append(fit(contests, totals, ties=ties).values)
    return np.concatenate(found)


def _errors(found: Strengths, resampled: Floats, contrasts: Floats, n_contexts: int) -> tuple[Floats, Floats]:
    """The standard errors of weighted sums of strengths: over contexts, and by the Fisher information. (sums,)

    The former is at least the latter: where a system wins everything, every resample is the same.
    """
    fisher = np.sqrt(np.einsum("ci,ij,cj->c", contrasts, found.covariance[0], contrasts))
    if n_contexts < 2:
        return np.full(len(contrasts), np.nan), fisher
    # The bootstrap's variance divides by the number of contexts, an unbiased one by one less.
    correction = np.sqrt(n_contexts / (n_contexts - 1))
    return np.maximum(fisher, correction * (resampled @ contrasts.T).std(axis=0, ddof=1)), fisher


def _around(estimate: float, margin: float) -> Interval:
    return Interval(estimate, estimate - margin, estimate + margin)


# The win rate that a system would have if its replies were as long as those of the other one.
#
# Dubois, Galambosi, Liang and Hashimoto 2024, "Length-controlled AlpacaEval": a logistic regression predicts the
# preference from which system replied and from the difference of lengths, and the win rate is read off at a
# difference of 0. The difference enters as tanh(difference / its standard deviation), so that very long replies do
# not dominate. Their third term, the difficulty of each instruction, is estimated over many systems and is left out
# here.


RIDGE = 0.5
"""Penalty on the squared coefficients; it keeps them finite where one side wins everything."""
_CONTROL_STEPS = 50


@dataclass(frozen=True, slots=True)
class LengthControlled:
    """The win rate of a system, as it is and at equal lengths."""

    win_rate: float
    """Ties count half."""
    controlled: Interval
    length_effect: float
    """The log-odds that a much longer reply gains; above 0, longer replies are preferred."""
    n: int
    n_contexts: int


def length_controlled_win_rate(
    wins: ArrayLike,
    length_differences: ArrayLike,
    contexts: Groups = None,
    *,
    n_resamples: int = RESAMPLES,
    confidence: float = 0.95,
    seed: int = 0,
) -> LengthControlled:
    """The win rate at equal lengths: `wins` are 1, 0, or 0.5 for a tie (a judge may give any probability between).

    `length_differences` are the system's lengths minus the other's, in any unit. The interval resamples contexts.
    """
    won, differences = np.asarray(wins, np.float64), np.asarray(length_differences, np.float64)
    if won.shape != differences.shape or won.ndim != 1 or not won.size:
        raise ValueError("wins and length_differences must be vectors of equal length, and not empty")
    if ((won < 0) | (won > 1)).any() or np.isnan(won).any() or not np.isfinite(differences).all():
        raise ValueError("wins must be from 0 to 1, and length_differences finite")
    spread = float(differences.std())
    design = np.stack([np.ones(won.size), np.tanh(differences / spread) if spread > 0 else np.zeros(won.size)], axis=1)
    codes, n_contexts = group_codes(contexts, won.size)
    estimate = _fitted(design, won, np.ones((1, won.size)))[0]
    drawn = [_fitted(design, won, counts[:, codes]) for counts in bootstrap_chunks(n_contexts, n_resamples, seed)]
    bounds = bootstrap_bounds(np.concatenate(drawn)[:, 0], float(estimate[0]), n_contexts, confidence)
    low, middle, high = (float(1 / (1 + np.exp(-odds))) for odds in (bounds.low, bounds.estimate, bounds.high))
    return LengthControlled(float(won.mean()), Interval(middle, low, high), float(estimate[1]), won.size, n_contexts)


def _fitted(design: Floats, won: Floats, weights: Floats) -> Floats:
    """The coefficients of a logistic regression for each row of weights. (rows, coefficients)"""
    found = np.zeros((len(weights), design.shape[1]))
    outer = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)
    penalty = RIDGE * np.eye(design.shape[1])
    for _ in range(_CONTROL_STEPS):
        expected = 1 / (1 + np.exp(-found @ design.T))
        gradient = (weights * (won - expected)) @ design - RIDGE * found
        information = ((weights * expected * (1 - expected)) @ outer).reshape(-1, *penalty.shape) + penalty
        step = np.linalg.solve(information, gradient[:, :, None])[:, :, 0]
        found = found + step
        if np.abs(step).max(initial=0) < 1e-9:
            break
    return found

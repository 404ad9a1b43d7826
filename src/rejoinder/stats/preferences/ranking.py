"""Systems ranked by pairwise preferences: strengths with intervals, differences with p-values, and groups.

Contexts are resampled, because several judgements of one context are not independent. Strengths and their differences
have intervals of Student's t: plus and minus the quantile times the standard deviation over the resamples, or the
standard error of the Fisher information where that is larger. The p-value of a difference is that of the same t, so
that interval and p-value never contradict each other. `benchmarks/coverage.py` measures the coverage.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from rejoinder.arrays import Floats
from rejoinder.defaults import RESAMPLES
from rejoinder.stats.intervals import Interval, t_quantile
from rejoinder.stats.multiple import ALPHA, holm, significance_clusters
from rejoinder.stats.preferences.bradley_terry import Strengths, fit
from rejoinder.stats.preferences.contests import TIE, Contests
from rejoinder.stats.resampling import bootstrap_chunks


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

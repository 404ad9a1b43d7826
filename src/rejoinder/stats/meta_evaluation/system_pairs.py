"""How often a metric decides which of two systems is better as people do.

*Pairwise accuracy* (Kocmi et al. 2021, "To ship or not to ship") is the share of pairs of systems whose mean scores are
in the human order. A pair that people can barely tell apart counts as much as a clear one. *Soft pairwise accuracy*
(Thompson et al. 2024, WMT24) compares how sure the two are: the mean over pairs of 1 - |p_human - p_metric|, where p is
the one-sided p-value of "the first system is better" in a permutation test that swaps the two systems by context.
Permutations as extreme as the data count half, so that the order of the two systems does not matter. Two systems
without common contexts are compared by Welch's statistic and the normal distribution.

Intervals say how much an accuracy would change with other contexts, for the same systems. As for correlations (see
`fixed_systems`), resampled contexts add the noise of the means a second time, so only the spread of the replicates is
used: the estimate plus and minus t times their standard deviation, within 0 and 1. In a resample, p comes from the
normal distribution with the variance of all sign flips, which is the sum of the squared differences.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Floats, Ints
from rejoinder.stats.fixed_systems import FixedSystems
from rejoinder.stats.intervals import Interval, t_quantile
from rejoinder.stats.permutation import swap_chunks
from rejoinder.stats.resampling import bootstrap_chunks
from rejoinder.stats.sums import ROUNDING, Sums

PERMUTATIONS = 1000
UNKNOWN = Interval(math.nan, math.nan, math.nan)


@dataclass(frozen=True, slots=True)
class SystemPairs:
    """One metric's agreement with people on pairs of systems."""

    accuracy: float
    soft_accuracy: float
    n_pairs: int
    accuracy_interval: Interval = UNKNOWN
    """Over contexts; NaN bounds without resamples."""
    soft_interval: Interval = UNKNOWN


def pairwise_accuracies(
    systems: FixedSystems, n_permutations: int = PERMUTATIONS, seed: int = 0, n_resamples: int = 0
) -> list[SystemPairs]:
    """The accuracies of each metric, with intervals if there are resamples; NaN with fewer than two systems."""
    means = systems.means
    first, second = np.triu_indices(len(means), 1)
    if not first.size:
        return [SystemPairs(np.nan, np.nan, 0) for _ in range(means.shape[1] - 1)]
    order = np.sign(_clean(means[first] - means[second], means))  # (pairs, 1 + metrics)
    p_values = np.stack(
        [_p_values(systems, int(a), int(b), n_permutations, seed) for a, b in zip(first, second, strict=True)]
    )
    right = (order[:, 1:] == order[:, :1]).mean(axis=0)
    soft = 1 - np.abs(p_values[:, 1:] - p_values[:, :1]).mean(axis=0)
    estimates = np.stack([right, soft])  # (2, metrics)
    error = np.full(estimates.shape, np.nan)
    if n_resamples > 1 and len(systems.sums) > 1:
        error = _spread(systems, first, second, n_resamples, seed)
    reach = t_quantile(0.95, max(len(systems.sums) - 1, 1)) * error
    low, high = np.maximum(estimates - reach, 0), np.minimum(estimates + reach, 1)
    return [
        SystemPairs(
            accuracy=float(right[metric]),
            soft_accuracy=float(soft[metric]),
            n_pairs=first.size,
            accuracy_interval=Interval(float(right[metric]), float(low[0, metric]), float(high[0, metric])),
            soft_interval=Interval(float(soft[metric]), float(low[1, metric]), float(high[1, metric])),
        )
        for metric in range(estimates.shape[1])
    ]


def _spread(systems: FixedSystems, first: Ints, second: Ints, n_resamples: int, seed: int) -> Floats:
    """The standard deviation of both accuracies of each metric over resamples of contexts. (2, metrics)"""
    right, soft = [], []
    for counts in bootstrap_chunks(len(systems.sums), n_resamples, seed):
        shape = len(counts), *systems.sums.shape[1:]
        sizes = (counts @ systems.sizes)[:, :, None]
        totals = (counts @ systems.sums.reshape(len(systems.sums), -1)).reshape(shape)
        means = np.divide(totals, sizes, out=np.full(shape, np.nan), where=sizes > 0)
        agrees, distance = np.zeros((2, len(counts), shape[2] - 1))
        for a, b in zip(first.tolist(), second.tolist(), strict=True):
            gaps = means[:, a] - means[:, b]  # (resamples, 1 + metrics)
            order = np.sign(np.where(np.abs(gaps) > ROUNDING * np.abs(systems.means).max(axis=0), gaps, 0.0))
            agrees += order[:, 1:] == order[:, :1]
            p_values = _resampled_p_values(systems, a, b, counts, gaps)
            distance += np.abs(p_values[:, 1:] - p_values[:, :1])
        right.append(agrees / first.size)
        soft.append(1 - distance / first.size)
    spread: Floats = np.stack([np.nanstd(np.concatenate(found), axis=0, ddof=1) for found in (right, soft)])
    return spread


def _resampled_p_values(systems: FixedSystems, a: int, b: int, counts: Floats, gaps: Floats) -> Floats:
    """The one-sided p-values in resamples of contexts, by the normal distribution. (resamples, 1 + metrics)"""
    from scipy.special import ndtr

    shared = (systems.sizes[:, a] > 0) & (systems.sizes[:, b] > 0)
    if shared.sum() < 2:
        variances = [[_sums(systems, one, column).variance for column in range(gaps.shape[1])] for one in (a, b)]
        error = np.broadcast_to(np.sqrt(np.sum(variances, axis=0)), gaps.shape)
        return np.asarray(ndtr(-np.divide(gaps, error, out=np.zeros(gaps.shape), where=error > 0)))
    gains = _gains(systems, a, b, shared)
    total, squares = counts[:, shared] @ gains, counts[:, shared] @ gains**2
    return np.asarray(ndtr(-np.divide(total, np.sqrt(squares), out=np.zeros(total.shape), where=squares > 0)))


def _p_values(systems: FixedSystems, a: int, b: int, n_permutations: int, seed: int) -> Floats:
    """The one-sided p-values of people and of each metric that system a is better than b. (1 + metrics,)"""
    shared = (systems.sizes[:, a] > 0) & (systems.sizes[:, b] > 0)
    if shared.sum() < 2:
        return _unpaired(systems, a, b)
    gains = _gains(systems, a, b, shared)
    rounding = ROUNDING * np.abs(gains).sum(axis=0)
    total = gains.sum(axis=0)
    beyond, drawn = np.zeros(gains.shape[1]), 0
    unchanged = np.zeros((1, len(gains)))  # which `swap_chunks` leaves out where it gives all swaps
    for swaps in chain([unchanged], swap_chunks(len(gains), n_permutations, seed)):
        swapped = swaps @ gains
        # Swapping these contexts, or all others, changes the sum by twice theirs: it is larger where theirs is below 0.
        for moved in (swapped, total - swapped):
            beyond += (moved < -rounding).sum(axis=0) + (np.abs(moved) <= rounding).sum(axis=0) / 2
            drawn += len(moved)
    p_values: Floats = beyond / drawn
    return p_values


def _gains(systems: FixedSystems, a: int, b: int, shared: NDArray[np.bool_]) -> Floats:
    """The differences of the means of two systems in each of the contexts that both have. (contexts, 1 + metrics)"""
    of_a, of_b = (systems.sums[shared, one] / systems.sizes[shared, one][:, None] for one in (a, b))
    gains: Floats = of_a - of_b
    return gains


def _unpaired(systems: FixedSystems, a: int, b: int) -> Floats:
    from scipy.special import ndtr

    p_values = []
    for column in range(systems.sums.shape[2]):
        of_a, of_b = (_sums(systems, one, column) for one in (a, b))
        gap, error = of_a.mean - of_b.mean, float(np.sqrt(of_a.variance + of_b.variance))
        p_values.append(float(ndtr(-gap / error)) if error > 0 else (1 - np.sign(gap)) / 2)
    return np.array(p_values)


def _sums(systems: FixedSystems, system: int, column: int) -> Sums:
    answered = systems.sizes[:, system] > 0
    return Sums(systems.sums[answered, system, column], systems.sizes[answered, system])


def _clean(differences: Floats, means: Floats) -> Floats:
    """The differences, with 0 for those that are rounding errors."""
    return np.where(np.abs(differences) > ROUNDING * np.abs(means).max(axis=0), differences, 0.0)

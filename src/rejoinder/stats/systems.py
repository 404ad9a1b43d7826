"""Agreement over the means of systems: correlations with fixed systems, and the accuracy of pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rejoinder.arrays import Floats, Ints
from rejoinder.stats.intervals import ROUNDING, Interval, Sums, t_quantile
from rejoinder.stats.resampling import Groups, bootstrap_chunks, group_codes, group_sums, swap_chunks

# Correlations over the means of fixed systems: how much would they change with other contexts?
#
# Resampling contexts adds the noise of the means a second time, so replicates of a correlation are below it, and a
# percentile interval may even exclude it. Only their spread can be used. So the interval is centred on the estimate:
# for Pearson on Fisher's z, with the jackknife standard error over contexts; for the rank coefficients, which leaving
# out one context rarely changes, plus and minus t times the bootstrap standard deviation. `benchmarks/coverage.py`
# measures both. Neither covers the uncertainty due to the choice of systems.


_NEARLY_ONE = 1 - 1e-9


@dataclass(frozen=True, eq=False)
class FixedSystems:
    """Scores of some metrics and of people, summed by context and system."""

    sums: Floats  # (contexts, systems, 1 + metrics); people first, metrics standardised
    sizes: Floats  # (contexts, systems)

    @classmethod
    def of(cls, scores: ArrayLike, human: ArrayLike, systems: Groups, contexts: Groups = None) -> FixedSystems:
        """From one row of scores per example (examples, metrics), without NaN."""
        matrix = np.asarray(scores, np.float64)
        spread = matrix.std(axis=0)
        # Correlations do not depend on the scale, and two metrics can be swapped only on a common scale.
        matrix = (matrix - matrix.mean(axis=0)) / np.where(spread > 0, spread, 1)
        columns = np.column_stack([np.asarray(human, np.float64), matrix])
        system, n_systems = group_codes(systems, len(columns))
        context, n_contexts = group_codes(contexts, len(columns))
        cell: Ints = context * n_systems + system
        sums = group_sums(columns, cell, n_contexts * n_systems).reshape(n_contexts, n_systems, -1)
        sizes = np.bincount(cell, minlength=n_contexts * n_systems).astype(np.float64)
        return cls(sums, sizes.reshape(n_contexts, n_systems))

    @cached_property
    def means(self) -> Floats:
        """The means of people and of each metric by system. (systems, 1 + metrics)"""
        means: Floats = self.sums.sum(axis=0) / self.sizes.sum(axis=0)[:, None]
        return means

    def correlations(self, kind: str) -> Floats:
        """The correlation of each metric with people. (metrics,)"""
        of_all: Floats = row_correlations(self.means[None, :, 1:], self.means[None, :, :1], kind)[0]
        return of_all

    def replicates(self, kind: str, n_resamples: int, seed: int) -> Floats:
        """The correlations in each resample of contexts. (resamples, metrics)"""
        flat = self.sums.reshape(len(self.sums), -1)
        found = []
        for counts in bootstrap_chunks(len(flat), n_resamples, seed):
            totals = (counts @ flat).reshape(len(counts), *self.sums.shape[1:])
            found.append(_correlations_of(totals, counts @ self.sizes, kind))
        return np.concatenate(found)

    def leave_one_out(self) -> Floats:
        """Fisher's z of each metric's Pearson correlation without each context. (contexts, metrics)"""
        totals, sizes = self.sums.sum(axis=0) - self.sums, self.sizes.sum(axis=0) - self.sizes
        return _fisher(_correlations_of(totals, sizes, "pearson"))

    def intervals(self, kind: str, n_resamples: int, seed: int) -> list[Interval]:
        """Each metric's correlation with its interval over contexts."""
        estimates = self.correlations(kind)
        reach = t_quantile(0.95, len(self.sums) - 1)
        if kind == "pearson":
            z, error = _fisher(estimates), _jackknife_error(self.leave_one_out())
            low, high = np.tanh(z - reach * error), np.tanh(z + reach * error)
        else:
            error = _replicate_spread(self.replicates(kind, n_resamples, seed))
            low, high = estimates - reach * error, estimates + reach * error
        return [Interval(*map(float, row)).within((-1, 1)) for row in zip(estimates, low, high, strict=True)]

    def difference(self, a: int, b: int) -> Interval:
        """Metric b's Pearson correlation minus metric a's, with its interval by the jackknife over contexts."""
        estimates, without = self.correlations("pearson"), np.tanh(self.leave_one_out())
        error = float(_jackknife_error(without[:, [b]] - without[:, [a]])[0])
        gap, reach = float(estimates[b] - estimates[a]), t_quantile(0.95, len(self.sums) - 1)
        return Interval(gap, gap - reach * error, gap + reach * error)

    def permutation_p_value(self, a: int, b: int, n_permutations: int, seed: int) -> float:
        """Two-sided p-value; the metrics' standardised scores are swapped by context (Deutsch, Dror and Roth 2021)."""
        first, second = self.sums[:, :, a + 1], self.sums[:, :, b + 1]
        counts = self.sizes.sum(axis=0)
        human, mean_a, mean_b = self.means[:, 0], first.sum(axis=0) / counts, second.sum(axis=0) / counts
        moved = (second - first) / counts  # (contexts, systems)
        observed = abs(self._gap(mean_a[None], mean_b[None], human)[0])
        beyond = drawn = 0
        for swaps in swap_chunks(len(moved), n_permutations, seed):
            drawn += len(swaps)
            shift = swaps @ moved
            gaps = self._gap(mean_a + shift, mean_b - shift, human)
            beyond += int(np.count_nonzero(np.abs(gaps) >= observed * (1 - 1e-12)))
        return (beyond + 1) / (drawn + 1)

    def _gap(self, mean_a: Floats, mean_b: Floats, human: Floats) -> Floats:
        target = human[None, :, None]
        of_b, of_a = (row_correlations(mean[:, :, None], target, "pearson")[:, 0] for mean in (mean_b, mean_a))
        gap: Floats = of_b - of_a
        return gap


def row_correlations(scores: Floats, human: Floats, kind: str) -> Floats:
    """Correlations over the middle axis: (rows, systems, metrics), (rows or 1, systems, 1) -> (rows, metrics)."""
    if kind == "kendall":
        left, right = np.triu_indices(scores.shape[1], 1)
        return _cosine(np.sign(scores[:, left] - scores[:, right]), np.sign(human[:, left] - human[:, right]))
    if kind == "spearman":
        scores, human = _ranks(scores), _ranks(human)
    return _cosine(scores - scores.mean(axis=1, keepdims=True), human - human.mean(axis=1, keepdims=True))


def _correlations_of(totals: Floats, sizes: Floats, kind: str) -> Floats:
    """Correlations from sums (rows, systems, 1 + metrics) and sizes (rows, systems). (rows, metrics)"""
    means = np.divide(totals, sizes[:, :, None], out=np.full(totals.shape, np.nan), where=sizes[:, :, None] > 0)
    return row_correlations(means[:, :, 1:], means[:, :, :1], kind)


def _cosine(left: Floats, right: Floats) -> Floats:
    below = np.sqrt((left**2).sum(axis=1) * (right**2).sum(axis=1))
    cosine: Floats = np.divide((left * right).sum(axis=1), below, out=np.full(below.shape, np.nan), where=below > 0)
    return cosine


def _ranks(values: Floats) -> Floats:
    """Mean ranks along the middle axis, by comparing each system with all others, since there are few."""
    below = (values[:, :, None, :] > values[:, None, :, :]).sum(axis=2)
    equal = (values[:, :, None, :] == values[:, None, :, :]).sum(axis=2)
    ranks: Floats = np.where(np.isnan(values), np.nan, below + equal / 2.0)
    return ranks


def _fisher(correlations: Floats) -> Floats:
    z: Floats = np.arctanh(np.clip(correlations, -_NEARLY_ONE, _NEARLY_ONE))
    return z


def _jackknife_error(without: Floats) -> Floats:
    """The standard error from the estimates without each context. (contexts, estimates) -> (estimates,)"""
    n_contexts = len(without)
    squares = ((without - without.mean(axis=0)) ** 2).sum(axis=0)
    error: Floats = np.sqrt((n_contexts - 1) / n_contexts * squares)
    return error


def _replicate_spread(replicates: Floats) -> Floats:
    """The standard deviation of each metric's replicates that are known; NaN where fewer than two are."""
    enough = (~np.isnan(replicates)).sum(axis=0) > 1
    spread = np.full(replicates.shape[1], np.nan)
    spread[enough] = np.nanstd(replicates[:, enough], axis=0, ddof=1)
    return spread


# How often a metric decides which of two systems is better as people do.
#
# *Pairwise accuracy* (Kocmi et al. 2021, "To ship or not to ship") is the share of pairs of systems whose mean scores
# are in the human order. A pair that people can barely tell apart counts as much as a clear one. *Soft pairwise
# accuracy* (Thompson et al. 2024, WMT24) compares how sure the two are: the mean over pairs of 1 - |p_human -
# p_metric|, where p is the one-sided p-value of "the first system is better" in a permutation test that swaps the two
# systems by context. Permutations as extreme as the data count half, so that the order of the two systems does not
# matter. Two systems without common contexts are compared by Welch's statistic and the normal distribution.
#
# Intervals say how much an accuracy would change with other contexts, for the same systems. As for correlations (see
# `fixed_systems`), resampled contexts add the noise of the means a second time, so only the spread of the replicates is
# used: the estimate plus and minus t times their standard deviation, within 0 and 1. In a resample, p comes from the
# normal distribution with the variance of all sign flips, which is the sum of the squared differences.


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
        error = _accuracy_spread(systems, first, second, n_resamples, seed)
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


def _accuracy_spread(systems: FixedSystems, first: Ints, second: Ints, n_resamples: int, seed: int) -> Floats:
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

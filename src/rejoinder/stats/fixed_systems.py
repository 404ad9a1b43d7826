"""Correlations over the means of fixed systems: how much would they change with other contexts?

Resampling contexts adds the noise of the means a second time, so replicates of a correlation are below it, and a
percentile interval may even exclude it. Only their spread can be used. So the interval is centred on the estimate: for
Pearson on Fisher's z, with the jackknife standard error over contexts; for the rank coefficients, which leaving out one
context rarely changes, plus and minus t times the bootstrap standard deviation. `benchmarks/coverage.py` measures both.
Neither covers the uncertainty due to the choice of systems.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Floats, Ints
from rejoinder.stats.intervals import Interval, t_quantile
from rejoinder.stats.permutation import swap_chunks
from rejoinder.stats.resampling import Groups, bootstrap_chunks, group_codes, group_sums

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
            error = _spread(self.replicates(kind, n_resamples, seed))
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


def _spread(replicates: Floats) -> Floats:
    """The standard deviation of each metric's replicates that are known; NaN where fewer than two are."""
    enough = (~np.isnan(replicates)).sum(axis=0) > 1
    spread = np.full(replicates.shape[1], np.nan)
    spread[enough] = np.nanstd(replicates[:, enough], axis=0, ddof=1)
    return spread

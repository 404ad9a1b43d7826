"""Metrics judged by how they rank whole systems: correlations of system means, and tests between two
metrics."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.stats.bootstrap_correlation import correlation_replicates
from rejoinder.stats.compare_correlations import CorrelationComparison, jointly_scored, standardised
from rejoinder.stats.correlation import correlate
from rejoinder.stats.intervals import Floats, bootstrap_bounds
from rejoinder.stats.permutation import permutation_p_value, swap_chunks
from rejoinder.stats.resampling import Groups, Ints, group_codes, group_sums


def system_means(values: ArrayLike, systems: Groups) -> Floats:
    """The mean of each column for each system, in the order of their sorted names, NaN left out. (systems,
    columns)

    One vector gives one column. A system without a value gets NaN.
    """
    matrix = np.asarray(values, np.float64)
    matrix = matrix[:, None] if matrix.ndim == 1 else matrix
    codes, n_systems = group_codes(systems, len(matrix))
    missing = np.isnan(matrix)
    sizes = group_sums(~missing, codes, n_systems)
    sums = group_sums(np.where(missing, 0, matrix), codes, n_systems)
    means: Floats = np.divide(sums, sizes, out=np.full(sums.shape, np.nan), where=sizes > 0)
    return means


def compare_system_correlations(
    a: ArrayLike,
    b: ArrayLike,
    human: ArrayLike,
    systems: Groups,
    groups: Groups = None,
    *,
    kind: str = "pearson",
    n_permutations: int = 1000,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> CorrelationComparison:
    """How two metrics' correlations with people over system means compare; an example with a NaN is left out.

    The permutation test swaps the metrics' standardised scores example by example, or by group: contexts for
    PERM-INPUTS, the systems themselves for PERM-SYSTEMS (Deutsch, Dror and Roth 2021). The interval resamples
    systems; with five or ten of them it is wide, and `benchmarks/coverage.py` says how far to trust it. `n`
    counts systems.
    """
    names, _ = group_codes(systems, np.asarray(human).size)
    first, second, target, codes = jointly_scored(a, b, human, groups)
    known = ~np.isnan([np.asarray(v, np.float64) for v in (a, b, human)]).any(axis=0)
    of_system, n_systems = group_codes(names[known], target.size)
    columns = np.stack([standardised(first), standardised(second), target], axis=1)
    means = system_means(columns, of_system)
    r_a, r_b = (correlate(means[:, j], means[:, 2], kind).coefficient for j in (0, 1))
    replicates = correlation_replicates(means[:, :2], means[:, 2], None, n_resamples, seed, [kind])[kind]
    interval = bootstrap_bounds(replicates[:, 1] - replicates[:, 0], r_b - r_a, n_systems, confidence)
    p_value = math.nan
    n_groups = int(codes.max()) + 1 if codes.size else 0
    if n_groups > 1 and not math.isnan(r_b - r_a):
        moved = _moved_means(columns[:, 1] - columns[:, 0], of_system, codes, n_systems, n_groups)
        swapped = [_differences(means, swaps @ moved, kind) for swaps in swap_chunks(n_groups, n_permutations, seed)]
        p_value = permutation_p_value(r_b - r_a, np.concatenate(swapped))
    return CorrelationComparison(r_a, r_b, interval, p_value, n_systems)


def _moved_means(gain: Floats, of_system: Ints, codes: Ints, n_systems: int, n_groups: int) -> Floats:
    """By how much swapping a group moves the means of metric A's systems. (groups, systems)"""
    cells = np.bincount(codes * n_systems + of_system, weights=gain, minlength=n_groups * n_systems)
    moved: Floats = cells.reshape(n_groups, n_systems) / np.bincount(of_system, minlength=n_systems)
    return moved


def _differences(means: Floats, moved: Floats, kind: str) -> Floats:
    """r(B') - r(A') for each permutation's moves of the system means. (permutations, systems) ->
    (permutations,)"""
    mean_a, mean_b, human = means.T
    pairs = ((correlate(mean_a + m, human, kind), correlate(mean_b - m, human, kind)) for m in moved)
    return np.array([b.coefficient - a.coefficient for a, b in pairs])

"""Does metric B agree with people better than metric A, or is it noise: tests of two correlations with one target.

Both correlations use the same ratings, so they are dependent, and comparing their intervals would waste most of
the evidence. *Williams' test* uses the correlation between the metrics; it assumes independent, roughly normal
examples. The *permutation test* swaps the two metrics' standardised scores and counts how often chance gives such a
difference (Deutsch, Dror and Roth 2021). Scores are swapped by example (their PERM-BOTH), by context (PERM-INPUTS) or
by system (PERM-SYSTEMS), according to the groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Floats, Ints
from rejoinder.options import RESAMPLES
from rejoinder.stats.correlation import correlate, dot, midranks
from rejoinder.stats.correlation_intervals import correlation_replicates
from rejoinder.stats.intervals import Interval, bootstrap_bounds
from rejoinder.stats.resampling import Groups, group_codes, group_sums, permutation_p_value, swap_chunks


@dataclass(frozen=True, slots=True)
class CorrelationComparison:
    """The difference between the correlations of metrics B and A with people, with its uncertainty."""

    correlation_a: float
    correlation_b: float
    difference: Interval
    """B minus A, by cluster bootstrap."""
    p_value: float
    """Two-sided, by permutation."""
    n: int


@dataclass(frozen=True, slots=True)
class WilliamsTest:
    """Williams' t with n - 3 degrees of freedom, positive where B's correlation is higher, and its p-value."""

    t: float
    p_value: float


def williams_test(r_a: float, r_b: float, r_ab: float, n: int) -> WilliamsTest:
    """The test of whether two correlations with the same target differ, given the correlation r_ab of the two metrics.

    t = (r_b - r_a) sqrt((n - 1)(1 + r_ab)) / sqrt(2 K (n - 1) / (n - 3) + (r_a + r_b)^2 / 4 (1 - r_ab)^3),
    with K = 1 - r_a^2 - r_b^2 - r_ab^2 + 2 r_a r_b r_ab, the determinant of the three correlations (Williams
    1959; Steiger 1980, eq. 7; Graham and Baldwin 2014). Two-sided. NaN with fewer than four examples.
    """
    if not all(-1 <= r <= 1 or math.isnan(r) for r in (r_a, r_b, r_ab)):
        raise ValueError(f"correlations must be between -1 and 1, not {r_a}, {r_b}, {r_ab}")
    if n < 4 or math.isnan(r_a + r_b + r_ab):
        return WilliamsTest(math.nan, math.nan)
    from scipy.special import stdtr

    determinant = 1 - r_a**2 - r_b**2 - r_ab**2 + 2 * r_a * r_b * r_ab
    variance = 2 * determinant * (n - 1) / (n - 3) + (r_a + r_b) ** 2 / 4 * (1 - r_ab) ** 3
    top = (r_b - r_a) * math.sqrt((n - 1) * (1 + r_ab))
    if variance <= 0:  # the two metrics are equal, up to rounding
        return WilliamsTest(0.0, 1.0)
    t = top / math.sqrt(variance)
    return WilliamsTest(t, float(2 * stdtr(n - 3, -abs(t))))


def williams(a: ArrayLike, b: ArrayLike, human: ArrayLike, kind: str = "pearson") -> WilliamsTest:
    """Williams' test of two metrics' scores, over the examples that both metrics and people scored."""
    first, second, target, _ = jointly_scored(a, b, human, None)
    pairs = ((first, target), (second, target), (first, second))
    r_a, r_b, r_ab = (correlate(x, y, kind).coefficient for x, y in pairs)
    return williams_test(r_a, r_b, r_ab, target.size)


def compare_correlations(
    a: ArrayLike,
    b: ArrayLike,
    human: ArrayLike,
    groups: Groups = None,
    *,
    kind: str = "pearson",
    n_permutations: int = 1000,
    n_resamples: int = RESAMPLES,
    confidence: float = 0.95,
    seed: int = 0,
) -> CorrelationComparison:
    """Compare two metrics' correlations with people; an example with a NaN is left out.

    The examples of a group are swapped and drawn together.
    """
    first, second, target, codes = jointly_scored(a, b, human, groups)
    r_a, r_b = (correlate(x, target, kind).coefficient for x in (first, second))
    n_groups = int(codes.max()) + 1 if codes.size else 0
    both = np.stack([first, second], axis=1)
    replicates = correlation_replicates(both, target, codes, n_resamples, seed, [kind])[kind]
    interval = bootstrap_bounds(replicates[:, 1] - replicates[:, 0], r_b - r_a, n_groups, confidence)
    p_value = math.nan
    if n_groups > 1 and not math.isnan(r_b - r_a):
        measure = SWAPPED[kind](standardised(first), standardised(second), target, codes)
        swapped = [measure(swaps) for swaps in swap_chunks(n_groups, n_permutations, seed)]
        p_value = permutation_p_value(r_b - r_a, np.concatenate(swapped))
    return CorrelationComparison(r_a, r_b, interval, p_value, target.size)


def permutation_p_values(
    scores: ArrayLike, human: ArrayLike, groups: Groups = None, *, n_permutations: int = 1000, seed: int = 0
) -> Floats:
    """For every two columns the two-sided p-value of their Pearson correlations' difference. (metrics, metrics)

    The permutation test of `compare_correlations`, with the same swaps for all pairs, so that many metrics need one
    matrix product. Ranks instead of scores give the test for Spearman. NaN on the diagonal; no value may be missing.
    """
    columns = np.stack([standardised(column) for column in np.asarray(scores, np.float64).T], axis=1)
    target = np.asarray(human, np.float64)
    target = _divided(target - target.mean(), float(np.linalg.norm(target - target.mean())))
    codes, n_groups = group_codes(groups, target.size)
    first, second = np.triu_indices(columns.shape[1], 1)
    sums = [
        _pair_sums(columns[:, a], columns[:, b], target, codes, n_groups) for a, b in zip(first, second, strict=True)
    ]
    moved = np.concatenate(sums, axis=1) if sums else np.zeros((n_groups, 0))  # (groups, 3 x pairs)
    products = target @ columns
    at_a, at_b, n = products[first], products[second], target.size
    observed = np.abs(at_b - at_a) / np.sqrt(n)
    beyond, drawn = np.zeros(len(first)), 0
    for swaps in swap_chunks(n_groups, n_permutations, seed):
        drawn += len(swaps)
        totals, squares, crossed = np.moveaxis((swaps @ moved).reshape(len(swaps), -1, 3), 2, 0)
        spread_a = np.sqrt(n + squares - totals**2 / n)  # columns are standardised: their squares sum to n
        spread_b = np.sqrt(n - squares - totals**2 / n)
        gaps = np.abs((at_b - crossed) / spread_b - (at_a + crossed) / spread_a)
        beyond += np.count_nonzero(gaps >= observed * (1 - 1e-12), axis=0)
    p_values = np.full((columns.shape[1], columns.shape[1]), np.nan)
    p_values[first, second] = p_values[second, first] = (beyond + 1) / (drawn + 1)
    return p_values


def _pair_sums(a: Floats, b: Floats, target: Floats, codes: Ints, n_groups: int) -> Floats:
    """How swapping a group changes the sums of a, of its squares and of its products with the target. (groups, 3)"""
    return group_sums(np.stack([b - a, b**2 - a**2, (b - a) * target], axis=1), codes, n_groups)


def jointly_scored(a: ArrayLike, b: ArrayLike, human: ArrayLike, groups: Groups) -> tuple[Floats, Floats, Floats, Ints]:
    """Both metrics' scores, the ratings and the groups' numbers, without examples that have a NaN."""
    vectors = [np.asarray(v, np.float64) for v in (a, b, human)]
    if any(v.ndim != 1 or v.shape != vectors[0].shape for v in vectors):
        raise ValueError(f"a, b and human must be vectors of equal length, not {[v.shape for v in vectors]}")
    known = ~np.isnan(vectors).any(axis=0)
    codes, _ = group_codes(groups, known.size)
    first, second, target = (v[known] for v in vectors)
    return first, second, target, group_codes(codes[known], target.size)[0]


def standardised(values: Floats) -> Floats:
    """Mean 0, standard deviation 1: two metrics can be swapped only on a common scale."""
    return _divided(values - values.mean(), float(values.std()))


def _divided(values: Floats, size: float) -> Floats:
    """Values on another scale; NaN where all are equal, so that their size is 0."""
    return values / size if size > 0 else np.full_like(values, np.nan)


_Measure = Callable[[Floats], Floats]
"""Swaps (permutations, groups) in; r(B') - r(A') of each permutation out."""


def _swapped_pearson(a: Floats, b: Floats, human: Floats, codes: Ints) -> _Measure:
    """Sums and squares are linear in the swaps, so all permutations are one matrix product."""
    n, target = human.size, _divided(human - human.mean(), float(np.linalg.norm(human - human.mean())))
    columns = np.stack([b - a, b**2 - a**2, (b - a) * target], axis=1)
    moved = group_sums(columns, codes, int(codes.max()) + 1)

    def measure(swaps: Floats) -> Floats:
        totals, squares, products = (swaps @ moved).T
        spread_a = np.sqrt(n + squares - totals**2 / n)  # a and b are standardised: their squares sum to n
        spread_b = np.sqrt(n - squares - totals**2 / n)
        difference: Floats = (b @ target - products) / spread_b - (a @ target + products) / spread_a
        return difference

    return measure


def _swapped_spearman(a: Floats, b: Floats, human: Floats, codes: Ints) -> _Measure:
    """Ranks come from counts over the pooled distinct values, so no permutation needs sorting."""
    _, pooled = np.unique(np.concatenate([a, b]), return_inverse=True)
    place_a, place_b = pooled.reshape(2, -1).astype(np.int64)
    target = midranks(human)
    target = (target - target.mean()) / np.linalg.norm(target - target.mean())

    def rank_correlation(values: Ints) -> float:
        sizes = np.bincount(values)
        ranks = np.cumsum(sizes) - sizes / 2 - values.size / 2
        return dot(target, ranks[values]) / math.sqrt(dot(sizes, ranks**2))

    def difference(swap: Floats) -> float:
        swapped = swap[codes] > 0
        first, second = np.where(swapped, place_b, place_a), np.where(swapped, place_a, place_b)
        return rank_correlation(second) - rank_correlation(first)

    return lambda swaps: np.array([difference(swap) for swap in swaps])


def _swapped_kendall(a: Floats, b: Floats, human: Floats, codes: Ints) -> _Measure:
    def difference(swap: Floats) -> float:
        swapped = swap[codes] > 0
        first, second = np.where(swapped, b, a), np.where(swapped, a, b)
        return correlate(second, human, "kendall").coefficient - correlate(first, human, "kendall").coefficient

    return lambda swaps: np.array([difference(swap) for swap in swaps])


SWAPPED: dict[str, Callable[[Floats, Floats, Floats, Ints], _Measure]] = {
    "pearson": _swapped_pearson,
    "spearman": _swapped_spearman,
    "kendall": _swapped_kendall,
}

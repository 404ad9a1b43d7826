"""Is B better than A, by how much, and how many examples would be needed to detect it: comparison of two means.

*Paired*: both systems answered the same contexts, so that a pair's difference does not depend on how hard its context
is. *Unpaired*: they answered different contexts. Both give a permutation test (the p-value), a bootstrap test and
interval (with fewer than 10 groups a t-test and its interval), an effect size, the rate of wins, and the number of
examples needed. The examples of one group (context) are swapped, shuffled and drawn together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Floats, Ints
from rejoinder.defaults import RESAMPLES
from rejoinder.stats.effect_size import (
    Outcomes,
    cohens_dz,
    hedges_g,
    needed_examples,
    paired_outcomes,
    unpaired_outcomes,
)
from rejoinder.stats.intervals import Interval, bootstrap_bounds, t_quantile
from rejoinder.stats.permutation import membership_chunks, permutation_p_value, swap_chunks
from rejoinder.stats.resampling import FEW, LARGE, Groups, group_codes, group_sums, mean_replicates, means_without_each

ENOUGH_EXTREME = 20
"""With this many permutations as extreme as the data, a p-value is precise enough to stop drawing."""


@dataclass(frozen=True, slots=True)
class MeanComparison:
    """The difference between B's mean and A's, with its uncertainty."""

    mean_a: float
    mean_b: float
    difference: Interval
    """B minus A."""
    p_value: float
    """Two-sided, by permutation; with 20,000 groups or more by the cluster-robust t-test, which then agrees."""
    bootstrap_p_value: float
    """By the method of the interval: bootstrap, or with fewer than 10 groups a t-test."""
    effect_size: float
    effect_name: str
    """`d_z` (Cohen's, paired) or `g` (Hedges', unpaired)."""
    outcomes: Outcomes
    needed_examples: float
    """Pairs, or examples per side, for power .8 at alpha .05 if the true effect is the observed one."""
    n_a: int
    n_b: int
    n_groups: int
    paired: bool


@dataclass(frozen=True, slots=True)
class _Side:
    """One system's values, summed by group."""

    values: Floats
    sums: Floats  # (groups,)
    sizes: Floats  # (groups,)

    @property
    def mean(self) -> float:
        return float(self.values.mean()) if self.values.size else math.nan

    @property
    def mean_variance(self) -> float:
        """The cluster-robust variance of the mean; NaN with fewer than two groups."""
        n_groups = self.sums.size
        if n_groups < 2:
            return math.nan
        residuals = self.sums - self.mean * self.sizes
        return float(n_groups / (n_groups - 1) * np.sum(residuals**2) / self.values.size**2)

    @property
    def design_effect(self) -> float:
        """How much larger that variance is than if the values were independent."""
        naive = float(self.values.var(ddof=1)) / self.values.size if self.values.size > 1 else 0.0
        return self.mean_variance / naive if naive > 0 else 1.0


def compare_paired(
    a: ArrayLike,
    b: ArrayLike,
    groups: Groups = None,
    *,
    n_resamples: int = RESAMPLES,
    n_permutations: int = 9999,
    most_permutations: int = 0,
    confidence: float = 0.95,
    seed: int = 0,
) -> MeanComparison:
    """How two systems compare on the same examples, a[i] with b[i]; a pair with a NaN is left out.

    The permutation test swaps a and b within groups (Fisher's sign-flip test); the bootstrap draws groups of
    pairs. Where fewer than 20 permutations are as extreme as the data, up to `most_permutations` are drawn: among many
    comparisons only a very small p-value survives the correction.
    """
    first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(f"a and b must be vectors of equal length, not of shapes {first.shape} and {second.shape}")
    codes, _ = group_codes(groups, first.size)
    known = ~(np.isnan(first) | np.isnan(second))
    first, second = first[known], second[known]
    gain = _side(second - first, codes[known])
    interval, bootstrap_p = _bootstrap_difference(gain, None, n_resamples, confidence, seed)
    effect = cohens_dz(gain.values)
    return MeanComparison(
        mean_a=float(first.mean()) if first.size else math.nan,
        mean_b=float(second.mean()) if second.size else math.nan,
        difference=interval,
        p_value=_sign_flip_p_value(gain, (n_permutations, most_permutations), seed),
        bootstrap_p_value=bootstrap_p,
        effect_size=effect,
        effect_name="d_z",
        outcomes=paired_outcomes(first, second),
        needed_examples=needed_examples(effect, design_effect=gain.design_effect),
        n_a=first.size,
        n_b=second.size,
        n_groups=gain.sums.size,
        paired=True,
    )


def compare_unpaired(
    a: ArrayLike,
    b: ArrayLike,
    groups_a: Groups = None,
    groups_b: Groups = None,
    *,
    n_resamples: int = RESAMPLES,
    n_permutations: int = 9999,
    most_permutations: int = 0,
    confidence: float = 0.95,
    seed: int = 0,
) -> MeanComparison:
    """How two systems compare on different examples; NaN is left out.

    The permutation test shuffles whole groups between the systems and compares Welch's t, not the raw difference, so
    that it is valid for unequal variances and sizes (Janssen 1997). Groups of the two systems with the same name are
    different groups: for contexts that both answered use `compare_paired`. `most_permutations` as there.
    """
    first, second = _known_side(a, groups_a), _known_side(b, groups_b)
    interval, bootstrap_p = _bootstrap_difference(second, first, n_resamples, confidence, seed)
    effect = hedges_g(first.values, second.values)
    design_effect = float(np.nanmax([1.0, first.design_effect, second.design_effect]))
    return MeanComparison(
        mean_a=first.mean,
        mean_b=second.mean,
        difference=interval,
        p_value=_shuffle_p_value(first, second, (n_permutations, most_permutations), seed),
        bootstrap_p_value=bootstrap_p,
        effect_size=effect,
        effect_name="g",
        outcomes=unpaired_outcomes(first.values, second.values),
        needed_examples=needed_examples(effect, paired=False, design_effect=design_effect),
        n_a=first.values.size,
        n_b=second.values.size,
        n_groups=first.sums.size + second.sums.size,
        paired=False,
    )


def _known_side(values: ArrayLike, groups: Groups) -> _Side:
    vector = np.asarray(values, np.float64)
    if vector.ndim != 1:
        raise ValueError(f"the scores of a system must be a vector, not an array of shape {vector.shape}")
    codes, _ = group_codes(groups, vector.size)
    known = ~np.isnan(vector)
    return _side(vector[known], codes[known])


def _side(values: Floats, codes: Ints) -> _Side:
    codes, n_groups = group_codes(codes, values.size)  # groups without any known value do not count
    columns = np.stack([values, np.ones_like(values)], axis=1)
    sums, sizes = group_sums(columns, codes, n_groups).T
    return _Side(values, sums, sizes)


def _bootstrap_difference(
    side: _Side, other: _Side | None, n_resamples: int, confidence: float, seed: int
) -> tuple[Interval, float]:
    """side's mean minus the other's (or 0) with its interval, and the two-sided bootstrap p-value.

    The p-value is the share of resamples whose difference deviates from the observed one by at least its size: the
    bootstrap distribution, shifted to a true difference of 0, is compared with the observed difference.
    """
    fewest = min(side.sums.size, other.sums.size if other else side.sums.size)
    if fewest < FEW or fewest >= LARGE:
        return _normal_difference(side, other, confidence)
    replicates = _replicates(side, n_resamples, seed)
    without, n_groups, difference = means_without_each(side.sums, side.sizes), side.sums.size, side.mean
    if other is not None:
        # A different seed: equal draws would make the two sides correlated.
        replicates = replicates - _replicates(other, n_resamples, seed + 1)
        other_without = side.mean - means_without_each(other.sums, other.sizes)
        without = np.concatenate([without - other.mean, other_without])
        n_groups, difference = min(n_groups, other.sums.size), side.mean - other.mean
    interval = bootstrap_bounds(replicates, difference, n_groups, confidence, without)
    return interval, _shifted_p_value(difference, replicates)


def _normal_difference(side: _Side, other: _Side | None, confidence: float) -> tuple[Interval, float]:
    difference = side.mean - (other.mean if other else 0.0)
    variance = side.mean_variance + (other.mean_variance if other else 0.0)
    if math.isnan(variance):
        return Interval(difference, math.nan, math.nan), math.nan
    degrees = _degrees(side, other)
    margin = t_quantile(confidence, degrees) * math.sqrt(variance)
    interval = Interval(difference, difference - margin, difference + margin)
    return interval, _t_test(difference, variance, degrees)


def _degrees(side: _Side, other: _Side | None) -> float:
    """The Welch-Satterthwaite degrees of freedom of the variance of a difference."""
    parts = [(part.mean_variance, part.sums.size - 1) for part in (side, other) if part is not None]
    squares = sum(variance**2 / degrees for variance, degrees in parts)
    if squares == 0:
        return float(min(degrees for _, degrees in parts))
    return float(sum(variance for variance, _ in parts) ** 2 / squares)


def _replicates(side: _Side, n_resamples: int, seed: int) -> Floats:
    return mean_replicates(side.sums[:, None], side.sizes[:, None], n_resamples, seed).reshape(-1)


def _shifted_p_value(difference: float, replicates: Floats) -> float:
    return permutation_p_value(difference, replicates - difference)


def _two_stage_p_value(observed: float, permuted: Callable[[int], Iterator[Floats]], stages: tuple[int, int]) -> float:
    """The p-value from the first stage's permutations; from the second's where too few of them were extreme."""
    first, most = stages
    found = permutation_p_value(observed, np.concatenate(list(permuted(first))))
    if most > first and found * (first + 1) <= ENOUGH_EXTREME:
        return permutation_p_value(observed, np.concatenate(list(permuted(most))))
    return found


def _sign_flip_p_value(gain: _Side, stages: tuple[int, int], seed: int) -> float:
    if gain.sums.size < 2:
        return math.nan
    if gain.sums.size >= LARGE:
        return _t_test(gain.mean, gain.mean_variance, gain.sums.size - 1)
    total = float(gain.sums.sum())

    def flipped(n_permutations: int) -> Iterator[Floats]:
        for swaps in swap_chunks(gain.sums.size, n_permutations, seed):
            yield total - 2 * (swaps @ gain.sums)

    return _two_stage_p_value(total, flipped, stages)


def _shuffle_p_value(first: _Side, second: _Side, stages: tuple[int, int], seed: int) -> float:
    groups_a, groups_b = first.sums.size, second.sums.size
    if min(groups_a, groups_b) < 2:
        return math.nan
    if groups_a + groups_b >= LARGE:
        variance = first.mean_variance + second.mean_variance
        return _t_test(second.mean - first.mean, variance, _degrees(first, second))
    sums, sizes = np.concatenate([first.sums, second.sums]), np.concatenate([first.sizes, second.sizes])
    sums = sums - sums.sum() / sizes.sum() * sizes  # centred, so that the squares below do not lose precision
    moments = np.stack([sums, sizes, sums**2, sums * sizes, sizes**2], axis=1)
    in_b = np.repeat([0.0, 1.0], [groups_a, groups_b])
    observed = _welch_t(in_b[None] @ moments, moments.sum(axis=0), groups_a, groups_b)[0]

    def shuffled(n_permutations: int) -> Iterator[Floats]:
        for labels in membership_chunks(in_b.size, groups_b, n_permutations, seed):
            yield _welch_t(labels @ moments, moments.sum(axis=0), groups_a, groups_b)

    return _two_stage_p_value(float(observed), shuffled, stages)


def _welch_t(of_b: Floats, of_all: Floats, groups_a: int, groups_b: int) -> Floats:
    """Welch's t between the groups in B and the rest, from their moments (permutations, 5); 0 / 0 is 0."""
    difference, variance = np.zeros(len(of_b)), np.zeros(len(of_b))
    for sign, moments, n_groups in ((1, of_b, groups_b), (-1, of_all - of_b, groups_a)):
        sums, sizes, squares, products, squared_sizes = moments.T
        mean = sums / sizes
        residuals = squares - 2 * mean * products + mean**2 * squared_sizes
        residuals[residuals < 1e-12 * squares] = 0  # equal values, up to rounding
        difference += sign * mean
        variance += n_groups / (n_groups - 1) * residuals / sizes**2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(difference == 0, 0.0, difference / np.sqrt(variance))


def _t_test(difference: float, variance: float, degrees: float) -> float:
    from scipy.special import stdtr

    if variance == 0:
        return 1.0 if difference == 0 else 0.0
    return float(2 * stdtr(degrees, -abs(difference) / math.sqrt(variance)))

"""Is B better than A, and by how much: two means, their effect size, and what a test can detect."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Floats, Ints
from rejoinder.stats.intervals import (
    Interval,
    Sums,
    Values,
    check_confidence,
    paired_bounds,
    t_quantile,
    two_values,
    unpaired_bounds,
)
from rejoinder.stats.mean_tests import Draws, MeanTest, shuffle_test, sign_flip_test, welch_degrees
from rejoinder.stats.resampling import ALPHA, Groups, group_codes, sums_by_group

# Is B better than A, by how much, and how many examples would be needed to detect it: comparison of two means.
#
# *Paired*: both systems answered the same contexts, so that a pair's difference does not depend on how hard its context
# is. *Unpaired*: they answered different contexts. Both give a permutation test, the interval that agrees with it (see
# `mean_tests`), an effect size, the rate of wins, and the number of examples needed. The examples of one group (such
# as a context or a dialogue) are swapped and shuffled together.


@dataclass(frozen=True, slots=True)
class MeanComparison:
    """The difference between B's mean and A's, with its uncertainty."""

    mean_a: float
    mean_b: float
    difference: Interval
    """B minus A: the differences that the test does not reject. NaN bounds with too few groups to reject any."""
    p_value: float
    """Two-sided, by permutation; with 20,000 groups or more by the cluster-robust t-test, which then agrees."""
    smallest_p: float
    """The smallest p-value that was possible: 2 / 2^5 with 5 pairs, so that no difference can be significant."""
    effect_size: float
    """Hedges' g, paired or not: the difference in standard deviations of the values; NaN where these do not vary."""
    power_effect: float
    """What power depends on: if paired, the difference in standard deviations of the pairs' differences (Cohen's d_z);
    else g."""
    outcomes: Outcomes
    standard_error: float
    """Of the difference, with the groups as independent units."""
    degrees: float
    """Of freedom of the standard error."""
    design_effect: float
    """How much larger the variance of the difference is than if the examples were independent."""
    n_a: int
    n_b: int
    n_groups: int
    paired: bool

    def needed(self, alpha: float = ALPHA) -> float:
        """Pairs, or examples per side, for power .8 at the level `alpha` if the true effect is the observed one."""
        return needed_examples(self.power_effect, paired=self.paired, alpha=alpha, design_effect=self.design_effect)

    def detectable(self, alpha: float = ALPHA) -> float:
        """The smallest true difference that a test at the level `alpha` detects with power .8; NaN if it never can."""
        if not self.smallest_p < alpha or not self.standard_error > 0:
            return math.nan
        return (t_quantile(1 - alpha, self.degrees) + t_quantile(2 * POWER - 1, self.degrees)) * self.standard_error


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Two one-sided tests (Schuirmann 1987) of whether B's mean and A's differ by less than a margin.

    Each test at the level alpha rejects if the interval of confidence 1 - 2 alpha lies within the margin on its side.
    """

    margin: float
    interval: Interval
    """B minus A."""
    confidence: float

    @property
    def not_lower(self) -> bool:
        """Whether B's mean is not lower than A's by the margin or more."""
        return self.interval.low > -self.margin

    @property
    def not_higher(self) -> bool:
        """Whether B's mean is not higher than A's by the margin or more."""
        return self.interval.high < self.margin

    @property
    def equivalent(self) -> bool:
        """Whether the means differ by less than the margin."""
        return self.not_lower and self.not_higher


@dataclass(frozen=True, slots=True)
class _Side:
    """One system's values, and their sums by group."""

    values: Floats
    by_group: Sums

    @property
    def mean(self) -> float:
        return float(self.values.mean()) if self.values.size else math.nan

    @property
    def design_effect(self) -> float:
        """How much larger the variance of the mean is than if the values were independent."""
        naive = float(self.values.var(ddof=1)) / self.values.size if self.values.size > 1 else 0.0
        return self.by_group.variance / naive if naive > 0 else 1.0


def compare_paired(
    a: ArrayLike,
    b: ArrayLike,
    groups: Groups = None,
    *,
    weights: ArrayLike | None = None,
    limits: Values | None = None,
    n_permutations: int = 9999,
    most_permutations: int = 0,
    confidence: float = 0.95,
    seed: int = 0,
) -> MeanComparison:
    """How two systems compare on the same examples, a[i] with b[i]; a pair with a NaN is left out.

    The test swaps a and b within groups (sign flips). `weights` (pairs, 2) says how many replies a[i] and b[i] are the
    means of: the means are then those of all replies. `limits` is the range of the scores. Where fewer than 20
    permutations are as extreme as the data, up to `most_permutations` are drawn. Pairs that differ by less than the
    resolution are tied.
    """
    check_confidence(confidence)
    first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(f"a and b must be vectors of equal length, not of shapes {first.shape} and {second.shape}")
    sizes = np.ones((first.size, 2)) if weights is None else np.asarray(weights, np.float64)
    if sizes.shape != (first.size, 2):
        raise ValueError(f"weights must be of shape ({first.size}, 2), not {sizes.shape}")
    codes, _ = group_codes(groups, first.size)
    known = ~(np.isnan(first) | np.isnan(second))
    if not known.all():
        first, second, sizes, codes = first[known], second[known], sizes[known], codes[known]
    # The same reply may get another last bit on another machine, in another batch or in a file with fewer digits
    # (docs/reference/determinism.md), and many such differences in one direction would be significant.
    second = np.where(np.abs(second - first) < _resolution(first, second, limits), first, second)
    mean_a, mean_b = _mean(first, sizes[:, 0]), _mean(second, sizes[:, 1])
    gains = _gains(first, second, sizes, codes)
    values = two_values(np.concatenate([first, second]), limits)
    draws = Draws(n_permutations, most_permutations, seed)
    test = sign_flip_test(gains, draws, confidence, skewed=values is None)
    low, high = test.low, test.high
    if values is not None and gains.sums.size > 1:
        low, high = _widened(test, paired_bounds(gains, values, confidence))
    deviation = _deviation(second - first)
    design_effect = gains.variance * first.size / deviation**2 if deviation > 0 else 1.0
    return MeanComparison(
        mean_a=mean_a,
        mean_b=mean_b,
        difference=Interval(mean_b - mean_a, low, high),
        p_value=test.p_value,
        smallest_p=test.smallest_p,
        effect_size=hedges_g(first, second, mean_b - mean_a),
        power_effect=standardised_difference(mean_b - mean_a, deviation) if first.size > 1 else math.nan,
        outcomes=paired_outcomes(first, second),
        standard_error=math.sqrt(gains.variance),
        degrees=max(gains.sums.size - 1, 1),
        design_effect=design_effect,
        n_a=first.size,
        n_b=second.size,
        n_groups=gains.sums.size,
        paired=True,
    )


def compare_unpaired(
    a: ArrayLike,
    b: ArrayLike,
    groups_a: Groups = None,
    groups_b: Groups = None,
    *,
    limits: Values | None = None,
    n_permutations: int = 9999,
    most_permutations: int = 0,
    confidence: float = 0.95,
    seed: int = 0,
) -> MeanComparison:
    """How two systems compare on different examples; NaN is left out.

    The test shuffles whole groups between the systems. Groups of the two systems with the same name are different
    groups: for contexts that both answered use `compare_paired`. The other arguments are as there.
    """
    check_confidence(confidence)
    first, second = _known_side(a, groups_a), _known_side(b, groups_b)
    test = shuffle_test(first.by_group, second.by_group, Draws(n_permutations, most_permutations, seed), confidence)
    values = two_values(np.concatenate([first.values, second.values]), limits)
    low, high = test.low, test.high
    if values is not None and min(first.by_group.sums.size, second.by_group.sums.size) > 1:
        low, high = _widened(test, unpaired_bounds(first.by_group, second.by_group, values, confidence))
    effect = hedges_g(first.values, second.values)
    design_effect = float(np.nanmax([1.0, first.design_effect, second.design_effect]))
    return MeanComparison(
        mean_a=first.mean,
        mean_b=second.mean,
        difference=Interval(second.mean - first.mean, low, high),
        p_value=test.p_value,
        smallest_p=test.smallest_p,
        effect_size=effect,
        power_effect=effect,
        outcomes=unpaired_outcomes(first.values, second.values, _resolution(first.values, second.values, limits)),
        standard_error=math.sqrt(first.by_group.variance + second.by_group.variance),
        degrees=_degrees(first.by_group, second.by_group),
        design_effect=design_effect,
        n_a=first.values.size,
        n_b=second.values.size,
        n_groups=first.by_group.sums.size + second.by_group.sums.size,
        paired=False,
    )


def _degrees(a: Sums, b: Sums) -> float:
    return welch_degrees(a, b) if min(a.sums.size, b.sums.size) > 1 else math.nan


def _resolution(a: Floats, b: Floats, limits: Values | None) -> float:
    """The difference of two scores below which it is one of rounding."""
    values = np.concatenate([a, b])
    span = limits[1] - limits[0] if limits is not None else float(np.ptp(values)) if values.size else 0.0
    return RESOLUTION * span


def _gains(a: Floats, b: Floats, sizes: Floats, codes: Ints) -> Sums:
    """What each group contributes to B's mean minus A's, and how much it counts.

    Values are taken from the middle of the two means, so that a group with more replies of one system than of the other
    contributes no more than its share of the difference.
    """
    if not a.size:
        return Sums(np.zeros(0), np.zeros(0))
    shares = sizes / sizes.mean(axis=0)  # 1 for a pair of as many replies as the others
    middle = (_mean(a, sizes[:, 0]) + _mean(b, sizes[:, 1])) / 2
    gains = b - middle
    gains *= shares[:, 1]  # in place: pairs may be many millions
    gains -= shares[:, 0] * (a - middle)
    return _sums(gains, shares.mean(axis=1), codes)


def _sums(values: Floats, sizes: Floats, codes: Ints) -> Sums:
    """The sums by group of values and sizes."""
    codes, n_groups = group_codes(codes, len(values))  # groups without any known value do not count
    return Sums(sums_by_group(values, codes, n_groups), sums_by_group(sizes, codes, n_groups))


def _known_side(values: ArrayLike, groups: Groups) -> _Side:
    vector = np.asarray(values, np.float64)
    if vector.ndim != 1:
        raise ValueError(f"the scores of a system must be a vector, not an array of shape {vector.shape}")
    codes, _ = group_codes(groups, vector.size)
    known = ~np.isnan(vector)
    if not known.all():
        vector, codes = vector[known], codes[known]
    return _Side(vector, _sums(vector, np.ones(vector.size), codes))


def _widened(test: MeanTest, bounds: tuple[float, float]) -> tuple[float, float]:
    """The interval of a test, widened to the bounds, but never so far that it contradicts the p-value."""
    if math.isnan(test.low):  # nothing could be significant
        return min(bounds[0], 0.0), max(bounds[1], 0.0)
    low, high = min(test.low, bounds[0]), max(test.high, bounds[1])
    return test.low if test.low > 0 >= low else low, test.high if test.high < 0 <= high else high


def _mean(values: Floats, sizes: Floats) -> float:
    return float(np.average(values, weights=sizes)) if values.size else math.nan


def _deviation(differences: Floats) -> float:
    """The standard deviation; 0 where the differences are equal up to rounding."""
    if differences.size < 2:
        return math.nan
    deviation = float(differences.std(ddof=1))
    return deviation if deviation > 1e-12 * float(np.abs(differences).max()) else 0.0


# The size of a difference: standardised differences, wins and losses, and the examples needed to detect it.


POWER = 0.8
"""The probability with which a difference should be detected."""

RESOLUTION = 1e-5
"""The share of the range of scores below which a difference is one of rounding."""

ROUNDING = 1e-12
"""Deviations so much smaller than the difference are rounding errors."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The shares of pairs that B wins, that are tied, and that B loses; they sum to 1."""

    wins: float
    ties: float
    losses: float


def paired_outcomes(a: Floats, b: Floats) -> Outcomes:
    """How often b is above, equal to, and below the a of the same pair; NaN without pairs."""
    if not a.size:
        return Outcomes(math.nan, math.nan, math.nan)
    return _shares(int(np.sum(b > a)), int(np.sum(b < a)), a.size)


def unpaired_outcomes(a: Floats, b: Floats, resolution: float = 0.0) -> Outcomes:
    """How often b is above, equal to, and below an a, over all pairs; wins minus losses is Cliff's delta (1993).

    Values that differ by less than the resolution count as equal.
    """
    if not a.size or not b.size:
        return Outcomes(math.nan, math.nan, math.nan)
    ordered = np.sort(a)
    if resolution:
        wins = int(np.searchsorted(ordered, b - resolution, side="right").sum())
        not_lost = int(np.searchsorted(ordered, b + resolution, side="left").sum())
    else:
        wins = int(np.searchsorted(ordered, b, side="left").sum())
        not_lost = int(np.searchsorted(ordered, b, side="right").sum())
    return _shares(wins, a.size * b.size - not_lost, a.size * b.size)


def hedges_g(a: Floats, b: Floats, difference: float | None = None) -> float:
    """mean(b) - mean(a) in pooled standard deviations, without the small-sample bias of Cohen's d (Hedges 1981).

    `difference` is that of weighted means.
    """
    degrees = a.size + b.size - 2
    if degrees < 2 or not a.size or not b.size:
        return math.nan
    pooled = math.sqrt((a.size * float(a.var()) + b.size * float(b.var())) / degrees)
    gap = float(b.mean() - a.mean()) if difference is None else difference
    return (1 - 3 / (4 * degrees - 1)) * standardised_difference(gap, pooled)


def needed_examples(
    effect: float, *, paired: bool = True, power: float = POWER, alpha: float = 0.05, design_effect: float = 1.0
) -> float:
    """The pairs (unpaired: examples per side) with which a two-sided t-test detects the effect; inf for no effect.

    With z_a and z_p the normal quantiles of 1 - alpha / 2 and of the power, it is
    (z_a + z_p)^2 / effect^2 + z_a^2 / 2 paired and 2 (z_a + z_p)^2 / effect^2 + z_a^2 / 4 unpaired
    (Guenther 1981), times the design effect of clustered examples.
    """
    if not 0 < power < 1 or not 0 < alpha < 1:
        raise ValueError(f"power and alpha must be between 0 and 1, not {power} and {alpha}")
    if math.isnan(effect) or math.isnan(design_effect):
        return math.nan
    if effect == 0:
        return math.inf
    from scipy.special import ndtri

    z_alpha, z_power = float(ndtri(1 - alpha / 2)), float(ndtri(power))
    sides, correction = (1, z_alpha**2 / 2) if paired else (2, z_alpha**2 / 4)
    needed = sides * ((z_alpha + z_power) / effect) ** 2 + correction
    return float(math.ceil(needed * max(design_effect, 1.0))) if math.isfinite(needed) else math.inf


def _shares(wins: int, losses: int, total: int) -> Outcomes:
    return Outcomes(wins / total, (total - wins - losses) / total, losses / total)


def standardised_difference(difference: float, deviation: float) -> float:
    """The difference in standard deviations; NaN where there is a difference but no deviation.

    With the standard deviation of the differences of pairs it is Cohen's d_z (Cohen 1988; Lakens 2013, eq. 6).
    """
    if deviation > ROUNDING * abs(difference):
        return difference / deviation
    return math.nan if difference else 0.0

"""Permutation tests of a difference of means, and the intervals that they imply.

A 95 % interval holds the differences that the test does not reject at 5 %, so that interval and p-value never
contradict each other. *Sign flips* (Fisher 1935) swap the two systems within groups; the differences that they do not
reject lie between quantiles of the mean differences of random subsets of the groups (Hartigan 1969, "Using subsample
values as typical values"). *Shuffles* assign whole groups at random to the two systems and compare Welch's t, not the
raw difference, so that unequal variances and sizes do no harm (Janssen 1997). With few groups this test rejects too
often where the variances differ, and Welch's t-test where scores are rare, so both must reject. Likewise sign flips
assume symmetric differences: with few groups a t-test that allows for skewed ones (Hall 1992) must reject as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rejoinder.arrays import Floats
from rejoinder.stats.intervals import ROUNDING, Sums, t_quantile
from rejoinder.stats.resampling import LARGE, membership_chunks, n_memberships, n_swaps, swap_chunks

FEW = 50
"""Groups below which skewed differences matter: of exponential ones with mean 0, sign flips alone reject 9.6 % in 10
groups and 8 % in 20."""

ENOUGH_EXTREME = 20
"""With so many permutations as extreme as the data, a p-value is precise enough to stop drawing."""


@dataclass(frozen=True, slots=True)
class MeanTest:
    """A two-sided p-value, the interval that agrees with it, and the smallest p-value that was possible."""

    p_value: float
    low: float
    high: float
    """NaN where no difference could be rejected, because there are too few groups."""
    smallest_p: float


@dataclass(frozen=True, slots=True)
class Draws:
    """How many permutations are drawn: up to `most` where fewer than 20 of the first ones are as extreme as the data.

    Among many comparisons only a very small p-value survives the correction.
    """

    first: int = 9999
    most: int = 0
    seed: int = 0


NOT_TESTED = MeanTest(math.nan, math.nan, math.nan, math.nan)


def sign_flip_test(gains: Sums, draws: Draws, confidence: float = 0.95, *, skewed: bool = True) -> MeanTest:
    """Test whether the mean of the gains (B's values minus A's) is 0.

    `skewed` allows for skewed gains of few groups.
    """
    n_groups = gains.sums.size
    if n_groups < 2:
        return NOT_TESTED
    if n_groups >= LARGE:
        return _t_test(gains.mean, gains.variance, n_groups - 1, confidence)
    moved = np.stack([gains.sums, gains.sizes], axis=1)
    rounding, total = ROUNDING * float(np.abs(gains.sums).sum()), float(gains.sums.sum())

    def drawn(n_permutations: int) -> Floats:
        """The sums and sizes of the flipped groups beside those of the others. (permutations, 4)"""
        flipped = np.concatenate([swaps @ moved for swaps in swap_chunks(n_groups, n_permutations, draws.seed)])
        return np.concatenate([flipped, moved.sum(axis=0) - flipped], axis=1)

    def extreme(parts: Floats) -> int:
        # Flipping some groups gives as large a total if their own sum, or that of the others, has not its sign.
        against = math.copysign(1, total) * parts[:, [0, 2]] <= rounding
        return int(np.count_nonzero(against.any(axis=1)))

    first = drawn(draws.first)
    p = _p_value(first, drawn, extreme, draws) if abs(total) > rounding else 1.0
    low, high = _outer_means(np.concatenate([first[:, :2], first[:, 2:]]), confidence, rounding)
    if skewed and n_groups < FEW and gains.variance > 0:
        by_t = _hall_test(gains, confidence)
        p, low, high = max(p, by_t.p_value), min(low, by_t.low), max(high, by_t.high)
    drawn_at_most = n_swaps(n_groups, max(draws.first, draws.most))
    return MeanTest(p, low, high, max(2.0 ** (1 - n_groups), 1 / (1 + drawn_at_most)))


def _hall_test(gains: Sums, confidence: float) -> MeanTest:
    """A t-test of the mean gain that allows for skewed gains.

    Hall (1992), "On the removal of skewness by transformation": with s = sqrt(n) error and the skewness k of the gains,
    g(t) = t + k t^2 / 3 + k^2 t^3 / 27 + k / (6 n) of t = (mean - true mean) / s, times sqrt(n), is nearly Student's t.
    """
    from scipy.special import stdtr

    n = gains.sums.size
    residuals = gains.sums - gains.mean * gains.sizes
    scale = math.sqrt(n * gains.variance)
    skewness = float((residuals**3).mean() / (residuals**2).mean() ** 1.5)
    if abs(skewness) < ROUNDING:
        return _t_test(gains.mean, gains.variance, n - 1, confidence)

    def transformed(t: float) -> float:
        return float((1 + skewness * t / 3) ** 3 - 1) / skewness + skewness / (6 * n)

    def inverse(y: float) -> float:
        return 3 / skewness * (float(np.cbrt(1 + skewness * (y - skewness / (6 * n)))) - 1)

    reach = t_quantile(confidence, n - 1) / math.sqrt(n)
    p = float(2 * stdtr(n - 1, -abs(math.sqrt(n) * transformed(gains.mean / scale))))
    return MeanTest(p, gains.mean - scale * inverse(reach), gains.mean - scale * inverse(-reach), 0.0)


def _p_value(first: Floats, drawn: Callable[[int], Floats], extreme: Callable[[Floats], int], draws: Draws) -> float:
    """The p-value of the first permutations, or of more where too few of them are extreme."""
    found = first
    if draws.most > draws.first and extreme(first) < ENOUGH_EXTREME:
        found = drawn(draws.most)
    return (1 + extreme(found)) / (1 + len(found))


def _outer_means(parts: Floats, confidence: float, rounding: float) -> tuple[float, float]:
    """The m-th smallest and the m-th largest mean of the parts: beyond them the test rejects."""
    place = not_rejected(len(parts) // 2, confidence)
    if place < 1:
        return math.nan, math.nan
    sums, sizes = parts.T
    empty = sizes <= 0
    means = np.divide(sums, sizes, out=np.zeros(len(sums)), where=~empty)
    means[np.abs(sums) <= rounding] = 0.0
    low = np.partition(np.where(empty, -np.inf, means), place - 1)[place - 1]
    high = np.partition(np.where(empty, np.inf, means), -place)[-place]
    return (float(low), float(high)) if np.isfinite(low) and np.isfinite(high) else (math.nan, math.nan)


def not_rejected(n_permutations: int, confidence: float) -> int:
    """How many permutations must be as extreme as the data for the test not to reject."""
    return math.ceil(round((1 - confidence) * (n_permutations + 1), 6)) - 1


def shuffle_test(a: Sums, b: Sums, draws: Draws, confidence: float = 0.95) -> MeanTest:
    """Test whether the means of two systems with different groups are equal."""
    groups_a, groups_b = a.sums.size, b.sums.size
    if min(groups_a, groups_b) < 2:
        return NOT_TESTED
    difference, variance = b.mean - a.mean, a.variance + b.variance
    if groups_a + groups_b >= LARGE:
        return _t_test(difference, variance, welch_degrees(a, b), confidence)
    sums, sizes = np.concatenate([a.sums, b.sums]), np.concatenate([a.sizes, b.sizes])
    sums = sums - sums.sum() / sizes.sum() * sizes  # centred, so that the squares below do not lose precision
    moments = np.stack([sums, sizes, sums**2, sums * sizes, sizes**2], axis=1)
    in_b = np.repeat([0.0, 1.0], [groups_a, groups_b])
    observed = abs(float(_welch_t(in_b[None] @ moments, moments.sum(axis=0), groups_a, groups_b)[0]))

    def drawn(n_permutations: int) -> Floats:
        found = (
            np.abs(_welch_t(members @ moments, moments.sum(axis=0), groups_a, groups_b))
            for members in membership_chunks(in_b.size, groups_b, n_permutations, draws.seed)
        )
        return np.concatenate(list(found))

    def extreme(found: Floats) -> int:
        return int(np.count_nonzero(found >= observed * (1 - ROUNDING)))

    first, by_t = drawn(draws.first), _t_test(difference, variance, welch_degrees(a, b), confidence)
    p = max(_p_value(first, drawn, extreme, draws), by_t.p_value)
    place = not_rejected(first.size, confidence)
    reach = float(np.partition(first, -place)[-place]) * math.sqrt(variance) if place > 0 else math.nan
    reach = max(reach, by_t.high - difference) if math.isfinite(reach) else math.nan
    # A difference that is just as extreme as the last that is not rejected gives a bound of 0, up to rounding.
    low, high = (0.0 if abs(bound) <= ROUNDING * reach else bound for bound in (difference - reach, difference + reach))
    exact = (2 if groups_a == groups_b else 1) / math.comb(in_b.size, groups_b)
    drawn_at_most = n_memberships(in_b.size, groups_b, max(draws.first, draws.most))
    return MeanTest(p, low, high, max(exact, 1 / (1 + drawn_at_most)))


def welch_degrees(a: Sums, b: Sums) -> float:
    """The Welch-Satterthwaite degrees of freedom of the variance of a difference."""
    parts = [(part.variance, part.sums.size - 1) for part in (a, b)]
    squares = sum(variance**2 / degrees for variance, degrees in parts)
    if squares == 0:
        return float(min(degrees for _, degrees in parts))
    return float(sum(variance for variance, _ in parts) ** 2 / squares)


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


def _t_test(difference: float, variance: float, degrees: float, confidence: float) -> MeanTest:
    from scipy.special import stdtr

    if variance == 0:
        return MeanTest(1.0 if difference == 0 else 0.0, difference, difference, 0.0)
    error = math.sqrt(variance)
    margin = t_quantile(confidence, degrees) * error
    p = float(2 * stdtr(degrees, -abs(difference) / error))
    return MeanTest(p, difference - margin, difference + margin, 0.0)

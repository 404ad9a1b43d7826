"""An estimate with its interval; sums over groups; intervals of shares."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Floats

# An estimate with its confidence interval, computed from bootstrap replicates.
#
# A plain percentile interval is too narrow when there are few groups, for two reasons: the bootstrap divides by G where
# an unbiased variance divides by G - 1, and it uses normal quantiles instead of t quantiles. `bootstrap_bounds` uses
# quantiles that correct both (the expanded percentile interval of Hesterberg 2015, "What teachers should know about the
# bootstrap", section 3.4). With leave-one-group-out estimates it also corrects bias and skewness (BCa; Efron 1987,
# "Better bootstrap confidence intervals").


FEWEST_RATINGS = 30
"""Ratings from which their lowest and highest can be taken as the ends of the scale."""

FEWEST_AT_AN_END = 3
"""Ratings that must lie exactly at an end of the scale."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and the bounds of its confidence interval; NaN where unknown."""

    estimate: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half the distance between the bounds: the number after a plus-minus sign."""
        return (self.high - self.low) / 2

    def covers(self, value: float) -> bool:
        """Whether the value is within the bounds."""
        return self.low <= value <= self.high

    def within(self, limits: tuple[float, float]) -> Interval:
        """The same interval, with estimate and bounds no lower and no higher than the limits; NaN stays NaN."""
        return Interval(*(float(np.clip(value, *limits)) for value in (self.estimate, self.low, self.high)))


def rating_limits(ratings: ArrayLike) -> tuple[float, float]:
    """The lowest and the highest mean that ratings can have: the ends of their scale; infinite where unknown.

    An end is known where at least three ratings lie exactly at it, it is a whole number, and there are 30 ratings.
    """
    values = np.asarray(ratings, np.float64)
    values = values[~np.isnan(values)]
    if values.size < FEWEST_RATINGS:
        return -np.inf, np.inf

    def is_end(value: float) -> bool:
        return value.is_integer() and int(np.sum(values == value)) >= FEWEST_AT_AN_END

    low, high = float(values.min()), float(values.max())
    return low if is_end(low) else -np.inf, high if is_end(high) else np.inf


def check_confidence(confidence: float) -> None:
    """Raise a ValueError unless the confidence is between 0 and 1."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, not {confidence}")


def t_quantile(confidence: float, degrees: float) -> float:
    """The two-sided quantile of Student's t: 1.98 for 95 % and 99 degrees of freedom."""
    from scipy.special import stdtrit

    check_confidence(confidence)
    return float(stdtrit(degrees, (1 + confidence) / 2))


def bootstrap_bounds(
    replicates: Floats,
    estimate: float,
    n_groups: int,
    confidence: float = 0.95,
    leave_one_out: Floats | None = None,
) -> Interval:
    """The interval from bootstrap replicates (one estimate per resample); NaN bounds with fewer than two groups.

    It is an expanded percentile interval, or, with `leave_one_out` (the estimate without each group in turn), an
    expanded BCa interval.
    """
    replicates = replicates[np.isfinite(replicates)]
    if n_groups < 2 or not replicates.size or not np.isfinite(estimate):
        return Interval(float(estimate), np.nan, np.nan)
    from scipy.special import ndtr, ndtri

    z = np.sqrt(n_groups / (n_groups - 1)) * t_quantile(confidence, n_groups - 1) * np.array([-1.0, 1.0])
    if leave_one_out is not None:
        # z0 is the bias: how far the estimate is from the median of the replicates. Half of the ties count as below.
        below = np.mean(replicates < estimate) + np.mean(replicates == estimate) / 2
        smallest = 0.5 / replicates.size
        bias = ndtri(np.clip(below, smallest, 1 - smallest))
        z = bias + (bias + z) / (1 - acceleration(leave_one_out) * (bias + z))
    low, high = np.quantile(replicates, ndtr(z))
    return Interval(float(estimate), float(low), float(high))


def acceleration(leave_one_out: Floats) -> float:
    """How fast the standard error changes with the true value: a sixth of the skewness of the estimates."""
    influence = np.nanmean(leave_one_out) - leave_one_out
    influence = influence[np.isfinite(influence)]
    squares = float(np.sum(influence**2))
    return float(np.sum(influence**3)) / (6 * squares**1.5) if squares > 0 else 0.0


# Values summed by group, with the mean and its cluster-robust variance.


ROUNDING = 1e-9
"""Relative size of sums that differ from 0 only by rounding."""


@dataclass(frozen=True, slots=True)
class Sums:
    """The sum of the values of each group, and how many they are."""

    sums: Floats  # (groups,)
    sizes: Floats  # (groups,)

    @property
    def present(self) -> Sums:
        """The same without groups that have no values."""
        known = self.sizes > 0
        return self if known.all() else Sums(self.sums[known], self.sizes[known])

    @property
    def mean(self) -> float:
        """The mean value; NaN without values."""
        return float(self.sums.sum() / self.sizes.sum()) if self.sums.size else math.nan

    @property
    def variance(self) -> float:
        """The cluster-robust variance of the mean; NaN with fewer than two groups.

        The mean is a ratio of two sums, so its variance is that of the groups' residuals: G / (G - 1) times the sum of
        (s_g - mean n_g)^2, over n^2.
        """
        n_groups = self.sums.size
        if n_groups < 2:
            return math.nan
        residuals = self.sums - self.mean * self.sizes
        residuals[np.abs(residuals) <= ROUNDING * np.abs(self.sums).max()] = 0
        return float(n_groups / (n_groups - 1) * np.sum(residuals**2) / self.sizes.sum() ** 2)


# Intervals for scores that have only two values, such as 0 and 1.
#
# Where such scores are rare or few, all of them may be equal, and any interval built on their variance has no width. A
# share gets the interval of Agresti and Coull 1998, which is Wilson's with a larger variance: for rare scores Wilson's
# covers down to 90 %. A difference gets pseudo-observations: one pair that B wins and one that it loses (Bonett and
# Price 2012), or one score of each value per system (Agresti and Caffo 2000).


Values = tuple[float, float]
"""The lower and the higher of the two values."""


def two_values(values: Floats, limits: Values | None = None) -> Values | None:
    """The two values of yes/no scores: 0 and 1, or the ends of the metric's range; None if there are other values.

    Scores that are all equal are yes/no scores only where the range says so.
    """
    if limits is not None and values.size and ((values == limits[0]) | (values == limits[1])).all():
        return limits
    ones = values == 1
    return (0.0, 1.0) if ones.any() and not ones.all() and (ones | (values == 0)).all() else None


def share_interval(scores: Sums, values: Values, confidence: float = 0.95) -> Interval:
    """The mean of yes/no scores with its Agresti-Coull interval; NaN bounds with fewer than two groups.

    Scores of one group are not independent. They count as so many independent ones as would have the same variance, but
    not as fewer than there are groups.
    """
    low, high = values
    n_groups, n = scores.sums.size, float(scores.sizes.sum())
    if n_groups < 2:
        return Interval(scores.mean, math.nan, math.nan)
    share = (scores.mean - low) / (high - low)
    variance = scores.variance / (high - low) ** 2
    fewest = n**2 / float(np.sum(scores.sizes**2))
    effective = min(max(share * (1 - share) / variance, fewest), n) if variance > 0 else fewest
    z = t_quantile(confidence, n_groups - 1 if scores.sizes.max() > 1 else math.inf)
    centre = (share * effective + z**2 / 2) / (effective + z**2)
    reach = z * math.sqrt(centre * (1 - centre) / (effective + z**2))
    bounds = (low + (high - low) * min(max(bound, 0.0), 1.0) for bound in (centre - reach, centre + reach))
    return Interval(scores.mean, *bounds)


def paired_bounds(gains: Sums, values: Values, confidence: float = 0.95) -> tuple[float, float]:
    """The bounds of the mean gain of pairs of yes/no scores (Bonett and Price 2012)."""
    spread = values[1] - values[0]
    padded = Sums(np.append(gains.sums, [spread, -spread]), np.append(gains.sizes, [1.0, 1.0]))
    return _normal_bounds(padded.mean, _plain_variance(padded), spread, confidence)


def unpaired_bounds(a: Sums, b: Sums, values: Values, confidence: float = 0.95) -> tuple[float, float]:
    """The bounds of the difference of the means of two systems' yes/no scores (Agresti and Caffo 2000)."""
    first, second = (Sums(np.append(side.sums, values), np.append(side.sizes, [1.0, 1.0])) for side in (a, b))
    variance = _plain_variance(first) + _plain_variance(second)
    return _normal_bounds(second.mean - first.mean, variance, values[1] - values[0], confidence)


def _plain_variance(scores: Sums) -> float:
    """The cluster-robust variance of the mean, without a small-sample correction."""
    residuals = scores.sums - scores.mean * scores.sizes
    return float(np.sum(residuals**2) / scores.sizes.sum() ** 2)


def _normal_bounds(centre: float, variance: float, spread: float, confidence: float) -> tuple[float, float]:
    margin = t_quantile(confidence, math.inf) * math.sqrt(variance)
    return max(centre - margin, -spread), min(centre + margin, spread)

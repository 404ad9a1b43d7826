"""An estimate with its confidence interval, computed from bootstrap replicates.

A plain percentile interval is too narrow when there are few groups, for two reasons: the bootstrap divides by G where
an unbiased variance divides by G - 1, and it uses normal quantiles instead of t quantiles. `bootstrap_bounds` uses
quantiles that correct both (the expanded percentile interval of Hesterberg 2015, "What teachers should know about the
bootstrap", section 3.4). With leave-one-group-out estimates it also corrects bias and skewness (BCa; Efron 1987,
"Better bootstrap confidence intervals").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Floats

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

"""Intervals for scores that have only two values, such as 0 and 1.

Where such scores are rare or few, all of them may be equal, and any interval built on their variance has no width. A
share gets the interval of Agresti and Coull 1998, which is Wilson's with a larger variance: for rare scores Wilson's
covers down to 90 %. A difference gets pseudo-observations: one pair that B wins and one that it loses (Bonett and Price
2012), or one score of each value per system (Agresti and Caffo 2000).
"""

from __future__ import annotations

import math

import numpy as np

from rejoinder.arrays import Floats
from rejoinder.stats.intervals import Interval, t_quantile
from rejoinder.stats.sums import Sums

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

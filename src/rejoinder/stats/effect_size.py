"""The size of a difference: standardised differences, wins and losses, and the examples needed to detect it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rejoinder.arrays import Floats

POWER = 0.8
"""The probability with which a difference should be detected."""

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


def unpaired_outcomes(a: Floats, b: Floats) -> Outcomes:
    """How often b is above, equal to, and below an a, over all pairs; wins minus losses is Cliff's delta (1993)."""
    if not a.size or not b.size:
        return Outcomes(math.nan, math.nan, math.nan)
    ordered = np.sort(a)
    wins = int(np.searchsorted(ordered, b, side="left").sum())
    not_lost = int(np.searchsorted(ordered, b, side="right").sum())
    return _shares(wins, a.size * b.size - not_lost, a.size * b.size)


def hedges_g(a: Floats, b: Floats) -> float:
    """mean(b) - mean(a) in pooled standard deviations, without the small-sample bias of Cohen's d (Hedges 1981)."""
    degrees = a.size + b.size - 2
    if degrees < 2 or not a.size or not b.size:
        return math.nan
    pooled = math.sqrt((a.size * float(a.var()) + b.size * float(b.var())) / degrees)
    return (1 - 3 / (4 * degrees - 1)) * standardised(float(b.mean() - a.mean()), pooled)


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


def standardised(difference: float, deviation: float) -> float:
    """The difference in standard deviations; NaN where there is a difference but no deviation.

    With the standard deviation of the differences of pairs it is Cohen's d_z (Cohen 1988; Lakens 2013, eq. 6).
    """
    if deviation > ROUNDING * abs(difference):
        return difference / deviation
    return math.nan if difference else 0.0

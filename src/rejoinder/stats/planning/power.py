"""The power of a paired comparison of two systems, and what it needs.

With n contexts and a standard deviation s of the differences per context, the t statistic of a true difference D has
the noncentral t distribution with n - 1 degrees of freedom and noncentrality D sqrt(n) / s. The test of `compare_means`
flips signs instead of assuming normal differences, and has the same power with more than a few contexts; with very few
it cannot reject at all, since its smallest p-value is 2^(1 - n).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from rejoinder.stats.intervals import t_quantile

MOST = 10_000_000
"""Contexts; an evaluation that needs more is not planned."""


def paired_power(difference: float, deviation: float, contexts: int, alpha: float = 0.05) -> float:
    """The probability that a two-sided test at the level `alpha` detects the difference."""
    if contexts < fewest_contexts(alpha):
        return 0.0
    if deviation == 0:
        return 1.0 if difference else 0.0
    from scipy.special import nctdtr

    shift = abs(difference) * math.sqrt(contexts) / deviation
    if shift > 30:  # where the noncentral distribution function loses its digits
        return 1.0
    critical = t_quantile(1 - alpha, contexts - 1)
    detected = 1 - float(nctdtr(contexts - 1, shift, critical))
    if shift > 4:  # the other tail is below 1e-6, and scipy's function gives NaN for some such values
        return detected
    return detected + float(nctdtr(contexts - 1, shift, -critical))


def contexts_needed(difference: float, deviation: float, *, power: float = 0.8, alpha: float = 0.05) -> float:
    """The fewest contexts with which the difference is detected with this power; inf if more than ten million."""
    if difference == 0:
        return math.inf
    return _smallest(lambda n: paired_power(difference, deviation, n, alpha) >= power, fewest_contexts(alpha))


def detectable_difference(deviation: float, contexts: int, *, power: float = 0.8, alpha: float = 0.05) -> float:
    """The difference that this many contexts detect with this power; NaN if they are too few for any."""
    if contexts < fewest_contexts(alpha):
        return math.nan
    if deviation == 0:
        return 0.0
    low, high = 0.0, deviation * 30 / math.sqrt(contexts)
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if paired_power(middle, deviation, contexts, alpha) >= power else (middle, high)
    return high


def fewest_contexts(alpha: float) -> int:
    """The fewest contexts with which sign flips can be significant at all: 6 at 5 %."""
    return 1 + math.ceil(-math.log2(alpha) - 1e-12)


def _smallest(enough: Callable[[int], bool], least: int) -> float:
    """The smallest whole number from `least` on that is enough, where all larger ones are too."""
    high = least
    while not enough(high):
        high *= 2
        if high > MOST:
            return math.inf
    low = max(least, high // 2)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return float(high)

"""How many contexts, items and raters are needed for a power or a precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Floats, Ints
from rejoinder.stats.intervals import t_quantile
from rejoinder.stats.raters import row_means
from rejoinder.stats.resampling import Groups, group_codes

# The power of a paired comparison of two systems, and what it needs.
#
# With n contexts and a standard deviation s of the differences per context, the t statistic of a true difference D has
# the noncentral t distribution with n - 1 degrees of freedom and noncentrality D sqrt(n) / s. The test of
# `compare_means` flips signs instead of assuming normal differences, and has the same power with more than a few
# contexts; with very few it cannot reject at all, since its smallest p-value is 2^(1 - n).


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


# How many items an interval of a given width needs: for the agreement of raters, and for a correlation.


# Variance of Fisher's z is c / (n - b); Bonett and Wright 2000, "Sample size requirements for estimating Pearson,
# Kendall and Spearman correlations": b, and c as a function of the correlation.
_LOST = {"pearson": 3, "spearman": 3, "kendall": 4}


def items_for_agreement(agreement: float, width: float, raters: int, confidence: float = 0.95) -> float:
    """The items with which an interval of Krippendorff's alpha (interval scale) has about this width.

    With m raters per item and agreement a, n = 8 z^2 (1 - a)^2 (1 + (m - 1) a)^2 / (m (m - 1) w^2) + 1 (Bonett 2002,
    for the intraclass correlation of single ratings, which alpha estimates); with two raters and a of .7 or more, 5 a
    items are added, as he advises.
    """
    if not 0 <= agreement < 1 or not 0 < width < 2 or raters < 2:
        raise ValueError("agreement must be from 0 to below 1, width between 0 and 2, and raters at least 2")
    z = t_quantile(confidence, math.inf)
    spread = (1 - agreement) ** 2 * (1 + (raters - 1) * agreement) ** 2 / (raters * (raters - 1))
    needed = 8 * z**2 * spread / width**2 + 1 + (5 * agreement if raters == 2 and agreement >= 0.7 else 0)
    return float(math.ceil(needed)) if needed <= MOST else math.inf


def items_for_correlation(correlation: float, width: float, kind: str = "pearson", confidence: float = 0.95) -> float:
    """The items with which the interval of a correlation (Fisher's z, independent items) is at most so wide."""
    if not -1 < correlation < 1 or not 0 < width < 2:
        raise ValueError("correlation must be between -1 and 1, and width between 0 and 2")
    if kind not in _LOST:
        raise ValueError(f"kind must be one of {', '.join(_LOST)}, not {kind!r}")
    variance = {"pearson": 1.0, "spearman": 1 + correlation**2 / 2, "kendall": 0.437}[kind]
    z, reach = math.atanh(correlation), t_quantile(confidence, math.inf)
    # The width in z units: tanh(z + h) - tanh(z - h) = w is quadratic in tanh(h).
    low, high = 0.0, 20.0
    while high - low > 1e-12:
        half = (low + high) / 2
        low, high = (low, half) if math.tanh(z + half) - math.tanh(z - half) > width else (half, high)
    if low < 1e-6:
        return math.inf
    return float(math.ceil(variance * (reach / low) ** 2 - 1e-9) + _LOST[kind])


# How much differences between systems vary: over contexts, and from rater to rater.
#
# The difference of two systems' scores on one context, each the mean of r ratings, has the variance
#
#     between + 2 rating / r
#
# where *between* is the variance of the true differences over contexts (the interaction of context and system), and
# *rating* that of single ratings of one reply around their mean. More raters reduce only the second part. A pilot's
# variance of differences contains both, so that its rating part is subtracted.


@dataclass(frozen=True, slots=True)
class Spread:
    """The variances that decide how many contexts and raters a comparison needs."""

    between: float
    """Variance of the differences between two systems over contexts, without the noise of ratings."""
    rating: float = 0.0
    """Variance of single ratings of one reply; 0 for scores of a metric."""

    def deviation(self, raters: int = 1) -> float:
        """The standard deviation of the differences per context, if each reply has this many ratings."""
        return math.sqrt(self.between + 2 * self.rating / raters)

    @property
    def icc(self) -> float:
        """The share of the variance of a single rater's differences that the raters agree on."""
        total = self.between + 2 * self.rating
        return self.between / total if total > 0 else math.nan


@dataclass(frozen=True, slots=True)
class PilotSpread:
    """What a pilot says about the spread."""

    spread: Spread
    contexts: int
    """Contexts that the variance between systems is estimated from."""
    paired: bool
    """Whether systems answered the same contexts; if not, the number of contexts is needed per system."""
    rated_twice: bool
    """Whether some replies have several ratings; if not, the noise of ratings is part of `between`."""


def spread_of_icc(deviation: float, icc: float) -> Spread:
    """The spread from the standard deviation of true differences and the intraclass correlation of single ratings.

    The two systems' true scores are taken as independent of each other, each with half the variance of the differences.
    """
    return Spread(deviation**2, deviation**2 / 2 * (1 - icc) / icc)


def pilot_spread(ratings: ArrayLike, systems: Groups, contexts: Groups) -> PilotSpread:
    """The spread in a pilot: ratings (replies, raters), NaN where not rated, with each reply's system and context.

    Where no two systems share two contexts, `between` is twice the variance of a system's scores over contexts.
    """
    matrix = np.asarray(ratings, np.float64)
    counts = (~np.isnan(matrix)).sum(axis=1)
    rated = counts > 0
    system, n_systems = group_codes(systems, len(matrix))
    context, n_contexts = group_codes(contexts, len(matrix))
    noise = _rating_variance(matrix, counts)
    cells = context[rated] * n_systems + system[rated]
    shape = (n_contexts, n_systems)
    sizes = np.bincount(cells, minlength=n_contexts * n_systems)
    sums = np.bincount(cells, weights=row_means(matrix[rated]), minlength=sizes.size)
    error = np.bincount(cells, weights=np.nan_to_num(noise) / counts[rated], minlength=sizes.size)
    known = sizes > 0
    means = np.divide(sums, sizes, out=np.full(sizes.size, np.nan), where=known).reshape(shape)
    noises = np.divide(error, sizes**2, out=np.full(sizes.size, np.nan), where=known).reshape(shape)
    found = [_paired(means[:, [a, b]], noises[:, [a, b]]) for a, b in combinations(range(n_systems), 2)]
    paired = any(degrees > 0 for _, degrees, _ in found)
    if not paired:
        found = [_alone(means[:, a], noises[:, a]) for a in range(n_systems)]
    between, used = _pooled(found, means, paired=paired)
    return PilotSpread(Spread(between, np.nan_to_num(noise).item()), used, paired, not np.isnan(noise))


def _rating_variance(matrix: Floats, counts: Ints) -> float:
    """The pooled variance of ratings around the mean of their reply; NaN where no reply has two."""
    several = counts > 1
    if not several.any():
        return math.nan
    rows = matrix[several]
    squares = float(np.nansum((rows - row_means(rows)[:, None]) ** 2))
    return squares / float((counts[several] - 1).sum())


def _paired(means: Floats, noises: Floats) -> tuple[float, int, float]:
    """The variance of the differences of two systems, its degrees of freedom, and the part of it that is noise."""
    shared = ~np.isnan(means).any(axis=1)
    if shared.sum() < 2:
        return math.nan, 0, math.nan
    differences = means[shared, 1] - means[shared, 0]
    return float(differences.var(ddof=1)), int(shared.sum()) - 1, float(noises[shared].sum(axis=1).mean())


def _alone(means: Floats, noises: Floats) -> tuple[float, int, float]:
    """Twice the variance of one system's scores over contexts, its degrees of freedom, and the part that is noise."""
    known = ~np.isnan(means)
    if known.sum() < 2:
        return math.nan, 0, math.nan
    return 2 * float(means[known].var(ddof=1)), int(known.sum()) - 1, 2 * float(noises[known].mean())


def _pooled(found: list[tuple[float, int, float]], means: Floats, *, paired: bool) -> tuple[float, int]:
    """The variance without noise over all pairs of systems, and the number of contexts that it is estimated from."""
    usable = [one for one in found if one[1] > 0]
    if not usable:
        return math.nan, 0
    variances, degrees, noises = np.array(usable).T
    answered = (~np.isnan(means)).sum(axis=1)
    contexts = int((answered >= (2 if paired else 1)).sum())
    return max(0.0, float((variances - noises) @ degrees / degrees.sum())), contexts

"""How much differences between systems vary: over contexts, and from rater to rater.

The difference of two systems' scores on one context, each the mean of r ratings, has the variance

    between + 2 rating / r

where *between* is the variance of the true differences over contexts (the interaction of context and system), and
*rating* that of single ratings of one reply around their mean. More raters reduce only the second part. A pilot's
variance of differences contains both, so that its rating part is subtracted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Floats, Ints
from rejoinder.stats.agreement.ceiling import row_means
from rejoinder.stats.resampling import Groups, group_codes


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

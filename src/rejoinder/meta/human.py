"""How well the raters agree, and what correlation that lets a metric reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from rejoinder.arrays import Ints
from rejoinder.meta.judged import JudgedSet, Ratings
from rejoinder.stats.agreement.ceiling import one_against_rest, split_half
from rejoinder.stats.agreement.item_bootstrap import alpha_interval, one_against_rest_interval, split_half_interval
from rejoinder.stats.agreement.krippendorff import krippendorff_alpha, perfect_correlation
from rejoinder.stats.formatting import interval_text
from rejoinder.stats.intervals import Interval


@dataclass(frozen=True, slots=True)
class HumanCeiling:
    """The agreement of the raters on one dimension; NaN where there are too few raters."""

    dimension: str
    raters: int
    """The largest number of ratings of one example."""
    alpha: float
    """Krippendorff's, interval scale."""
    split_half_pearson: float
    split_half_spearman: float
    """Correlation between the means of two random halves of the raters, as Liu et al. 2016 and D'Haro et al. 2019
    report it; averaged over random splits."""
    perfect: float
    """The Pearson correlation that a perfect metric would reach. The mean of k ratings is itself a sample, with the
    reliability k a / (1 + (k - 1) a), a being Krippendorff's alpha (Spearman and Brown 1910), and no correlation with
    it exceeds the root of that. Split halves would underestimate it for odd numbers of raters: the halves differ."""
    one_mean: float
    one_median: float
    one_maximum: float
    """Pearson of one rater with the mean of the others, as Tao et al. 2018 report it: mean, median and best rater, of
    those with 30 ratings or more."""
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    """95 % intervals, with contexts resampled, of `alpha`, `perfect`, `split_half_pearson` and `one_mean`."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def sentence(self) -> str:
        """The agreement in words."""
        if np.isnan(self.split_half_pearson):
            return f"{self.dimension}: one rating per example, so the agreement between raters is unknown."
        return (
            f"{self.dimension}: the two halves of the raters correlate at {self._with_bounds('split_half_pearson')} "
            f"(Pearson) and {self.split_half_spearman:.2f} (Spearman); one rater (a column of the data) with the "
            f"others at {self._with_bounds('one_mean')} (mean), {self.one_median:.2f} (median), "
            f"{self.one_maximum:.2f} (best); Krippendorff's alpha is {self._with_bounds('alpha', 3)}. "
            f"A perfect metric would reach about {self._with_bounds('perfect')} Pearson."
        )

    def _with_bounds(self, name: str, digits: int = 2) -> str:
        value = getattr(self, name)
        known = self.intervals.get(name, Interval(value, np.nan, np.nan))
        return interval_text(Interval(value, known.low, known.high), digits)


def human_ceiling(judged: JudgedSet, dimension: str, *, seed: int = 0) -> HumanCeiling:
    """The agreement of the raters of a dimension."""
    ratings = judged.ratings[dimension]
    several = (~np.isnan(ratings)).sum(axis=1) >= 2
    raters = ratings.shape[1]
    if raters < 2 or several.sum() < 3:
        nan = float("nan")
        return HumanCeiling(dimension, raters, nan, nan, nan, nan, nan, nan, nan)
    # Columns are positions in a list, not people, so each example's ratings are split on their own.
    halves = {
        kind: split_half(ratings[several], kind=kind, seed=seed, within_items=True).mean
        for kind in ("pearson", "spearman")
    }
    one = one_against_rest(ratings[several])
    alpha = krippendorff_alpha(ratings[several], level="interval")
    counts = (~np.isnan(ratings[several])).sum(axis=1)
    perfect = perfect_correlation(alpha, counts)
    return HumanCeiling(
        dimension,
        raters,
        alpha,
        halves["pearson"],
        halves["spearman"],
        perfect,
        one.mean,
        one.median,
        one.maximum,
        _intervals(ratings[several], judged.contexts[several], counts, seed),
    )


def outlier_note(rated: JudgedSet, cleaned: JudgedSet, dimension: str) -> str:
    """How many ratings were removed as outliers, and Krippendorff's alpha before and after."""
    before, after = rated.ratings[dimension], cleaned.ratings[dimension]
    counts = [int((~np.isnan(ratings)).sum()) for ratings in (before, after)]
    alphas = [_alpha(ratings) for ratings in (before, after)]
    return (
        f"{dimension}: {counts[0] - counts[1]} of {counts[0]} ratings were removed as outliers; Krippendorff's alpha "
        f"is {alphas[0]:.3f} with them and {alphas[1]:.3f} without, which is not the raters' reliability, because the "
        "ratings that remain were chosen for being alike"
    )


def _alpha(ratings: Ratings) -> float:
    """Krippendorff's alpha of the items with several ratings; NaN with fewer than three."""
    several = (~np.isnan(ratings)).sum(axis=1) >= 2
    return krippendorff_alpha(ratings[several], level="interval") if several.sum() >= 3 else float("nan")


def _intervals(ratings: Ratings, contexts: Ints, counts: Ints, seed: int) -> dict[str, Interval]:
    alpha = alpha_interval(ratings, groups=contexts, seed=seed)
    bounds = (perfect_correlation(value, counts) for value in (alpha.estimate, alpha.low, alpha.high))
    return {
        "alpha": alpha,
        "perfect": Interval(*bounds),
        "split_half_pearson": split_half_interval(ratings, contexts, seed=seed),
        "one_mean": one_against_rest_interval(ratings, contexts, seed=seed),
    }

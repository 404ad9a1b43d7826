"""How well the raters agree, and what correlation that lets a metric reach."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rejoinder.arrays import Ints
from rejoinder.meta.judged import JudgedSet
from rejoinder.stats.agreement.ceiling import one_against_rest, split_half
from rejoinder.stats.agreement.krippendorff import krippendorff_alpha


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

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def sentence(self) -> str:
        """The agreement in words."""
        if np.isnan(self.split_half_pearson):
            return f"{self.dimension}: one rating per example, so the agreement between raters is unknown."
        return (
            f"{self.dimension}: the two halves of the raters correlate at {self.split_half_pearson:.2f} (Pearson) and "
            f"{self.split_half_spearman:.2f} (Spearman); one rater (a column of the data) with the others at "
            f"{self.one_mean:.2f} (mean), {self.one_median:.2f} (median), {self.one_maximum:.2f} (best); "
            f"Krippendorff's alpha is {self.alpha:.3f}. A perfect metric would reach about {self.perfect:.2f} Pearson."
        )


def human_ceiling(judged: JudgedSet, dimension: str, *, seed: int = 0) -> HumanCeiling:
    """The agreement of the raters of a dimension."""
    ratings = judged.ratings[dimension]
    several = (~np.isnan(ratings)).sum(axis=1) >= 2
    raters = ratings.shape[1]
    if raters < 2 or several.sum() < 3:
        return HumanCeiling(dimension, raters, *[float("nan")] * 7)
    # Columns are positions in a list, not people, so each example's ratings are split on their own.
    halves = {
        kind: split_half(ratings[several], kind=kind, seed=seed, within_items=True).mean
        for kind in ("pearson", "spearman")
    }
    one = one_against_rest(ratings[several])
    alpha = krippendorff_alpha(ratings[several], level="interval")
    perfect = _perfect(alpha, (~np.isnan(ratings[several])).sum(axis=1))
    return HumanCeiling(
        dimension, raters, alpha, halves["pearson"], halves["spearman"], perfect, one.mean, one.median, one.maximum
    )


def _perfect(alpha: float, counts: Ints) -> float:
    """The root of the reliability of mean ratings, given the number of ratings of each example."""
    single, raters = max(alpha, 0.0), len(counts) / float(np.sum(1 / counts))
    return float(np.sqrt(raters * single / (1 + (raters - 1) * single)))

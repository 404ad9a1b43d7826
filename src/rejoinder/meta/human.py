"""How well people agree with people, and what that leaves for a metric to reach."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rejoinder.meta.judged import JudgedSet
from rejoinder.stats.ceiling import one_against_rest, split_half
from rejoinder.stats.krippendorff import krippendorff_alpha


@dataclass(frozen=True, slots=True)
class HumanCeiling:
    """Agreement of the raters on one dimension; NaN where there are too few raters."""

    dimension: str
    raters: int
    """The most that rated one example."""
    alpha: float
    """Krippendorff's, interval scale."""
    split_half_pearson: float
    split_half_spearman: float
    """Half of the raters against the other half, as how-not and am-fm report it; mean over random halves."""
    perfect: float
    """What a metric that knew everyone's opinion would reach: the ratings' mean is itself a sample of opinions, of
    reliability 2 r / (1 + r) with r the split half, and no correlation with it exceeds the root of that."""
    one_mean: float
    one_median: float
    one_maximum: float
    """One rater against the mean of the rest, Pearson, as ruber reports it; over raters."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def sentence(self) -> str:
        """What a person would say of it."""
        if np.isnan(self.split_half_pearson):
            return f"{self.dimension}: one rating an example, so people cannot be compared with people."
        return (
            f"{self.dimension}: half of the raters agree with the other half at {self.split_half_pearson:.2f} Pearson, "
            f"{self.split_half_spearman:.2f} Spearman; one rater (a column of the data) with the rest at "
            f"{self.one_mean:.2f} (mean), {self.one_median:.2f} (median), {self.one_maximum:.2f} (best); "
            f"Krippendorff's alpha {self.alpha:.3f}. A perfect metric would reach about {self.perfect:.2f} Pearson."
        )


def human_ceiling(judged: JudgedSet, dimension: str, *, seed: int = 0) -> HumanCeiling:
    """How the raters of a dimension agree."""
    ratings = judged.ratings[dimension]
    several = (~np.isnan(ratings)).sum(axis=1) >= 2
    raters = ratings.shape[1]
    if raters < 2 or several.sum() < 3:
        return HumanCeiling(dimension, raters, *[float("nan")] * 7)
    # Columns are places in a list, not persons: halves are drawn anew for each example.
    halves = {
        kind: split_half(ratings[several], kind=kind, seed=seed, within_items=True).mean
        for kind in ("pearson", "spearman")
    }
    one = one_against_rest(ratings[several])
    alpha = krippendorff_alpha(ratings[several], level="interval")
    between = max(halves["pearson"], 0.0)
    perfect = float(np.sqrt(2 * between / (1 + between)))
    return HumanCeiling(
        dimension, raters, alpha, halves["pearson"], halves["spearman"], perfect, one.mean, one.median, one.maximum
    )

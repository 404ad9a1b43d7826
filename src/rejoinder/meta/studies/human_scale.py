"""The human rating scale, and metric scores mapped to it so that they can be compared with ratings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.meta.study import ScoredSet
from rejoinder.types import Scores

FEWEST = 10
"""Fewest replies, scored by people and all metrics, that a study needs."""
MOST_STEPS = 10
USUAL_STEPS = 4
"""A scale from 1 to 5 has four steps."""


@dataclass(frozen=True, slots=True)
class HumanScale:
    """The lowest and the highest rating in the data, and the distance between neighbouring ratings."""

    low: float
    high: float
    step: float

    @classmethod
    def of(cls, ratings: NDArray[np.float64]) -> HumanScale:
        """The scale of the ratings.

        Ratings that are not whole numbers are means or slider positions. For those, and for scales of more than ten
        steps, a step is a quarter of the range, as on a five-point scale.
        """
        values = np.unique(ratings[~np.isnan(ratings)])
        low, high = float(values[0]), float(values[-1])
        step = float(np.diff(values).min()) if len(values) > 1 else 1.0
        whole = bool(np.array_equal(values, np.round(values)))
        if high > low and (not whole or (high - low) / step > MOST_STEPS):
            step = (high - low) / USUAL_STEPS
        return cls(low, high, step)

    @property
    def good(self) -> float:
        """Where the upper quarter of the scale begins: 4 on 1..5, as in Table 6 of Lowe et al. 2017."""
        return self.low + 0.75 * (self.high - self.low)

    @property
    def bad(self) -> float:
        """Where the lower quarter ends: 2 on 1..5."""
        return self.low + 0.25 * (self.high - self.low)

    def rounded(self, values: Scores) -> Scores:
        """The values moved to the nearest step."""
        moved: Scores = self.low + np.round((values - self.low) / self.step) * self.step
        return moved

    def __str__(self) -> str:
        return f"{self.low:g}..{self.high:g}"


def scale_of(scored: ScoredSet) -> HumanScale:
    """The scale of the set's dimension."""
    return HumanScale.of(scored.judged.ratings[scored.dimension])


def comparable(scored: ScoredSet, also: NDArray[Any] | None = None) -> ScoredSet | None:
    """The examples that people and all metrics scored and that `also` selects; None where there are too few."""
    rows = np.flatnonzero(scored.complete if also is None else scored.complete & also)
    if len(rows) < FEWEST or not scored.scores:
        return None
    part = scored.take(rows)
    return part if np.ptp(part.human) > 0 else None


def normalised(scored: ScoredSet, label: str) -> Scores:
    """The metric's scores, moved to the mean and variance of the human scores (Lowe et al. 2017, section 5.2).

    A constant metric gets the human mean. The set must be complete: see `comparable`.
    """
    scores, human = scored.oriented(label), scored.human
    spread = float(scores.std())
    factor = float(human.std()) / spread if spread > 0 else 0.0
    moved: Scores = human.mean() + (scores - scores.mean()) * factor
    return moved


def clipped(scored: ScoredSet, label: str, scale: HumanScale) -> Scores:
    """The normalised scores, clipped to the human scale."""
    return np.clip(normalised(scored, label), scale.low, scale.high)

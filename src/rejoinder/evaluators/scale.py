"""The scale of scores that resemble human ratings, 1 to 5, and the mapping of ratings to it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.errors import CallError
from rejoinder.learning.data import labels
from rejoinder.types import JudgedExample, Scores

LOWEST, HIGHEST = 1.0, 5.0
OVERFLOW = "numbers that overflow in the model"
"""Why a trained network may give no score (NaN) although the reply has all that it needs. Its weights are finite, which
is checked when it is loaded, but may be so large that its output is not."""
ROUNDING = 1e-9
"""Ratings may lie outside their scale by this much."""


def observed_scale(judged: Sequence[JudgedExample], dimension: str | None) -> tuple[float, float]:
    """The lowest and the highest rating of any rater on a dimension."""
    single = [
        JudgedExample(item.example, {name: (rating,)})
        for item in judged
        for name, ratings in item.scores.items()
        for rating in ratings
    ]
    _, human = labels(single, dimension)
    lowest, highest = float(human.min()), float(human.max())
    if lowest == highest:
        raise CallError(f"every judged example has the score {lowest:g}: expected scores that differ, or a scale")
    return lowest, highest


def on_our_scale(ratings: ArrayLike, scale: tuple[float, float]) -> Scores:
    """Ratings mapped linearly from `scale` to 1..5; CallError if one lies outside. NaN stays NaN."""
    lowest, highest = scale
    if not (math.isfinite(lowest) and math.isfinite(highest) and lowest < highest):
        raise CallError(f"the scale must be the lowest rating and a higher one, not {lowest:g} and {highest:g}")
    values = np.asarray(ratings, np.float64)
    outside = values[(values < lowest - ROUNDING) | (values > highest + ROUNDING)]
    if len(outside):
        raise CallError(f"a judged reply has the score {outside[0]:g}: expected {lowest:g} to {highest:g}, the scale")
    moved: Scores = LOWEST + (values - lowest) / (highest - lowest) * (HIGHEST - LOWEST)
    return np.clip(moved, LOWEST, HIGHEST)

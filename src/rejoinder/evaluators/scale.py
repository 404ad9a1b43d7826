"""The scale of scores that resemble human ratings, 1 to 5, and human scores mapped to it."""

from __future__ import annotations

from collections.abc import Sequence

from rejoinder.errors import CallError
from rejoinder.learning.data import labels
from rejoinder.types import JudgedExample, Scores

LOWEST, HIGHEST = 1.0, 5.0


def observed_scale(judged: Sequence[JudgedExample], dimension: str | None) -> tuple[float, float]:
    """The lowest and the highest rating of any rater, on the dimension that is learned."""
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


def on_our_scale(human: Scores, scale: tuple[float, float]) -> Scores:
    """Scores from `scale` to 1..5; CallError where one lies outside."""
    lowest, highest = scale
    outside = human[(human < lowest) | (human > highest)]
    if len(outside):
        raise CallError(f"a judged example has the score {outside[0]:g}: expected {lowest:g} to {highest:g}, the scale")
    share: Scores = LOWEST + (human - lowest) / (highest - lowest) * (HIGHEST - LOWEST)
    return share

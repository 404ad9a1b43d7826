"""What the numbers of a table of scores mean: the scale, where replies of known quality fall on it, and a caution."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from statistics import median
from typing import Any

from rejoinder.scoring.table import ScoreTable
from rejoinder.text.grid import number

EVALUATOR = "default"
"""The evaluator that comes with reference points."""
WEAK = 0.2
"""Rank correlation with people below which a score says little about a reply."""


def meaning(table: ScoreTable) -> list[str]:
    """Sentences about the scale of the scores, and about metrics that are known not to agree with people."""
    points = _provided("rejoinder.evaluators.reference_points", "reference_points")
    measured = _provided("rejoinder.scoring.advice", "agreement")
    return [*_scale(table, points), *_caution(table, measured)]


def _scale(table: ScoreTable, points: Callable[[str], Sequence[Any]]) -> Iterator[str]:
    """The scale of `default`, and the means of replies whose quality is known."""
    limits = table.limits(EVALUATOR) if EVALUATOR in table.metrics else None
    if limits is None:
        return
    known = ", ".join(f"{point.name} {number(point.mean, 2)}" for point in points(EVALUATOR))
    scale = f"{EVALUATOR} is on a scale from {limits[0]:g} to {limits[1]:g}"
    yield f"{scale}; for orientation, means on other conversations: {known}." if known else f"{scale}."


def _caution(table: ScoreTable, measured: Callable[[str], Sequence[Any]]) -> Iterator[str]:
    """Which of the metrics hardly agreed with people, where that was measured."""
    weak = []
    for label in table.metrics:
        found = [agreement.spearman[0] for agreement in measured(label) or measured(table.family_of(label))]
        if found and median(found) < WEAK:
            weak.append(label)
    if weak:
        yield (
            f"Little agreement with people on rated replies (median rank correlation below {WEAK:g}): "
            f"{', '.join(weak)}. `rejoinder meta` measures it on your own ratings."
        )


def _provided(module: str, name: str) -> Callable[[str], Sequence[Any]]:
    """The function that gives figures which come with the package; one that gives none where it has no such module."""
    if find_spec(module) is None:
        return lambda _: ()
    function: Callable[[str], Sequence[Any]] = getattr(import_module(module), name)
    return function

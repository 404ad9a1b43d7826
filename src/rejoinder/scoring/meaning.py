"""What the numbers of a table of scores mean: the scale, where replies of known quality fall on it, and a caution."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from rejoinder.evaluators.reference_points import points_of_signature
from rejoinder.scoring.advice import agreement
from rejoinder.scoring.table import ScoreTable
from rejoinder.text.grid import number

WEAK = 0.2
"""Rank correlation with people below which a score says little about a reply."""


def meaning(table: ScoreTable) -> list[str]:
    """Sentences about the scale of the scores, and about metrics that are known not to agree with people."""
    return [*_scale(table), *_caution(table)]


def _scale(table: ScoreTable) -> Iterator[str]:
    """The scale of an evaluator that has reference points, and the means of replies whose quality is known."""
    for label in table.metrics:
        points, limits = points_of_signature(table.signatures.get(label, "")), table.limits(label)
        if points and limits is not None:
            known = ", ".join(f"{point.name} {number(point.mean, 2)}" for point in points)
            scale = f"{label} is on a scale from {limits[0]:g} to {limits[1]:g}"
            yield f"{scale}; for orientation, means on other conversations: {known}."


def _caution(table: ScoreTable) -> Iterator[str]:
    """Which of the metrics hardly agreed with people, where that was measured."""
    weak = []
    for label in table.metrics:
        found = [each.spearman[0] for each in agreement(label) or agreement(table.family_of(label))]
        if found and median(found) < WEAK:
            weak.append(label)
    if weak:
        yield (
            f"Little agreement with people on rated replies (median rank correlation below {WEAK:g}): "
            f"{', '.join(weak)}. `rejoinder meta` measures it on your own ratings."
        )

"""What the numbers of a table of scores mean: the scale, where replies of known quality fall on it, and a caution."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from rejoinder.evaluators.reference_points import points_of_signature
from rejoinder.scoring.advice import agreement
from rejoinder.scoring.table import ScoreTable
from rejoinder.stats.formatting import counted, inflected
from rejoinder.text.grid import number

FEW = 10
"""Replies below which a mean says little."""
WEAK = 0.2
"""Rank correlation with people below which a score says little about a reply."""


_MISLEADING = {"generic replies"}
"""Reference points that are not shown: raters like many a stock phrase, so that a system which says nothing else may
have a higher mean than these (docs/results/default-blend.md)."""


def meaning(table: ScoreTable, *, told: str = "") -> list[str]:
    """Sentences about metrics that cannot judge these replies, the scale of the scores, too few replies, and metrics
    that are known not to agree with people; `told` is a metric whose doubts the verdict has."""
    return [*_doubts(table, told), *_scale(table), *_few(table), *_caution(table)]


def _doubts(table: ScoreTable, told: str) -> Iterator[str]:
    for label in table.metrics:
        if label != told and (doubt := table.doubt(label)):
            yield f"{doubt}: its numbers say little about them."


def _scale(table: ScoreTable) -> Iterator[str]:
    """The scale of an evaluator that has reference points, and the means of replies whose quality is known.

    They help to read the mean of one system. Beside several, what their comparison says is what counts.
    """
    for label in table.metrics if len(table.system_names) == 1 else ():
        all_points, limits = points_of_signature(table.signatures.get(label, "")), table.limits(label)
        points = [point for point in all_points if point.name not in _MISLEADING]
        if points and limits is not None and not table.doubt(label):
            known = ", ".join(f"{point.name} {number(point.mean, 2)}" for point in points)
            scale = f"{label} is on a scale from {limits[0]:g} to {limits[1]:g}"
            yield f"{scale}; for orientation, means on other conversations: {known}."


def _few(table: ScoreTable) -> Iterator[str]:
    """A caution where a system has only a handful of replies."""
    fewest = min((len(table.rows_of(system)) for system in table.system_names), default=FEW)
    if 0 < fewest < FEW:
        every = "" if len(table.system_names) == 1 else " of a system"
        replies = counted(fewest, "reply", "replies")
        verb = inflected(fewest, "is", "are")
        yield f"{replies}{every} {verb} too few for a useful mean: the intervals show how little is known."


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

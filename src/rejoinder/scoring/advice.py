"""What to know before a metric is chosen: weaknesses, what a score means, how well it agreed with people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from statistics import median

from rejoinder.scoring.table import ScoreTable
from rejoinder.show.text import counted, inflected, number_text

# What to know before a metric is chosen: its weaknesses, and how well it agreed with human ratings.
#
# The agreement is that of docs/results/evaluator-figures.md; `docs/make_agreement.py` copies it into the package.


PAGES = "https://github.com/rejoinder/rejoinder/tree/main/docs/"

QUESTIONS: dict[str, str] = {
    "Are the replies good? (contexts, no references)": "default",
    "The same, for millions of replies": "default-fast",
    "The same, closer to people, but slow": "rejoinder setup default-large",
    "Are they close to what people answered? (references)": "meteor, embedding-average",
    "Are they dull or repetitive?": "specificity, distinct-2, repetition",
    "What would my own raters say? (a few hundred ratings)": "rejoinder train blend",
    "Which of these can I trust on my data? (some ratings)": "rejoinder trust",
}
"""A question -> the metrics or the command that answer it."""


@dataclass(frozen=True, slots=True)
class MeasuredTrust:
    """How well one metric agreed with people on one set of rated replies."""

    measured: str
    """The metric with the setting that was measured."""
    judged: str
    """Name of the set."""
    dimension: str
    """What people rated."""
    replies: int
    spearman: tuple[float, float, float]
    """Spearman's correlation with the mean rating: estimate, low and high end of its 95 % interval."""


@cache
def measured_trust(name: str) -> tuple[MeasuredTrust, ...]:
    """The measured agreement of a metric with people, set by set; empty where it was not measured."""
    measured = json.loads((files("rejoinder") / "resources" / "agreement.json").read_text(encoding="utf-8"))
    return tuple(MeasuredTrust(**{**each, "spearman": tuple(each["spearman"])}) for each in measured.get(name, ()))


# What the numbers of a table of scores mean: the scale, where replies of known quality fall on it, and a caution.


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
    doubts = [table.doubt(label) for label in table.metrics if label != told]
    sentences = [f"{doubt}: its numbers say little about them." for doubt in doubts if doubt]
    if len(table.system_names) == 1:
        sentences += _scale(table)
    fewest = min((len(table.rows_of(system)) for system in table.system_names), default=FEW)
    if 0 < fewest < FEW:
        every = "" if len(table.system_names) == 1 else " of a system"
        verb = inflected(fewest, "is", "are")
        sentences.append(
            f"{counted(fewest, 'reply', 'replies')}{every} {verb} too few for a useful mean: the intervals show how "
            "little is known."
        )
    return [*sentences, *_caution(table)]


def _scale(table: ScoreTable) -> Iterator[str]:
    """The scale of an evaluator that has reference points, and the means of replies whose quality is known.

    They help to read the mean of one system. Beside several, what their comparison says is what counts.
    """
    from rejoinder.evaluators.reference_points import points_of_signature

    for label in table.metrics:
        all_points, limits = points_of_signature(table.signatures.get(label, "")), table.limits(label)
        points = [point for point in all_points if point.name not in _MISLEADING]
        if points and limits is not None and not table.doubt(label):
            known = ", ".join(f"{point.name} {number_text(point.mean, 2)}" for point in points)
            scale = f"{label} is on a scale from {limits[0]:g} to {limits[1]:g}"
            yield f"{scale}; for orientation, means on other conversations: {known}."


def _caution(table: ScoreTable) -> Iterator[str]:
    """Which of the metrics hardly agreed with people, where that was measured."""
    weak = []
    for label in table.metrics:
        found = [each.spearman[0] for each in measured_trust(label) or measured_trust(table.family_of(label))]
        if found and median(found) < WEAK:
            weak.append(label)
    if weak:
        yield (
            f"Little agreement with people on rated replies (median rank correlation below {WEAK:g}): "
            f"{', '.join(weak)}. `rejoinder trust` measures it on your own ratings."
        )

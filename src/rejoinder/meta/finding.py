"""Which metric agrees with people, in words: what `rejoinder meta` says first, in every form of its output."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rejoinder.stats.formatting import interval_text, names_text
from rejoinder.stats.multiple import ALPHA

if TYPE_CHECKING:
    from rejoinder.meta.correlations import Agreement, LevelTable
    from rejoinder.meta.meta import DimensionReport


def finding(dimension: DimensionReport) -> list[str]:
    """Which metric agrees best with people on single replies, which may be as good, and which show no agreement."""
    level = dimension.utterance
    known = [row for row in level.rows if not math.isnan(row.measured[level.kind].interval.estimate)]
    if not known:
        return [f"Every metric gives all replies the same score ({dimension.dimension})."]
    best, kind = known[0], level.kind.capitalize()
    interval = best.measured[level.kind].interval
    doubt = "" if interval.low > 0 else ", which is not significantly above zero"
    return [
        f"{best.metric} agrees best with the ratings of single replies ({dimension.dimension}): "
        f"{kind} correlation {interval_text(interval, 3, 2)}{doubt}.",
        *_rivals(level, best, [row.metric for row in known[1:]]),
        *_unrelated(level, known[1:]),
        *_people(dimension),
    ]


def _rivals(level: LevelTable, best: Agreement, others: Sequence[str]) -> Iterator[str]:
    """Which metrics are not significantly worse than the best one."""
    if not others:
        return
    worse = {
        name
        for contest in level.contests
        for name in (contest.a, contest.b)
        if best.metric in (contest.a, contest.b) and contest.p_adjusted < ALPHA
    }
    rivals = [name for name in others if name not in worse]
    if not rivals:
        yield f"It is significantly better than {'every other metric' if len(others) > 1 else others[0]}."
    elif len(rivals) == len(others) > 1:
        yield "No other metric is significantly worse."
    else:
        yield f"It is not significantly better than {names_text(rivals)}."


def _unrelated(level: LevelTable, others: Sequence[Agreement]) -> Iterator[str]:
    """Which metrics show no agreement with people, or the opposite of it."""
    intervals = {row.metric: row.measured[level.kind].interval for row in others}
    opposite = [name for name, interval in intervals.items() if interval.high < 0]
    unrelated = [name for name, interval in intervals.items() if interval.low <= 0 <= interval.high]
    if opposite:
        yield f"Worse replies get higher scores from {names_text(opposite)}."
    if unrelated:
        yield f"No significant correlation with the ratings: {names_text(unrelated)}."


def _people(dimension: DimensionReport) -> Iterator[str]:
    """How well raters agree with each other, where it is known."""
    ceiling = dimension.ceiling
    halves = ceiling.split_half_spearman if dimension.utterance.kind == "spearman" else ceiling.split_half_pearson
    if not math.isnan(halves):
        yield f"For comparison, the ratings of two halves of the raters correlate at {halves:.2f}."

"""One sentence per metric on which system has the best mean, without claiming significance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rejoinder.report.axes import middle_cut
from rejoinder.report.chosen import ranked_metrics
from rejoinder.report.markup import Html, element, escaped, joined, own_text
from rejoinder.report.numbers import decimals_for, shown, shown_interval
from rejoinder.scoring.table import ScoreTable, Summary

LONGEST_NAME = 80
NAMED = 3
"""Most systems that a sentence names; more are counted."""
CAUTION = (
    "Overlap of two intervals is not a significance test: systems that answered the same contexts should be compared "
    "context by context, and among many systems or metrics some difference is large by chance. Use "
)


def headlines(table: ScoreTable) -> dict[str, Html]:
    """Metric -> one sentence on which system leads, for metrics that say which replies are better."""
    summary = table.summary()
    sentences = {
        label: headline(
            {system_label(name): cell for name, cell in summary[label].items()},
            higher_is_better=table.higher_is_better.get(label, True),
            decimals=decimals_for(table[label]),
        )
        for label in ranked_metrics(table)
    }
    return {label: sentence for label, sentence in sentences.items() if sentence}


def headline(systems: Mapping[str, Summary], *, higher_is_better: bool = True, decimals: int = 3) -> Html:
    """One sentence on the leading system and the intervals of the others; empty with fewer than two systems."""
    scored = {name: cell for name, cell in systems.items() if not math.isnan(cell.mean)}
    if len(scored) < 2:
        return Html("")
    best = (max if higher_is_better else min)(cell.mean for cell in scored.values())
    leaders = [name for name, cell in scored.items() if cell.mean == best]
    order = "highest" if higher_is_better else "lowest"
    hint = "" if higher_is_better else ", and lower is better"
    if len(leaders) == len(scored):
        return joined(["All systems have the same mean, ", shown(best, decimals), "."])
    if len(leaders) > 1:
        return joined([listed(leaders), f" share the {order} mean, {shown(best, decimals)}{hint}."])
    leader = scored.pop(leaders[0])
    known = not math.isnan(leader.low)
    bounds = f"95 % interval {shown_interval(leader.low, leader.high, decimals)}" if known else "no interval"
    mean = f" has the {order} mean, {shown(best, decimals)} ({bounds}){hint}. "
    return joined([listed(leaders), mean, _overlaps(leader, scored)])


def caution() -> Html:
    """Why a headline is not a significance test, and which command makes one."""
    compare, meta = element("code", "rejoinder compare"), element("code", "rejoinder meta")
    test = " for a significance test, and "
    return element("p", CAUTION, compare, test, meta, " for how well a metric agrees with people.", class_="note")


def system_label(name: str) -> str:
    """The system's name, shortened in the middle if it is very long; "replies" if it is empty."""
    if not name.strip():
        return "replies"
    return name if len(name) <= LONGEST_NAME else middle_cut(name, LONGEST_NAME)


def listed(names: Sequence[str]) -> Html:
    """The names as "a, b and c"."""
    marked = [element("strong", own_text(name)) for name in names]
    if len(marked) == 1:
        return marked[0]
    return joined([joined(marked[:-1], ", "), " and ", marked[-1]])


def _overlaps(leader: Summary, others: Mapping[str, Summary]) -> Html:
    if any(math.isnan(cell.low) for cell in (leader, *others.values())):
        return escaped("Some systems have too few scored replies for an interval.")
    near = [name for name, cell in others.items() if cell.low <= leader.high and cell.high >= leader.low]
    if len(others) == 1:
        return escaped(f"The other interval {'overlaps' if near else 'does not overlap'} it.")
    if len(near) == len(others):
        return escaped("All other intervals overlap it.")
    if not near:
        return escaped("No other interval overlaps it.")
    if len(near) > NAMED:
        return escaped(f"The intervals of {len(near)} other systems overlap it.")
    one = len(near) == 1
    return joined([f"The interval{'' if one else 's'} of ", listed(near), f" overlap{'s' if one else ''} it."])

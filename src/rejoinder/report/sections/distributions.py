"""The distribution of each metric's scores: one histogram per system, on a common axis."""

from __future__ import annotations

import numpy as np

from rejoinder.figures.bins import bins_for
from rejoinder.figures.markup import Html, element, joined, own_text
from rejoinder.figures.numbers import decimals_for, shown
from rejoinder.figures.plots import drawn
from rejoinder.report.page import Section
from rejoinder.report.sections.names import system_label
from rejoinder.report.sections.summary import direction
from rejoinder.scoring.table import ScoreTable
from rejoinder.stats.formatting import counted

INTRO = (
    "There is one histogram per system. The height of a bar is its share of that system's replies, on the same scale "
    "for all systems; the triangle marks the mean."
)


def distributions_section(table: ScoreTable, primary: str) -> Section:
    """One figure per metric, the primary one first, with the number of replies that could not be scored."""
    others = [label for label in table.metrics if label != primary]
    parts = [element("div", _panel(table, primary), element("p", INTRO, class_="intro"), class_="panels")]
    if others:
        panels = element("div", *(_panel(table, label) for label in others), class_="panels")
        parts.append(element("details", element("summary", counted(len(others), "other metric")), panels))
    return Section("Distributions of scores", joined(parts), "Distributions")


def _panel(table: ScoreTable, label: str) -> Html:
    column = table[label]
    heading = element("h3", own_text(label), " ", element("small", direction(table, label)))
    figure = drawn(table.histogram_panel(label))
    caption = element("figcaption", " ".join(filter(None, [missing(table, label), _beyond(column, label, table)])))
    return element("article", heading, element("figure", figure, caption), class_="panel")


def missing(table: ScoreTable, label: str) -> str:
    """A sentence on how many replies of which system the metric could not score."""
    counts = {system_label(name): int(np.isnan(table[label][table.rows_of(name)]).sum()) for name in table.system_names}
    total = sum(counts.values())
    if not total:
        return "All replies were scored."
    by_system = ", ".join(f"{name} {count:,}" for name, count in counts.items() if count)
    return f"{counted(total, 'reply', 'replies')} could not be scored: {by_system}."


def _beyond(column: np.ndarray, label: str, table: ScoreTable) -> str:
    bins = bins_for(column)
    if not bins.beyond:
        return ""
    edge = shown(float(bins.edges[-1]), decimals_for(table[label]))
    return f"The last bar includes {counted(bins.beyond, 'reply', 'replies')} above {edge}."

"""Means with their intervals: a figure and a table per metric."""

from __future__ import annotations

import math

from rejoinder.figures.markup import Html, element, joined, own_text
from rejoinder.figures.numbers import decimals_for, shown, shown_interval
from rejoinder.figures.plots import interval_plot
from rejoinder.report.chosen import ranked_metrics
from rejoinder.report.page import Section
from rejoinder.report.sections.names import system_badge, system_label
from rejoinder.report.tables import html_table
from rejoinder.scoring.table import ScoreTable, Summary
from rejoinder.stats.intervals import Interval
from rejoinder.stats.resampling import LARGE


def summary_section(table: ScoreTable) -> Section:
    """Means, spreads and intervals of every system by every metric."""
    cards = element("div", *(_card(table, label) for label in table.metrics), class_="panels")
    body = joined([element("p", _method(table), class_="intro"), cards])
    return Section("Means by metric", body, "Means", folded=True)


def direction(table: ScoreTable, label: str) -> str:
    """Whether higher or lower scores of the metric are better."""
    if label not in ranked_metrics(table):
        return "neither higher nor lower is better"
    return "higher is better" if table.higher_is_better.get(label, True) else "lower is better"


def _method(table: ScoreTable) -> str:
    method = f"95 % intervals, by bootstrap over replies ({table.resamples:,} resamples, seed {table.seed})"
    sizes = [len(table.rows_of(system)) for system in table.system_names]
    if any(size >= LARGE for size in sizes):
        method += f"; by the normal approximation for systems with {LARGE:,} replies or more"
    return f"{method}. Replies that a metric could not score are left out of its mean."


def _card(table: ScoreTable, label: str) -> Html:
    cells = table.summary()[label]
    decimals = decimals_for(table[label])
    intervals = [(system_label(name), Interval(cell.mean, cell.low, cell.high)) for name, cell in cells.items()]
    heading = element("h3", own_text(label), " ", element("small", direction(table, label)))
    figure = interval_plot(intervals, label=f"Mean {label} of each system with its interval", decimals=decimals)
    return element("article", heading, figure, _numbers(table, label, decimals), class_="panel")


def _numbers(table: ScoreTable, label: str, decimals: int) -> Html:
    cells = table.summary()[label]
    with_corpus = any(_differs(cell) for cell in cells.values())
    header = [
        "system",
        "mean",
        "95 % interval",
        element("abbr", "sd", title="standard deviation of the scores"),
        *(["corpus"] if with_corpus else []),
        "scored",
    ]
    rows = []
    for number, (name, cell) in enumerate(cells.items()):
        corpus = [shown(cell.corpus, decimals)] if with_corpus else []
        interval = shown_interval(cell.low, cell.high, decimals)
        numbers = [shown(cell.mean, decimals), interval, shown(cell.std, decimals), *corpus, f"{cell.n:,}"]
        rows.append([system_badge(number, name), *numbers])
    return html_table(header, rows, caption=f"{label}: mean, interval, standard deviation", class_="compact")


def _differs(cell: Summary) -> bool:
    """Whether the metric's own corpus-level score differs from the mean."""
    return not math.isclose(cell.corpus, cell.mean, rel_tol=1e-9, abs_tol=1e-12) and not math.isnan(cell.corpus)

"""The report of metrics against people over several judged sets, as one HTML file."""

from __future__ import annotations

import math

from rejoinder.figures.markup import Html, element, joined, own_text
from rejoinder.figures.numbers import UNKNOWN, shown
from rejoinder.meta.meta_analysis import MetaAnalysis
from rejoinder.meta.study import shown as shown_cell
from rejoinder.report.page import Section, render_page
from rejoinder.report.panels import panel_grid
from rejoinder.report.sections.agreement import spaced
from rejoinder.report.sections.signatures import notes_hint, run_facts, signatures_section
from rejoinder.report.sections.verdict import answer
from rejoinder.report.tables import html_table
from rejoinder.stats.formatting import share_text

INTRO = (
    "Each line of a forest plot is a judged set: the metric's correlation with people over single replies, with its "
    "95 % interval over contexts. Below them are the mean of all sets (random effects, REML, interval of Hartung and "
    "Knapp) and the interval in which the correlation of a new set is expected."
)


def render_meta_analysis(analysis: MetaAnalysis) -> str:
    """The whole HTML file."""
    first = next(iter(analysis.reports.values()))
    counts = [
        (len(analysis.reports), "judged set", "judged sets"),
        (sum(len(report.judged) for report in analysis.reports.values()), "reply", "replies"),
        (len(analysis.rows), "metric", "metrics"),
    ]
    lead = joined(
        [
            answer([analysis.verdict()]),
            run_facts(counts, first.seed),
            notes_hint(analysis.notes),
        ]
    )
    signatures = {label: text for report in analysis.reports.values() for label, text in report.signatures.items()}
    sections = [
        _pooled_section(analysis),
        _forest_section(analysis),
        signatures_section(signatures, analysis.notes, seed=first.seed, resamples=first.resamples),
    ]
    title = f"Metrics against people: {len(analysis.reports)} judged sets"
    return render_page(title, sections, question="Which metric agrees with the ratings?", lead=lead)


def _pooled_section(analysis: MetaAnalysis) -> Section:
    names = list(analysis.reports)
    rows = [
        [
            own_text(row.metric),
            shown_cell(row.pooled.mean),
            UNKNOWN if math.isnan(row.pooled.prediction.low) else shown_cell(row.pooled.prediction),
            shown(row.pooled.tau),
            share_text(row.pooled.i_squared),
            *(shown(row.sets[name].estimate) if name in row.sets else UNKNOWN for name in names),
        ]
        for row in analysis.rows
    ]
    header: list[Html | str] = ["metric", "mean", "a new set", "tau", "I²", *map(own_text, names)]
    kind = analysis.kind.capitalize()
    table = html_table(header, rows, caption=f"{kind} correlation with people, all sets", class_="glance")
    intro = element("p", f"{kind} correlation with people over single replies, pooled over sets.", class_="intro")
    return Section("All sets", joined([intro, spaced(table)]))


def _forest_section(analysis: MetaAnalysis) -> Section:
    panels = [row.panel() for row in analysis.rows]
    return Section("Forest plots", joined([element("p", INTRO, class_="intro"), panel_grid(panels)]), "Forest")

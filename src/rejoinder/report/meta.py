"""The report of how well metrics agree with people, as one HTML file.

The same report gives the same file, byte for byte: it contains no time stamp or host name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rejoinder.figures.markup import Html, element, joined, own_text
from rejoinder.meta.meta import DimensionReport, MetaReport
from rejoinder.meta.study import Cell, StudyResult
from rejoinder.meta.study import shown as shown_cell
from rejoinder.report.page import Section, render_page
from rejoinder.report.panels import panel_grid
from rejoinder.report.sections.agreement import (
    agreement_figure,
    ceiling_section,
    contests_section,
    level_section,
    spaced,
    within_section,
)
from rejoinder.report.sections.names import system_label
from rejoinder.report.sections.signatures import notes_hint, run_facts, signatures_section
from rejoinder.report.sections.verdict import answer
from rejoinder.report.tables import html_table

WRAPPED = "overflow-wrap: anywhere"
BESIDE = 2
"""Up to this many figures the findings are placed next to them, otherwise above them."""
PAPER = re.compile(r"[^:]*\b(19|20)\d\d\b[^:]*")
"""A source that is one or more papers, which are cited by authors and year: "Lowe et al. 2017, Table 5"."""


def render_meta(report: MetaReport) -> str:
    """The whole HTML file."""
    signatures = signatures_section(report.signatures, report.notes, seed=report.seed, resamples=report.resamples)
    sections = [*_dimension_sections(report.dimensions), signatures]
    title = f"Metrics against people: {Path(report.judged.name).name}"
    return render_page(title, sections, question="Which metric agrees with the ratings?", lead=_lead(report))


def render_studies(title: str, studies: Sequence[StudyResult], *, seed: int = 0) -> str:
    """One HTML file of studies, such as those of `rejoinder.meta.experiments`; a single study is not folded."""
    return render_page(title, [study_section(study, seed=seed, folded=len(studies) > 1) for study in studies])


def _dimension_sections(dimensions: Sequence[DimensionReport]) -> list[Section]:
    """One section per part; where several dimensions were judged, one section per dimension, with all its parts."""
    if len(dimensions) == 1:
        return _parts(dimensions[0])
    return [
        Section(
            system_label(dimension.dimension),
            joined(piece for part in _parts(dimension) for piece in (element("h3", part.title), part.html_body)),
        )
        for dimension in dimensions
    ]


def _parts(dimension: DimensionReport) -> list[Section]:
    levels = [dimension.utterance, *([dimension.system] if dimension.system else [])]
    scatter = [study for study in dimension.studies if study.name == "scatter"]
    others = [study for study in dimension.studies if study.name != "scatter"]
    return [
        *(level_section(level, dimension.ceiling, dimension.scored) for level in levels),
        *(study_section(study, seed=dimension.scored.seed) for study in [*scatter, *others]),
        *([within_section(dimension.within)] if dimension.within else []),
        *([contests_section(levels)] if len(dimension.scored.scores) > 1 else []),
        ceiling_section(dimension.ceiling),
    ]


def study_section(study: StudyResult, *, seed: int = 0, folded: bool = True) -> Section:
    """A study: its source, findings, figures and table."""
    findings = element("ul", *(element("li", finding, dir="auto") for finding in study.findings), style=WRAPPED)
    few = len(study.panels) <= BESIDE
    body = [
        element("p", _source_text(study.source), class_="intro"),
        Html("") if few else findings,
        panel_grid(study.panels, seed=seed, beside=findings if few else None),
        spaced(_study_table(study)),
    ]
    return Section(study.title, joined(body), study.name.replace("-", " ").capitalize(), folded=folded)


def _source_text(source: str) -> str:
    """What a study follows, as a sentence: "As in" is for papers only."""
    return f"As in {source}." if PAPER.fullmatch(source) else f"{source[:1].upper()}{source[1:]}."


def _study_table(study: StudyResult) -> Html:
    texts = [all(isinstance(row[place], str) for row in study.rows) for place in range(len(study.header))]
    left = max(1, texts.index(False) if False in texts else len(texts))
    rows = [list(map(_cell, row)) for row in study.rows]
    return html_table(study.header, rows, caption=study.title, left=left, class_="glance")


def _cell(cell: Cell) -> Html | str:
    if isinstance(cell, str):
        return own_text(cell)
    return f"{cell:,}" if isinstance(cell, int) else shown_cell(cell)


def _lead(report: MetaReport) -> Html:
    counts = [
        (len(report.judged), "reply", "replies"),
        (len(np.unique(report.judged.contexts)), "context", "contexts"),
        (len(np.unique(report.judged.systems)), "system", "systems"),
        (len(report.signatures), "metric", "metrics"),
    ]
    figure = agreement_figure(report.dimensions[0].utterance)
    return joined([answer(report.headline(), figure), run_facts(counts, report.seed), notes_hint(report.notes)])

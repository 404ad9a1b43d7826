"""meta.html: how far metrics agree with people, in one file to be opened anywhere.

The same report gives the same file, byte for byte: there is no time or host in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rejoinder._version import __version__
from rejoinder.meta.correlations import Agreement, LevelTable
from rejoinder.meta.meta import DimensionReport, MetaReport
from rejoinder.meta.study import Cell, StudyResult
from rejoinder.meta.study import shown as shown_cell
from rejoinder.report.agreement import (
    SIGNIFICANT,
    apart,
    ceiling_section,
    contests_section,
    level_section,
    shown_p,
    within_section,
)
from rejoinder.report.headlines import listed, system_label
from rejoinder.report.markup import Html, element, joined, own_text
from rejoinder.report.numbers import counted
from rejoinder.report.page import Section, render_page
from rejoinder.report.panels import panel_grid
from rejoinder.report.signatures import INTRO as SIGNATURES_INTRO
from rejoinder.report.tables import html_table

WRAPPED = "overflow-wrap: anywhere"
BESIDE = 2
"""Figures up to which the findings stand beside them; above more they stand over them."""


def render_meta(report: MetaReport) -> str:
    """The whole HTML file."""
    sections = [*_dimension_sections(report.dimensions), _signatures(report)]
    return render_page(f"Metrics against people: {Path(report.judged.name).name}", sections, lead=_lead(report))


def render_studies(title: str, studies: Sequence[StudyResult], *, seed: int = 0) -> str:
    """One HTML file of studies alone, such as those of evaluators that learn."""
    return render_page(title, [study_section(study, seed=seed) for study in studies])


def _dimension_sections(dimensions: Sequence[DimensionReport]) -> list[Section]:
    """A section a part; where several dimensions were judged, a section a dimension that holds its parts."""
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
    return [
        ceiling_section(dimension.ceiling),
        *(level_section(level, dimension.ceiling, dimension.scored) for level in levels),
        *([within_section(dimension.within)] if dimension.within else []),
        *([contests_section(levels)] if len(dimension.scored.scores) > 1 else []),
        *(study_section(study, seed=dimension.scored.seed) for study in dimension.studies),
    ]


def study_section(study: StudyResult, *, seed: int = 0) -> Section:
    """A study: where it comes from, what it finds, its figures and its table."""
    findings = element("ul", *(element("li", finding, dir="auto") for finding in study.findings), style=WRAPPED)
    few = len(study.panels) <= BESIDE
    body = [
        element("p", f"As in {study.source}.", class_="intro"),
        Html("") if few else findings,
        panel_grid(study.panels, seed=seed, beside=findings if few else None),
        apart(_study_table(study)),
    ]
    return Section(study.title, joined(body), study.name.replace("-", " ").capitalize())


def _study_table(study: StudyResult) -> Html:
    texts = [all(isinstance(row[place], str) for row in study.rows) for place in range(len(study.header))]
    left = max(1, texts.index(False) if False in texts else len(texts))
    rows = [[_cell(name, cell) for name, cell in zip(study.header, row, strict=True)] for row in study.rows]
    return html_table(study.header, rows, caption=study.title, left=left, class_="glance")


def _cell(column: str, cell: Cell) -> Html | str:
    if isinstance(cell, str):
        return own_text(cell)
    if isinstance(cell, float) and (column == "p" or column.startswith("p of ")):
        return shown_p(cell)
    return f"{cell:,}" if isinstance(cell, int) else shown_cell(cell)


def _lead(report: MetaReport) -> Html:
    metrics = len(report.signatures)
    contexts, systems = len(np.unique(report.judged.contexts)), len(np.unique(report.judged.systems))
    facts = [
        (f"{len(report.judged):,}", "reply" if len(report.judged) == 1 else "replies"),
        (f"{contexts:,}", "context" if contexts == 1 else "contexts"),
        (f"{systems:,}", "system" if systems == 1 else "systems"),
        (f"{metrics:,}", "metric" if metrics == 1 else "metrics"),
        (f"{report.seed}", "seed"),
        (__version__, "rejoinder"),
    ]
    entries = [element("div", element("dt", name), element("dd", value)) for value, name in facts]
    headlines = [
        element("div", element("dt", own_text(dimension.dimension)), element("dd", headline(dimension)))
        for dimension in report.dimensions
    ]
    parts = [element("dl", *entries, class_="facts"), element("dl", *headlines, class_="headlines")]
    if report.notes:
        parts.append(element("p", f"{counted(len(report.notes), 'note')} at the end of this report.", class_="note"))
    return joined(parts)


def headline(dimension: DimensionReport) -> Html:
    """Which metric agrees best with people over single replies, which others may be as good, and what people reach."""
    level = dimension.utterance
    known = [row for row in level.rows if not math.isnan(row.measured[level.kind].interval.estimate)]
    if not known:
        return joined(["No metric tells the replies apart. ", dimension.ceiling.sentence()])
    best, kind = known[0], level.kind.capitalize()
    interval = best.measured[level.kind].interval
    doubt = "" if interval.low > 0 else " That is not clearly more than nothing."
    ceiling = (
        dimension.ceiling.split_half_spearman if level.kind == "spearman" else dimension.ceiling.split_half_pearson
    )
    people = "" if math.isnan(ceiling) else f" Half of the raters agree with the other half at {ceiling:.2f}."
    return joined(
        [
            listed([best.metric]),
            f" agrees best with people over single replies: {kind} {shown_cell(interval)}.{doubt} ",
            _rivals(level, best, [row.metric for row in known[1:]]),
            people,
        ]
    )


def _rivals(level: LevelTable, best: Agreement, others: Sequence[str]) -> Html:
    """Which metrics the best one cannot be told from."""
    if not others:
        return Html("")
    worse = {
        name
        for contest in level.contests
        for name in (contest.a, contest.b)
        if best.metric in (contest.a, contest.b) and contest.p_adjusted < SIGNIFICANT
    }
    rivals = [name for name in others if name not in worse]
    if not rivals:
        return joined(["It is significantly better than every other."])
    if len(rivals) == len(others) > 1:
        return joined(["No other is significantly worse."])
    return joined(["It cannot be told from ", listed(rivals), "."])


def _signatures(report: MetaReport) -> Section:
    rows = [[own_text(label), element("code", signature)] for label, signature in report.signatures.items()]
    run = f"Made with rejoinder {__version__}, seed {report.seed}, {report.resamples:,} resamples."
    notes = element("p", "There were no warnings.")
    if report.notes:
        entries = [element("li", note, dir="auto") for note in report.notes]
        notes = joined([element("h3", "Notes"), element("ul", *entries, class_="notes")])
    table = html_table(["metric", "signature"], rows, caption="Signatures", left=2, class_="signatures")
    body = [element("p", SIGNATURES_INTRO, class_="intro"), table, element("p", run), notes]
    return Section("Signatures and notes", joined(body), "Signatures")

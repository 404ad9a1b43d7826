"""The HTML reports of both."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rejoinder.comparing.page import answer, notes_hint, run_facts, signatures_section
from rejoinder.show.html import (
    TERMS,
    Section,
    fact_list,
    figure_card,
    html_table,
    panel_grid,
    render_page,
    spaced,
    system_label,
    term,
)
from rejoinder.show.markup import UNKNOWN, Html, element, joined, own_text, shown
from rejoinder.show.plots import drawn, interval_plot
from rejoinder.show.text import counted, p_text, share_text, signed
from rejoinder.stats.correlation import KINDS
from rejoinder.stats.resampling import ALPHA
from rejoinder.trusting.correlations import HumanCeiling, LevelTable, WithinContext
from rejoinder.trusting.pooled import MetaAnalysis
from rejoinder.trusting.study import Cell, ScoredSet, StudyResult
from rejoinder.trusting.study import shown as shown_cell
from rejoinder.trusting.trust import DimensionReport, MetaReport

# The report of how well metrics agree with people, as one HTML file.
#
# The same report gives the same file, byte for byte: it contains no time stamp or host name.


WRAPPED = "overflow-wrap: anywhere"
BESIDE = 2
"""Up to this many figures the findings are placed next to them, otherwise above them."""
PAPER = re.compile(r"[^:]*\b(19|20)\d\d\b[^:]*")
"""A source that is one or more papers, which are cited by authors and year: "Lowe et al. 2017, Table 5"."""


def render_trust(found: MetaReport | MetaAnalysis) -> str:
    """The whole HTML file, of one judged set or of several."""
    return render_meta(found) if isinstance(found, MetaReport) else render_meta_analysis(found)


def render_meta(report: MetaReport) -> str:
    """The whole HTML file."""
    signatures = signatures_section(report.signatures, report.notes, seed=report.seed, resamples=report.resamples)
    sections = [*_dimension_sections(report.dimensions), signatures]
    title = f"Metrics against people: {Path(report.judged.name).name}"
    return render_page(title, sections, question="Which metric agrees with the ratings?", lead=_lead(report))


def render_studies(title: str, studies: Sequence[StudyResult], *, seed: int = 0) -> str:
    """One HTML file of studies, such as those of `trust/cross_validation`; a single study is not folded."""
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


# The report of metrics against people over several judged sets, as one HTML file.


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


# How well metrics agree with people: on single replies, on systems, within contexts, and metric against metric.


LEVELS = {"utterance": ("Single replies", "Replies"), "system": ("Systems", "Systems")}
"""Level -> the section's title and short title."""


def ceiling_section(ceiling: HumanCeiling) -> Section:
    """How well the raters agree with each other."""
    if math.isnan(ceiling.split_half_pearson):
        return Section("Agreement between raters", element("p", ceiling.sentence()), "Raters", folded=True)
    intro = (
        "Human ratings are uncertain themselves: where raters disagree with each other, no metric can agree with all "
        f"of them. Up to {counted(ceiling.raters, 'rater')} rated a reply."
    )
    facts = [
        ("split half, Pearson", ceiling.split_half_pearson),
        ("split half, Spearman", ceiling.split_half_spearman),
        ("one rater against the others, Pearson", ceiling.one_mean),
        ("the median rater", ceiling.one_median),
        ("the best rater", ceiling.one_maximum),
        ("Krippendorff's alpha", ceiling.alpha),
    ]
    body = [element("p", intro, class_="intro"), fact_list((name, shown(value)) for name, value in facts)]
    return Section("Agreement between raters", joined(body), "Raters", folded=True)


def agreement_figure(level: LevelTable) -> Html:
    """The correlation of each metric with people over single replies, for the top of the page."""
    caption = element(
        "figcaption",
        "With 95 % intervals. 1: the metric ranks replies as people do; 0: its ranking has nothing to do with theirs.",
    )
    title = f"{level.kind.capitalize()} correlation with the ratings"
    return element("figure", element("h2", title), _plot(level, level.kind), caption, class_="panel")


def level_section(level: LevelTable, ceiling: HumanCeiling, scored: ScoredSet) -> Section:
    """Correlations with people at one level: a table, and folded away one plot per coefficient."""
    title, short = LEVELS.get(level.level, (level.level.capitalize(), ""))
    kinds = [level.kind, *(kind for kind in KINDS if kind != level.kind)]
    cards = [
        figure_card(kind.capitalize(), _plot(level, kind), _ceiling_caption(level, ceiling, kind)) for kind in kinds
    ]
    figures = element("div", *cards, class_="panels")
    body = [
        _level_table(level),
        element("details", element("summary", "Figures and method"), figures, _method_note(level, scored)),
    ]
    return Section(title, joined(body), short)


def _method_note(level: LevelTable, scored: ScoredSet) -> Html:
    return element("p", _level_method(level, scored), class_="note")


def _plot(level: LevelTable, kind: str) -> Html:
    return drawn(level.panel(kind))


def _ceiling_caption(level: LevelTable, ceiling: HumanCeiling, kind: str) -> str:
    of_kind = {"pearson": ceiling.split_half_pearson, "spearman": ceiling.split_half_spearman}
    found = of_kind.get(kind, math.nan)
    if level.level != "utterance" or math.isnan(found):
        return ""
    return f"The two halves of the raters correlate at {shown(found, 2)}."


def _level_method(level: LevelTable, scored: ScoredSet) -> str:
    n = level.rows[0].n if level.rows else 0
    fixed = ", with the systems fixed" if level.level == "system" else ""
    return (
        f"Correlation with people over {n:,} {level.unit}, ranked by {level.kind.capitalize()}. The 95 % intervals "
        f"resample contexts{fixed} ({scored.resamples:,} resamples, seed {scored.seed}). A new cluster begins where a "
        f"metric is significantly worse than one of the cluster before (permutation test, Holm-corrected, {ALPHA:g})."
    )


def _level_table(level: LevelTable) -> Html:
    rows = [
        [
            own_text(row.metric),
            *(shown_cell(row.measured[kind].interval) for kind in KINDS),
            p_text(row.measured[level.kind].p_value),
            *([shown(row.pairs.accuracy), shown(row.pairs.soft_accuracy)] if row.pairs else []),
            f"{row.coverage:.0%}",
            str(row.cluster) if row.cluster else UNKNOWN,
        ]
        for row in level.rows
    ]
    pairs = ["pairwise accuracy", "soft pairwise accuracy"] if any(row.pairs for row in level.rows) else []
    kinds = [kind.capitalize() for kind in KINDS]
    names = ["metric", *kinds, f"p of {level.kind.capitalize()}", *pairs, "scored", "cluster"]
    header = [term(name) if name in TERMS else name for name in names]
    caption = f"Correlations with people, {level.level} level"
    return spaced(html_table(header, rows, caption=caption, class_="glance", stacked=names))


def within_section(rows: Sequence[WithinContext]) -> Section:
    """How often metrics order two replies to one context as people do."""
    first = rows[0].agreement
    intro = (
        f"Which of two replies to the same context is better? {counted(first.n_pairs, 'pair')} of replies to "
        f"{counted(first.n_contexts, 'context')}; a pair is correct if metric and people give the same order, or both "
        "a tie. Calibrated: scores closer than an epsilon count as a tie; epsilon is fitted on one half of the "
        "contexts, and the accuracy is measured on the other half."
    )
    cells = [
        [
            own_text(row.metric),
            shown_cell(row.agreement.accuracy),
            shown_cell(row.calibrated),
            shown(row.agreement.tau_eq),
            shown(row.agreement.tau_b),
        ]
        for row in rows
    ]
    header = ["metric", "accuracy", "calibrated", "tau of accuracy", "tau-b"]
    plots = [
        ("Accuracy", [(row.metric, row.agreement.accuracy) for row in rows]),
        ("Accuracy with ties calibrated", [(row.metric, row.calibrated) for row in rows]),
    ]
    cards = [figure_card(title, interval_plot(plotted, label=f"{title} within contexts")) for title, plotted in plots]
    table = html_table(header, cells, caption="Accuracy within contexts", class_="glance")
    body = [element("p", intro, class_="intro"), element("div", *cards, class_="panels"), spaced(table)]
    return Section("Within contexts", joined(body), "Contexts", folded=True)


def contests_section(levels: Sequence[LevelTable]) -> Section:
    """Comparisons of all pairs of metrics, at each level."""
    intro = (
        "Each number is the correlation with people of the row's metric minus that of the column's. "
        f"Significant differences are marked * (permutation test, Holm-corrected, {ALPHA:g})."
    )
    parts = [part for level in levels for part in _level_contests(level)]
    return Section(
        "Metric against metric", joined([element("p", intro, class_="intro"), *parts]), "Contests", folded=True
    )


def _level_contests(level: LevelTable) -> list[Html]:
    significant = sum(contest.p_adjusted < ALPHA for contest in level.contests)
    title = LEVELS.get(level.level, (level.level, ""))[0]
    total = f"{significant:,} of {counted(len(level.contests), 'comparison')} by {level.kind.capitalize()}"
    return [
        element("h3", title, " ", element("small", f"{total} {'is' if significant == 1 else 'are'} significant")),
        _matrix(level),
        spaced(element("details", element("summary", "All comparisons with their tests"), _contest_table(level))),
    ]


def _matrix(level: LevelTable) -> Html:
    leads: dict[tuple[str, str], tuple[float, bool]] = {}
    for contest in level.contests:
        significant = contest.p_adjusted < ALPHA
        leads[contest.b, contest.a] = (contest.difference.estimate, significant)
        leads[contest.a, contest.b] = (-contest.difference.estimate, significant)
    labels = [row.metric for row in level.rows]
    rows = [[own_text(row), *(_lead_cell(leads.get((row, column))) for column in labels)] for row in labels]
    caption = f"Differences between the metrics' correlations, {level.level} level"
    return html_table(["metric", *map(own_text, labels)], rows, caption=caption, class_="glance")


def _lead_cell(lead: tuple[float, bool] | None) -> object:
    if lead is None:
        return ""
    difference, significant = lead
    text = signed(difference, 2)
    return element("strong", f"{text}*", class_="best") if significant else text


def _contest_table(level: LevelTable) -> Html:
    rows = [
        [
            own_text(contest.a),
            own_text(contest.b),
            shown_cell(contest.difference),
            p_text(contest.p_permutation),
            p_text(contest.p_adjusted),
            p_text(contest.p_williams),
        ]
        for contest in sorted(level.contests, key=lambda contest: (math.isnan(contest.p_adjusted), contest.p_adjusted))
    ]
    header = ["A", "B", "B - A", "p (permutation)", "p (Holm)", "p (Williams)"]
    return html_table(header, rows, caption=f"All comparisons, {level.level} level", left=2)

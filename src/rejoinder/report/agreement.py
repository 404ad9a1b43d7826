"""How metrics agree with people: the ceiling, single replies, systems, within contexts, metric against metric."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rejoinder.meta.correlations import KINDS, LevelTable, WithinContext
from rejoinder.meta.human import HumanCeiling
from rejoinder.meta.study import ScoredSet
from rejoinder.meta.study import shown as shown_cell
from rejoinder.report.figures import interval_plot
from rejoinder.report.markup import Html, element, joined, own_text
from rejoinder.report.numbers import UNKNOWN, counted, shown
from rejoinder.report.page import Section
from rejoinder.report.panels import figure_card
from rejoinder.report.tables import html_table

SIGNIFICANT = 0.05
LEVELS = {"utterance": ("Single replies", "Replies"), "system": ("Systems", "Systems")}
"""Level -> its section's title, and the short one."""


def ceiling_section(ceiling: HumanCeiling) -> Section:
    """How well people agree with people."""
    if math.isnan(ceiling.split_half_pearson):
        return Section("People against people", element("p", ceiling.sentence()), "People")
    intro = (
        "What metrics are measured by is itself uncertain: where people disagree with each other, no metric can agree "
        f"with all of them. Up to {counted(ceiling.raters, 'rater')} rated a reply."
    )
    facts = [
        (ceiling.split_half_pearson, "half of the raters against half, Pearson"),
        (ceiling.split_half_spearman, "the same, Spearman"),
        (ceiling.one_mean, "one rater against the rest, Pearson"),
        (ceiling.one_median, "the median rater"),
        (ceiling.one_maximum, "the best rater"),
        (ceiling.alpha, "Krippendorff's alpha"),
    ]
    entries = [element("div", element("dt", name), element("dd", shown(value))) for value, name in facts]
    body = [element("p", intro, class_="intro"), element("dl", *entries, class_="facts")]
    return Section("People against people", joined(body), "People")


def level_section(level: LevelTable, ceiling: HumanCeiling, scored: ScoredSet) -> Section:
    """Correlations with people at one level: a plot a coefficient, and a table."""
    title, short = LEVELS.get(level.level, (level.level.capitalize(), ""))
    kinds = [level.kind, *(kind for kind in KINDS if kind != level.kind)]
    cards = [
        figure_card(kind.capitalize(), _plot(level, kind), _ceiling_caption(level, ceiling, kind)) for kind in kinds
    ]
    body = [
        element("p", _level_method(level, scored), class_="intro"),
        element("div", *cards, class_="panels"),
        _level_table(level),
    ]
    return Section(title, joined(body), short)


def _plot(level: LevelTable, kind: str) -> Html:
    rows = [(row.metric, row.measured[kind].interval) for row in level.rows]
    return interval_plot(rows, label=f"{kind.capitalize()} correlation of each metric with people, {level.level} level")


def _ceiling_caption(level: LevelTable, ceiling: HumanCeiling, kind: str) -> str:
    of_kind = {"pearson": ceiling.split_half_pearson, "spearman": ceiling.split_half_spearman}
    found = of_kind.get(kind, math.nan)
    if level.level != "utterance" or math.isnan(found):
        return ""
    return f"Half of the raters agree with the other half at {shown(found, 2)}."


def _level_method(level: LevelTable, scored: ScoredSet) -> str:
    n = level.rows[0].n if level.rows else 0
    kept = " and keep the systems" if level.level == "system" else ""
    return (
        f"Correlation with people over {n:,} {level.unit}, ranked by {level.kind.capitalize()}. Intervals are of 95 %: "
        f"they resample contexts{kept} ({scored.resamples:,} resamples, seed {scored.seed}). A new cluster begins "
        f"where a metric is significantly worse than one of the cluster before "
        f"(permutation test, Holm-corrected, {SIGNIFICANT:g})."
    )


def _level_table(level: LevelTable) -> Html:
    rows = [
        [
            own_text(row.metric),
            *(shown_cell(row.measured[kind].interval) for kind in KINDS),
            shown_p(row.measured[level.kind].p_value),
            f"{row.coverage:.0%}",
            str(row.cluster) if row.cluster else UNKNOWN,
        ]
        for row in level.rows
    ]
    header = ["metric", *(kind.capitalize() for kind in KINDS), f"p of {level.kind.capitalize()}", "scored", "cluster"]
    return apart(html_table(header, rows, caption=f"Correlations with people, {level.level} level", class_="glance"))


def within_section(rows: Sequence[WithinContext]) -> Section:
    """How often metrics order two replies to one context as people do."""
    first = rows[0].agreement
    intro = (
        f"Of two replies to the same context, which is the better one? {counted(first.n_pairs, 'pair')} of "
        f"{counted(first.n_contexts, 'context')}; a pair counts as right where metric and people give the same order, "
        "or both a tie. Calibrated: scores closer than an epsilon are a tie; it is fitted on one half of the contexts, "
        "and the accuracy is that of the other half."
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
    body = [element("p", intro, class_="intro"), element("div", *cards, class_="panels"), apart(table)]
    return Section("Within contexts", joined(body), "Contexts")


def contests_section(levels: Sequence[LevelTable]) -> Section:
    """Every metric against every other, at each level."""
    intro = (
        "Each number is by how much the correlation of the row's metric with people exceeds that of the column's. "
        f"Marked * where that is significant: permutation test, Holm-corrected, {SIGNIFICANT:g}."
    )
    parts = [part for level in levels for part in _level_contests(level)]
    return Section("Metric against metric", joined([element("p", intro, class_="intro"), *parts]), "Contests")


def _level_contests(level: LevelTable) -> list[Html]:
    won = sum(contest.p_adjusted < SIGNIFICANT for contest in level.contests)
    title = LEVELS.get(level.level, (level.level, ""))[0]
    told = f"{won:,} of {counted(len(level.contests), 'comparison')} by {level.kind.capitalize()} "
    return [
        element("h3", title, " ", element("small", told + ("is" if won == 1 else "are") + " significant")),
        _matrix(level),
        apart(element("details", element("summary", "All comparisons with their tests"), _contest_table(level))),
    ]


def _matrix(level: LevelTable) -> Html:
    leads: dict[tuple[str, str], tuple[float, bool]] = {}
    for contest in level.contests:
        significant = contest.p_adjusted < SIGNIFICANT
        leads[contest.b, contest.a] = (contest.difference.estimate, significant)
        leads[contest.a, contest.b] = (-contest.difference.estimate, significant)
    labels = [row.metric for row in level.rows]
    rows = [[own_text(row), *(_lead_cell(leads.get((row, column))) for column in labels)] for row in labels]
    caption = f"By how much each metric's correlation exceeds each other's, {level.level} level"
    return html_table(["metric", *map(own_text, labels)], rows, caption=caption, class_="glance")


def _lead_cell(lead: tuple[float, bool] | None) -> object:
    if lead is None:
        return ""
    difference, significant = lead
    text = shown(difference, 2)
    text = f"+{text}" if difference >= 0.005 else text
    return element("strong", f"{text}*", class_="best") if significant else text


def _contest_table(level: LevelTable) -> Html:
    rows = [
        [
            own_text(contest.a),
            own_text(contest.b),
            shown_cell(contest.difference),
            shown_p(contest.p_permutation),
            shown_p(contest.p_adjusted),
            shown_p(contest.p_williams),
        ]
        for contest in sorted(level.contests, key=lambda contest: (math.isnan(contest.p_adjusted), contest.p_adjusted))
    ]
    header = ["A", "B", "B less A", "p (permutation)", "p (Holm)", "p (Williams)"]
    return html_table(header, rows, caption=f"All comparisons, {level.level} level", left=2)


def shown_p(p_value: float) -> str:
    """A p-value as it is printed: "<.001" below that."""
    return "<.001" if p_value < 0.001 else shown(p_value)


def apart(block: Html) -> Html:
    """A block with air above it."""
    return element("div", block, style="margin-top: 1.25rem")

"""How well metrics agree with people: on single replies, on systems, within contexts, and metric against metric."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rejoinder.figures.markup import Html, element, joined, own_text
from rejoinder.figures.numbers import UNKNOWN, shown
from rejoinder.figures.plots import drawn, interval_plot
from rejoinder.meta.correlations import LevelTable, WithinContext
from rejoinder.meta.human import HumanCeiling
from rejoinder.meta.study import ScoredSet
from rejoinder.meta.study import shown as shown_cell
from rejoinder.report.glossary import TERMS, term
from rejoinder.report.page import Section
from rejoinder.report.panels import figure_card
from rejoinder.report.tables import fact_list, html_table
from rejoinder.stats.correlation import KINDS
from rejoinder.stats.formatting import counted, p_text, signed
from rejoinder.stats.multiple import ALPHA

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
    caption = element("figcaption", "With 95 % intervals; 1 would be the order that people give, 0 no relation.")
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


def spaced(block: Html) -> Html:
    """A block with space above it."""
    return element("div", block, style="margin-top: 1.25rem")

"""Metrics against people as blocks: on single replies, on systems, within contexts, and metric against metric."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rejoinder.show.document import (
    PAGE,
    TERMINAL,
    Block,
    Cell,
    Column,
    Facts,
    Figures,
    Marked,
    PValue,
    Say,
    Section,
    Share,
    Table,
)
from rejoinder.show.figures import IntervalPanel
from rejoinder.show.text import counted, inflected
from rejoinder.stats.correlation import KINDS
from rejoinder.stats.resampling import ALPHA
from rejoinder.trusting.correlations import HumanCeiling, LevelTable, WithinContext
from rejoinder.trusting.probing import ScoredSet

LEVELS = {"utterance": ("Single replies", "Replies"), "system": ("Systems", "Systems")}
"""Level -> the section's title and short title."""


def level_section(level: LevelTable, ceiling: HumanCeiling, scored: ScoredSet) -> Section:
    """Correlations with people at one level; on a page also one plot per coefficient, folded away."""
    kinds = [level.kind, *(kind for kind in KINDS if kind != level.kind)]
    figures = Figures([level.panel(kind) for kind in kinds], [_ceiling_caption(level, ceiling, kind) for kind in kinds])
    details = Section("Figures and method", [figures, Say([_method(level, scored)])], folded=True, only=PAGE)
    title, short = LEVELS.get(level.level, (level.level.capitalize(), ""))
    return Section(title, [_level_table(level), details], short)


def _level_table(level: LevelTable) -> Table:
    """One row per metric; correlations of the first cluster are in bold."""
    n = level.rows[0].n if level.rows else 0
    pairs = any(row.pairs for row in level.rows)
    rows = []
    for row in level.rows:
        cells: dict[str, Cell] = {kind: row.measured[kind].interval for kind in KINDS}
        if row.cluster == 1:
            cells[level.kind] = Marked(cells[level.kind], starred=False)
        accuracies = [row.pairs.accuracy_interval, row.pairs.soft_interval] if row.pairs else []
        p_value = PValue(row.measured[level.kind].p_value)
        cluster = str(row.cluster) if row.cluster else "-"
        rows.append([row.metric, *cells.values(), p_value, *accuracies, Share(row.coverage), cluster, row.n])
    columns = [
        "metric",
        *(Column(kind.capitalize(), bounds=2) for kind in KINDS),
        "p",
        *([Column("pair accuracy", bounds=2), Column("soft", bounds=2)] if pairs else []),
        "scored",
        "cluster",
        Column("n", only=("latex",)),
    ]
    title = f"Correlation with people over {n} {level.unit}, ranked by {level.kind.capitalize()}"
    return Table(columns, rows, title=title)


def _ceiling_caption(level: LevelTable, ceiling: HumanCeiling, kind: str) -> str:
    of_kind = {"pearson": ceiling.split_half_pearson, "spearman": ceiling.split_half_spearman}
    found = of_kind.get(kind, math.nan)
    if level.level != "utterance" or math.isnan(found):
        return ""
    return f"The two halves of the raters correlate at {found:.2f}."


def _method(level: LevelTable, scored: ScoredSet) -> str:
    fixed = ", with the systems fixed" if level.level == "system" else ""
    return (
        f"The 95 % intervals resample contexts{fixed} ({scored.resamples:,} resamples, seed {scored.seed}). A new "
        "cluster begins where a metric is significantly worse than one of the cluster before (permutation test, "
        f"Holm-corrected, {ALPHA:g})."
    )


def within_section(rows: Sequence[WithinContext]) -> Section:
    """How often metrics order two replies to one context as people do."""
    first = rows[0].agreement
    intro = (
        f"Which of two replies to the same context is better? {counted(first.n_pairs, 'pair')} of replies to "
        f"{counted(first.n_contexts, 'context')}; a pair is correct if metric and people give the same order, or both "
        "a tie. Calibrated: scores closer than an epsilon count as a tie; epsilon is fitted on one half of the "
        "contexts, and the accuracy is measured on the other half."
    )
    columns = [
        "metric",
        Column("accuracy", bounds=2),
        Column("ties calibrated", bounds=2),
        "tau of accuracy",
        Column("tau-b", only=PAGE),
    ]
    cells = [
        [row.metric, row.agreement.accuracy, row.calibrated, row.agreement.tau_eq, row.agreement.tau_b] for row in rows
    ]
    table = Table(columns, cells, title=f"Within context, {first.n_pairs} pairs of {first.n_contexts} contexts")
    panels = [
        IntervalPanel("Accuracy", tuple((row.metric, row.agreement.accuracy) for row in rows)),
        IntervalPanel("Accuracy with ties calibrated", tuple((row.metric, row.calibrated) for row in rows)),
    ]
    return Section("Within contexts", [Say([intro], only=PAGE), Figures(panels), table], "Contexts", folded=True)


def contests_section(levels: Sequence[LevelTable]) -> Section:
    """Comparisons of all pairs of metrics, at each level."""
    intro = (
        "Each number is the correlation with people of the row's metric minus that of the column's. "
        f"Significant differences are in bold (permutation test, Holm-corrected, {ALPHA:g})."
    )
    parts = [_contests(level) for level in levels]
    return Section("Metric against metric", [Say([intro]), *parts], "Contests", folded=True, only=PAGE)


def _contests(level: LevelTable) -> Section:
    leads: dict[tuple[str, str], Cell] = {}
    for contest in level.contests:
        for pair, lead in (
            ((contest.b, contest.a), contest.difference.estimate),
            ((contest.a, contest.b), -contest.difference.estimate),
        ):
            leads[pair] = Marked(lead) if contest.significant else lead
    labels = [row.metric for row in level.rows]
    matrix = Table(
        ["metric", *(Column(label, digits=2, sign=True) for label in labels)],
        [[row, *(leads.get((row, column)) for column in labels)] for row in labels],
    )
    ordered = sorted(level.contests, key=lambda contest: (math.isnan(contest.p_adjusted), contest.p_adjusted))
    all_tests = Table(
        ["A", "B", Column("B - A", bounds=2), "p (permutation)", "p (Holm)", "p (Williams)"],
        [[one.a, one.b, one.difference, *map(PValue, (one.p_permutation, one.p_adjusted, one.p_williams))]
         for one in ordered],
    )  # fmt: skip
    significant = sum(contest.significant for contest in level.contests)
    total = (
        f"{significant:,} of {counted(len(level.contests), 'comparison')} by {level.kind.capitalize()} "
        f"{inflected(significant, 'is', 'are')} significant."
    )
    tests = Section("All comparisons with their tests", [all_tests], folded=True)
    return Section(LEVELS.get(level.level, (level.level, ""))[0], [Say([total]), matrix, tests])


def ceiling_blocks(ceiling: HumanCeiling) -> list[Block]:
    """How well the raters agree with each other: a sentence in a terminal, a section of a page."""
    said = Say([ceiling.sentence()], fit=False, only=TERMINAL)
    if math.isnan(ceiling.split_half_pearson):
        blocks: list[Block] = [Say([ceiling.sentence()])]
    else:
        intro = (
            "Human ratings are uncertain themselves: where raters disagree with each other, no metric can agree with "
            f"all of them. Up to {counted(ceiling.raters, 'rater')} rated a reply."
        )
        facts = {
            "split half, Pearson": ceiling.split_half_pearson,
            "split half, Spearman": ceiling.split_half_spearman,
            "one rater against the others, Pearson": ceiling.one_mean,
            "the median rater": ceiling.one_median,
            "the best rater": ceiling.one_maximum,
            "Krippendorff's alpha": ceiling.alpha,
        }
        blocks = [Say([intro]), Facts(facts)]
    return [said, Section("Agreement between raters", blocks, "Raters", folded=True, only=PAGE)]

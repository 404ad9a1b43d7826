"""The tables of a comparison: means, differences, all tests, and how to read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rejoinder.comparing.labels import LabelDifference, LabelMeans
from rejoinder.comparing.verdict import Verdict
from rejoinder.scoring.table import CAUTION, all_replies
from rejoinder.show.document import (
    NOT_LATEX,
    TERMINAL,
    Cell,
    Column,
    Marked,
    PValue,
    Say,
    Share,
    Table,
)

if TYPE_CHECKING:
    from rejoinder.comparing.comparison import Comparison


_LONGEST_NAME = 14
_MOST_PAIRS = 12
MOST_COLUMNS = 6
"""Systems that fit next to each other; more are rows, and the metrics are columns."""
MOST_WITH_BOUNDS = 4
"""Systems up to which a table has room for intervals beside the means."""


def two_systems(comparison: Comparison) -> Table:
    """One row per metric: both means, the difference, p, n."""
    a, b = (name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…" for name in comparison.systems)
    rows = []
    for verdict in comparison.verdicts:
        result = verdict.result
        means = [(verdict.a, result.mean_a), (verdict.b, result.mean_b)]
        cells = [Marked(mean) if verdict.better == name else mean for name, mean in means]
        rows.append([_named(verdict), *cells, result.difference, _p_of(verdict), verdict.n])
        if whole := comparison.table.diversity().get(verdict.metric):
            rows.append([all_replies(verdict.metric), whole[verdict.a], whole[verdict.b], None, None, None])
    starred = "" if all(verdict.doubt for verdict in comparison.verdicts) else " * significantly better"
    caption = f"Difference: {b} minus {a}. n: {_counted(comparison)}.{starred}{_correction(comparison)}"
    caption = caption if caption.endswith(".") else f"{caption}."
    if any(verdict.higher_is_better is False for verdict in comparison.verdicts):
        caption += " ↓ lower is better."
    if comparison.table.diversity():
        caption += " Of all replies: what several replies repeat counts, too."
    return Table(["metric", a, b, Column("difference [95 %]", sign=True), "p", "n"], rows, note=caption, only=TERMINAL)


def standings(comparison: Comparison) -> Table:
    """One row per system, by the primary metric, best first; ties share a group."""
    verdicts, metric = comparison.decisive_verdicts, comparison.primary.metric
    ranked = next((ranking for ranking in comparison.rankings if ranking.metric == metric), None)
    groups = {} if ranked is None else {place.system: (place.cluster, place.mean) for place in ranked.places}
    table, rows = comparison.table, []
    for system in comparison.best_first:
        group, mean = groups[system] if groups else (None, table.summary()[metric][system].mean)
        scored = int(np.count_nonzero(~np.isnan(table[metric][table.rows_of(system)])))
        own = [verdict for verdict in verdicts if system in (verdict.a, verdict.b) and verdict.significant]
        ahead = sum(verdict.leader == system for verdict in own)
        name = comparison.system(system)
        rows.append([str(group or "-"), name, mean, ahead, len(own) - ahead, scored])
    word, opposite = ("higher", "lower") if verdicts[0].higher_is_better is None else ("better", "worse")
    caption = (
        "Systems of one group do not differ significantly. " if ranked is not None else ""
    ) + f"{word} than, {opposite} than: how many systems, p < 0.05 after Holm's correction. n: scored replies."
    columns = ["group", "system", metric, f"{word} than", f"{opposite} than", "n"]
    return Table(columns, rows, note=caption, left=2, only=NOT_LATEX)


def all_means(comparison: Comparison) -> Table:
    """The mean of each system by each metric, of one metric per family; of many systems, one row per system."""
    table, systems = comparison.table, comparison.best_first
    order = sorted(table.metrics, key=lambda label: label != comparison.primary.metric)
    families: dict[str, list[str]] = {}
    for label in order:
        families.setdefault(table.family_of(label), []).append(label)
    names = {variants[0]: _with_role(comparison, variants) for variants in families.values()}
    cells = {(label, system): _mean(comparison, label, system) for label in names for system in systems}
    badges = [comparison.system(system) for system in systems]
    if len(systems) <= MOST_COLUMNS:
        columns = ["metric", *(Column(badge, digits=3) for badge in badges)]
        rows: list[list[Cell]] = []
        for label, name in names.items():
            rows.append([name, *(cells[label, each] for each in systems)])
            if whole := table.diversity().get(label):
                rows.append([all_replies(label), *(whole[each] for each in systems)])
        return Table(columns, rows)
    columns = ["system", *(Column(name, digits=3) for name in names.values())]
    rows = [[badge, *(cells[label, badge.name] for label in names)] for badge in badges]
    return Table(columns, rows)


def _with_role(comparison: Comparison, variants: Sequence[str]) -> str:
    """The metric, its direction, whether it decides, and how many variants it has."""
    label = variants[0]
    alone = comparison.human is None and comparison.decided
    decides = label == comparison.primary.metric and alone and len(comparison.table.metrics) > 1
    said = [*(["decides"] if decides else []), *([f"and {len(variants) - 1} more"] if len(variants) > 1 else [])]
    arrow = " ↓" if comparison.table.higher_is_better.get(label, True) is False else ""
    role = f" ({', '.join(said)})" if said else ""
    return f"{label}{arrow}{role}"


def _mean(comparison: Comparison, label: str, system: str) -> Cell:
    found = comparison.table.summary()[label][system].interval
    shown = found if len(comparison.systems) <= MOST_WITH_BOUNDS else found.estimate
    own = [verdict for verdict in comparison.verdicts if verdict.metric == label and system in (verdict.a, verdict.b)]
    return Marked(shown) if all(verdict.better == system for verdict in own) else shown


def people_tables(human: LabelMeans, comparison: Comparison) -> list[Table]:
    """The estimated mean of each system and that of the labels alone, and the differences of all pairs."""
    means: list[list[Cell]] = [
        [comparison.system(name), found.interval, found.labels_only, found.n_labelled, found.gain]
        for name, found in human.means.items()
    ]
    columns = ["system", "mean [95 %]", "labels alone", "labels", Column("gain", digits=2)]
    differences = [
        [*_sides(comparison, row), _bold(row.result.interval, row.significant), PValue(row.p_adjusted)]
        for row in human.differences
    ]
    header = ["A", "B", Column(f"B - A, {human.dimension} (people) [95 %]", sign=True), "p"]
    return [Table(columns, means, title=human.title), Table(header, differences, only=("latex", "html"))]


def slice_table(comparison: Comparison, name: str) -> Table:
    """One row per value of a field and pair of systems: the difference by the primary metric, p, and n."""
    rows = [
        [
            value,
            f"{verdict.a} → {verdict.b}",
            *_sides(comparison, verdict),
            _bold(verdict.result.difference, verdict.significant),
            _p_of(verdict),
            verdict.better or "-",
            verdict.n,
        ]
        for value, verdicts in comparison.slices[name].items()
        for verdict in verdicts
    ]
    difference = Column(f"{comparison.primary.metric}: B - A [95 %]", sign=True, key="difference")
    columns = [Column(name), *_PAIR, difference, "p", Column("better", only=TERMINAL), "n"]
    note = f"p is corrected for all rows (Holm). {CAUTION.format(count=len(rows))}"
    return Table(columns, rows, note=note, left=2)


_PAIR = (
    Column("A → B", only=TERMINAL),
    Column("A", only=("latex", "html")),
    Column("B", only=("latex", "html")),
)
"""The columns of a pair of systems; where there is bold type, the better one is in bold."""


def all_tests(comparison: Comparison) -> Table:
    """All pairs and metrics with effect sizes and wins."""
    columns = [
        "metric",
        *_PAIR,
        Column("mean A", only=("latex",)),
        Column("mean B", only=("latex",)),
        Column("B - A [95 %]", sign=True, key="difference"),
        Column("p (Holm)" if len(comparison.verdicts) > 1 else "p", key="p_adjusted"),
        Column("better", only=TERMINAL),
        Column("effect", digits=2, sign=True, only=NOT_LATEX),
        Column("B better", only=NOT_LATEX),
        Column("tied", only=NOT_LATEX),
        Column("A better", only=NOT_LATEX),
        Column("p alone", only=NOT_LATEX),
        Column("detectable", only=NOT_LATEX),
        "n",
    ]
    rows = [
        [
            _named(verdict),
            f"{verdict.a} → {verdict.b}",
            *_sides(comparison, verdict),
            verdict.result.mean_a,
            verdict.result.mean_b,
            _bold(verdict.result.difference, verdict.significant),
            _p_of(verdict),
            verdict.better or "-",
            verdict.result.effect_size,
            *_shares(verdict),
            None if verdict.outcome == "doubtful" else PValue(verdict.result.p_value),
            verdict.detectable,
            verdict.n,
        ]
        for verdict in comparison.verdicts
    ]
    note = (
        "Intervals are not corrected for the number of comparisons. effect: in standard deviations "
        "(Hedges' g). B better, tied, A better: in which share of the pairs. detectable: the difference that would "
        "have been detected with 80% power."
    )
    return Table(columns, rows, note=note, left=2, full=True, main=True)


def all_in_words(comparison: Comparison) -> Iterator[Say]:
    """A sentence for each test where they are few, all rankings, and the differences by people's ratings."""
    if len(comparison.verdicts) <= _MOST_PAIRS:  # beyond that, the table and the rankings are easier to read
        yield Say([verdict.sentence() for verdict in comparison.verdicts], lines=True, full=True)
    if comparison.rankings:
        title = "Best first; a bar precedes a system that is significantly worse than one after the last bar:"
        yield Say([title, *(ranking.sentence() for ranking in comparison.rankings)], lines=True, full=True)
    if comparison.human is not None:
        yield Say([row.sentence() for row in comparison.human.differences], lines=True, full=True)


def _sides(comparison: Comparison, pair: Verdict | LabelDifference) -> list[Cell]:
    """Both systems, the better one marked."""
    names = [comparison.system(name) for name in (pair.a, pair.b)]
    return [Marked(name) if name.name == pair.better else name for name in names]


def _bold(cell: Cell, significant: bool) -> Cell:
    return Marked(cell, starred=False) if significant else cell


def _p_of(verdict: Verdict) -> Cell:
    """The corrected p-value; of scores that cannot be relied on, it would look like a result."""
    return "not decided" if verdict.outcome == "doubtful" else PValue(verdict.p_adjusted)


def _shares(verdict: Verdict) -> list[Cell]:
    """In which share of the pairs B is better, both are equal, A is better; nothing where the metric cannot say."""
    if verdict.outcome == "doubtful":
        return [None, None, None]
    found = verdict.outcomes
    return [Share(found.wins), Share(found.ties), Share(found.losses)]


def _named(verdict: Verdict) -> str:
    return f"{verdict.metric} ↓" if verdict.higher_is_better is False else verdict.metric


def _correction(comparison: Comparison) -> str:
    """What p-values are corrected for."""
    if len(comparison.table.metrics) == 1:
        return ""
    decides = (
        f"{comparison.primary.metric} alone decides"
        if comparison.decided
        else f"{comparison.primary.metric} decides nothing here"
    )
    return f"; p: {decides}, the others are corrected together (Holm)"


def _counted(comparison: Comparison) -> str:
    first = comparison.verdicts[0]
    if not first.result.paired:
        return "replies of the system with fewer"
    return f"{first.paired_by}s that both {'have scores for' if first.paired_by == 'item' else 'answered'}"


def how_to_read(comparison: Comparison) -> str:
    """How a page's table of means is to be read."""
    metric = comparison.primary.metric
    if not comparison.decided:
        return f"{metric} cannot judge these replies, so that none of its means is marked."
    decided = "People decide." if comparison.human else f"{metric} decides ({comparison.primary.reason})."
    others = "the other" if len(comparison.systems) == 2 else "all others"
    bounds = " 95 % intervals are in brackets." if len(comparison.systems) <= MOST_WITH_BOUNDS else ""
    return (
        f"{decided} A mean in colour is significantly better than {others} by that metric; a plain one is not, even if "
        f"it is the highest.{bounds}"
    )

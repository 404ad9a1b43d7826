"""What only the page of a table of scores shows: single replies, distributions of scores, and all means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rejoinder.errors import CallError
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import Batch
from rejoinder.scoring.advice import meaning
from rejoinder.scoring.chosen_rows import ChosenRows, ranked_metrics, rows_to_show
from rejoinder.scoring.replies_page import (
    Reasons,
    browse_data,
    browse_section,
    extremes_section,
    why_section,
)
from rejoinder.scoring.table import MOST_PLOTTED, ScoreTable
from rejoinder.show.document import (
    Block,
    Cell,
    Column,
    Figures,
    ReplyTexts,
    Say,
    Section,
    SystemName,
    Table,
    VerdictText,
)
from rejoinder.show.figures import bins_for
from rejoinder.show.markup import Html, decimals_for, shown_number
from rejoinder.show.text import bounds_text, counted, number_text, system_label
from rejoinder.stats.resampling import LARGE
from rejoinder.types import Example


def answer(table: ScoreTable, primary: str) -> VerdictText:
    """What the mean of a table's first system is, in words, beside the figure of the means."""
    figure = table.means_panel(primary, table.system_names[:MOST_PLOTTED])
    return VerdictText(_level(table, primary), figure, more=meaning(table))


def _level(table: ScoreTable, label: str) -> list[str]:
    """What the mean of a table's first system is, in words."""
    cell = next(iter(table.summary()[label].values()), None)
    if cell is None or not cell.n:
        return ["No reply could be scored."]
    limits = table.limits(label)
    scale = "" if limits is None else f" on a scale from {limits[0]:g} to {limits[1]:g}"
    bounds = "" if cell.low != cell.low else f" {bounds_text(cell.interval)}"
    direction = "" if table.higher_is_better.get(label, True) else ", lower is better"
    return [
        f"The mean {label} is {number_text(cell.mean)}{bounds}{scale}{direction}.",
        "There is only one system: whether it is good shows in comparison, with another version (`rejoinder compare`) "
        "or with people's ratings (`rejoinder trust`).",
    ]


def page_blocks(table: ScoreTable, primary: str) -> list[Block]:
    """Replies with their texts, distributions, and means by metric."""

    def render() -> tuple[list[Section], Html]:
        chosen = rows_to_show(table, primary=primary, seed=table.seed)
        examples = None if table.replies is None else table.replies.take(chosen.needed)
        if examples is not None:
            check_texts(table, examples, chosen)
        reasons = reasons_of(table.reasoning, examples or {})
        several = len(table.system_names) > 1
        why = why_section(table, examples, chosen, primary, reasons)
        found = [why]
        if ranked_metrics(table):  # else none says which replies are best
            extremes = extremes_section(table, examples, chosen, reasons, folded=several)
            found = [why, extremes] if several else [extremes, why]
        found.append(browse_section(table, examples, chosen))
        return found, browse_data(table, examples, chosen, reasons, primary)

    means = Section("Means by metric", table_means(table), "Means", folded=True)
    return [ReplyTexts(render), _distributions(table, primary), means]


def reasons_of(metrics: Mapping[str, Metric], examples: Mapping[int, Example]) -> Reasons:
    """The justifications for these rows; a judge takes them from its cache of answers."""
    batch = Batch(list(examples.values()))
    found: dict[int, dict[str, str]] = {}
    for label, metric in metrics.items():
        for row, reason in zip(examples, metric.reasons(batch), strict=False):  # most metrics give none at all
            if reason:
                found.setdefault(row, {})[label] = reason
    return found


def check_texts(table: ScoreTable, examples: Mapping[int, Example], chosen: ChosenRows) -> None:
    """Raise a CallError if the examples are not those that were scored."""
    for row in sorted(chosen.needed):
        if row not in examples:
            raise CallError(f"row {row + 1} of the {len(table):,} scored replies is missing from the replies")
        if table.ids and table.ids[row] != examples[row].id:
            raise CallError(
                f"these are not the replies that were scored: row {row + 1} is {table.ids[row]!r} in the scores "
                f"and {examples[row].id!r} in the replies"
            )


_DISTRIBUTIONS = (
    "There is one histogram per system. The height of a bar is its share of that system's replies, on the same scale "
    "for all systems; the triangle marks the mean."
)


def _distributions(table: ScoreTable, primary: str) -> Section:
    """One figure per metric, the primary one first, with the number of replies that could not be scored."""
    others = [label for label in table.metrics if label != primary]
    blocks: list[Block] = [Say([_DISTRIBUTIONS]), _histograms(table, [primary])]
    if others:
        blocks.append(Section(counted(len(others), "other metric"), [_histograms(table, others)], folded=True))
    return Section("Distributions of scores", blocks, "Distributions")


def _histograms(table: ScoreTable, labels: Sequence[str]) -> Figures:
    captions = [
        " ".join(filter(None, [f"{_direction(table, label)}.", _missing(table, label), _beyond(table, label)]))
        for label in labels
    ]
    return Figures([table.histogram_panel(label) for label in labels], captions)


def _direction(table: ScoreTable, label: str) -> str:
    """Whether higher or lower scores of the metric are better."""
    if label not in ranked_metrics(table):
        return "Neither higher nor lower is better"
    return "Higher is better" if table.higher_is_better.get(label, True) else "Lower is better"


def _missing(table: ScoreTable, label: str) -> str:
    """A sentence on how many replies of which system the metric could not score."""
    counts = {system_label(name): int(np.isnan(table[label][table.rows_of(name)]).sum()) for name in table.system_names}
    total = sum(counts.values())
    if not total:
        return "All replies were scored."
    by_system = ", ".join(f"{name} {count:,}" for name, count in counts.items() if count)
    return f"{counted(total, 'reply', 'replies')} could not be scored: {by_system}."


def _beyond(table: ScoreTable, label: str) -> str:
    bins = bins_for(table[label])
    if not bins.beyond:
        return ""
    edge = shown_number(float(bins.edges[-1]), decimals_for(table[label]))
    return f"The last bar includes {counted(bins.beyond, 'reply', 'replies')} above {edge}."


def table_means(table: ScoreTable) -> list[Block]:
    """Means, spreads and intervals of every system by every metric."""
    method = f"95 % intervals, by bootstrap over replies ({table.resamples:,} resamples, seed {table.seed})"
    if any(len(table.rows_of(system)) >= LARGE for system in table.system_names):
        method += f"; by the normal approximation for systems with {LARGE:,} replies or more"
    said = f"{method}. Replies that a metric could not score are left out of its mean."
    rows: list[list[Cell]] = [
        [label, SystemName(name or "replies", number), cell.interval, cell.std, cell.corpus, cell.n]
        for label, cells in table.summary().items()
        for number, (name, cell) in enumerate(cells.items())
    ]
    means = Column("mean [95 %]", digits=3, key="mean")
    columns = ["metric", "system", means, "standard deviation", "corpus", Column("scored", key="n")]
    return [Say([said]), Figures([table.means_panel(label) for label in table.metrics]), Table(columns, rows)]

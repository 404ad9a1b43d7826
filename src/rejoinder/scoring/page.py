"""A table of scores as a document: its means, its slices, and on a page the distributions and single replies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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
from rejoinder.scoring.table import CAUTION, DecidingMetric, ScoreTable, SystemMean
from rejoinder.show.document import (
    PAGE,
    Block,
    Cell,
    Column,
    Document,
    Figures,
    ReplyTexts,
    Say,
    Section,
    SystemName,
    Table,
    VerdictText,
)
from rejoinder.show.figures import bins_for
from rejoinder.show.html import system_label
from rejoinder.show.markup import Html, decimals_for, shown_number
from rejoinder.show.text import bounds_text, counted, number_text
from rejoinder.stats.intervals import Interval
from rejoinder.stats.resampling import LARGE
from rejoinder.types import Example

MOST_PLOTTED = 12
"""Systems in the figure at the top; all are in the tables."""
_NOT_PAGE: tuple[Any, ...] = ("text", "markdown", "latex")


def table_document(table: ScoreTable) -> Document:
    """The document of a table on its own; that of several systems is, as a page, their comparison."""
    systems = [
        Column(SystemName(name or "replies", number), digits=3) for number, name in enumerate(table.system_names)
    ]
    rows: list[list[Cell]] = [[label, *map(interval_of, cells.values())] for label, cells in table.summary().items()]
    for label, whole in table.diversity().items():
        place = next(at for at, row in enumerate(rows) if row[0] == label)
        rows.insert(place + 1, [all_replies(label), *whole.values()])
    blocks: list[Block] = []
    primary = DecidingMetric.of(table, None, ()).metric if table.metrics else ""
    if primary:
        figure = table.means_panel(primary, table.system_names[:MOST_PLOTTED])
        blocks.append(VerdictText(level(table, primary), figure, more=meaning(table), only=PAGE))
    blocks.append(Table(["metric", *systems], rows, only=_NOT_PAGE))
    if table.resampled != "reply":
        found_by = f" ({table.grouping.found_by})" if table.grouping and table.grouping.found_by else ""
        said = f"Every reply counts equally; intervals resample {table.resampled}s{found_by}, not replies."
        blocks.append(Say([said], fit=False, tight=True))
    blocks += _slices(table)
    if primary:
        blocks += page_blocks(table, primary)
    return Document(
        "Reply scores",
        blocks,
        question="How good are the replies?",
        counts=counts_of(table),
        signatures=table.signatures,
        seed=table.seed,
        resamples=table.resamples,
    )


def all_replies(label: str) -> str:
    """What a table calls a metric's score of all replies of a system together."""
    return f"{label} of all replies"


def counts_of(table: ScoreTable) -> list[tuple[int, str, str]]:
    """How many replies, systems and metrics there are."""
    return [
        (len(table), "reply", "replies"),
        (len(table.system_names), "system", "systems"),
        (len(table.metrics), "metric", "metrics"),
    ]


def interval_of(cell: SystemMean) -> Interval:
    """The mean with its interval."""
    return Interval(cell.mean, cell.low, cell.high)


def level(table: ScoreTable, label: str) -> list[str]:
    """What the mean of a table's first system is, in words."""
    cell = next(iter(table.summary()[label].values()), None)
    if cell is None or not cell.n:
        return ["No reply could be scored."]
    limits = table.limits(label)
    scale = "" if limits is None else f" on a scale from {limits[0]:g} to {limits[1]:g}"
    bounds = "" if cell.low != cell.low else f" {bounds_text(interval_of(cell))}"
    direction = "" if table.higher_is_better.get(label, True) else ", lower is better"
    return [
        f"The mean {label} is {number_text(cell.mean)}{bounds}{scale}{direction}.",
        "There is only one system: whether it is good shows in comparison, with another version (`rejoinder compare`) "
        "or with people's ratings (`rejoinder trust`).",
    ]


def _slices(table: ScoreTable) -> Iterator[Table]:
    """One row per value of a field and system, one column per metric."""
    for slices in table.slices:
        rows = [
            [value, SystemName(name or "replies", number), len(part.rows_of(name))]
            + [interval_of(part.summary()[label][name]) for label in table.metrics]
            for value, part in table.sliced(slices).items()
            for number, name in enumerate(table.system_names)
            if len(part.rows_of(name))
        ]
        columns = [slices.field, "system", "n", *(Column(label, digits=3) for label in table.metrics)]
        yield Table(columns, rows, note=CAUTION.format(count=len(rows)), left=3)


# What only a page shows: single replies, the distribution of each metric's scores, and all means.


def page_blocks(table: ScoreTable, primary: str) -> list[Section | ReplyTexts]:
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

    means = Section("Means by metric", table_means(table), "Means", folded=True, only=PAGE)
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
    return Section("Distributions of scores", blocks, "Distributions", only=PAGE)


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
        [label, SystemName(name or "replies", number), interval_of(cell), cell.std, cell.corpus, cell.n]
        for label, cells in table.summary().items()
        for number, (name, cell) in enumerate(cells.items())
    ]
    means = Column("mean [95 %]", digits=3, key="mean")
    columns = ["metric", "system", means, "standard deviation", "corpus", Column("scored", key="n")]
    return [Say([said]), Figures([table.means_panel(label) for label in table.metrics]), Table(columns, rows)]

"""The report of a table of scores, as one HTML file.

    chosen = rows_to_show(table)
    examples = {row: example for row, example in enumerate(source) if row in chosen.needed}
    text = render_report(table, examples, chosen=chosen)

The same input gives the same file, byte for byte: it contains no time stamp or host name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rejoinder.errors import CallError
from rejoinder.figures.markup import Html, joined
from rejoinder.meta.comparing.compare import compare_table
from rejoinder.meta.comparing.comparison import Comparison, Primary
from rejoinder.report.chosen import ChosenRows, rows_to_show
from rejoinder.report.page import Section, render_page
from rejoinder.report.reasons import Reasons
from rejoinder.report.sections.browse import browse_data, browse_section
from rejoinder.report.sections.comparison import comparison_section, pairs_section, slices_section
from rejoinder.report.sections.distributions import distributions_section
from rejoinder.report.sections.replies import extremes_section, why_section
from rejoinder.report.sections.signatures import notes_hint, run_facts, signatures_section
from rejoinder.report.sections.summary import summary_section
from rejoinder.report.sections.verdict import answer, question_of, standing_figure
from rejoinder.scoring.meaning import meaning
from rejoinder.scoring.table import ScoreTable
from rejoinder.stats.formatting import bounds_text
from rejoinder.stats.intervals import Interval
from rejoinder.text.grid import number
from rejoinder.types import Example


def render_report(
    table: ScoreTable,
    examples: Mapping[int, Example] | None,
    *,
    title: str = "Reply scores",
    chosen: ChosenRows | None = None,
    comparison: Comparison | None = None,
    reasons: Reasons | None = None,
) -> str:
    """The report as one HTML file.

    `examples` maps row numbers to examples, for all of `rows_to_show(table).needed`; None leaves out the texts.
    `chosen` is the result of `rows_to_show`, needed where it was called with other arguments than its defaults.
    Without `comparison`, two or more systems are compared here, as `compare` does.
    `reasons` are shown beside the replies: see `reasons_of`.
    """
    if not table.metrics:
        raise CallError("a report needs the scores of at least one metric")
    if comparison is None and len(table.system_names) > 1:
        comparison = compare_table(table)
    primary = (comparison.primary if comparison else Primary.of(table, None, ())).metric
    chosen = chosen or rows_to_show(table, primary=primary)
    if examples is not None:
        check_texts(table, examples, chosen)
    notes = [*table.notes, *(comparison.notes if comparison else ())]
    sections = [
        *([comparison_section(comparison)] if comparison else []),
        *([slices_section(comparison)] if comparison and comparison.slices else []),
        *_replies(table, examples, chosen, primary, reasons or {}),
        distributions_section(table, primary),
        browse_section(table, examples, chosen),
        *([pairs_section(comparison)] if comparison else []),
        summary_section(table),
        signatures_section(table.signatures, notes, seed=table.seed, resamples=table.resamples),
    ]
    return render_page(
        title,
        sections,
        question=question_of(table.system_names),
        lead=_lead(table, comparison, primary, notes),
        data=browse_data(table, examples, chosen, reasons or {}, primary),
    )


def _replies(
    table: ScoreTable, examples: Mapping[int, Example] | None, chosen: ChosenRows, primary: str, reasons: Reasons
) -> list[Section]:
    why = why_section(table, examples, chosen, primary, reasons)
    extremes = extremes_section(table, examples, chosen, reasons, folded=len(table.system_names) > 1)
    return [why, extremes] if len(table.system_names) > 1 else [extremes, why]


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


def _lead(table: ScoreTable, comparison: Comparison | None, primary: str, notes: Sequence[str]) -> Html:
    counts = [
        (len(table), "reply", "replies"),
        (len(table.system_names), "system", "systems"),
        (len(table.metrics), "metric", "metrics"),
    ]
    if comparison is not None:
        sentences = [*comparison.headline(), *meaning(table, told=primary)]
        figure = standing_figure(table, primary, comparison.best_first)
    else:
        sentences = [*_level(table, primary), *meaning(table)]
        figure = standing_figure(table, primary)
    return joined([answer(sentences, figure), run_facts(counts, table.seed), notes_hint(notes)])


def _level(table: ScoreTable, label: str) -> list[str]:
    """What one system's mean is, in words."""
    cell = next(iter(table.summary()[label].values()), None)
    if cell is None or not cell.n:
        return ["No reply could be scored."]
    limits = table.limits(label)
    scale = "" if limits is None else f" on a scale from {limits[0]:g} to {limits[1]:g}"
    bounds = "" if cell.low != cell.low else f" {bounds_text(Interval(cell.mean, cell.low, cell.high))}"
    direction = "" if table.higher_is_better.get(label, True) else ", lower is better"
    return [
        f"The mean {label} is {number(cell.mean)}{bounds}{scale}{direction}.",
        "There is only one system: whether it is good shows in comparison, with another version (`rejoinder compare`) "
        "or with people's ratings (`rejoinder meta`).",
    ]

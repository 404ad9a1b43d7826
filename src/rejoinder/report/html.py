"""The report of a table of scores, as one HTML file.

    chosen = rows_to_show(table)
    examples = {row: example for row, example in enumerate(source) if row in chosen.needed}
    text = render_report(table, examples, chosen=chosen)

The same input gives the same file, byte for byte: it contains no time stamp or host name.
"""

from __future__ import annotations

from collections.abc import Mapping

from rejoinder.errors import CallError
from rejoinder.report.chosen import ChosenRows, rows_to_show
from rejoinder.report.markup import Html, element, joined, own_text
from rejoinder.report.page import render_page
from rejoinder.report.reasons import Reasons
from rejoinder.report.sections.browse import browse_data, browse_section
from rejoinder.report.sections.distributions import distributions_section
from rejoinder.report.sections.headlines import caution, headlines
from rejoinder.report.sections.replies import replies_section
from rejoinder.report.sections.signatures import notes_hint, run_facts, signatures_section
from rejoinder.report.sections.summary import summary_section
from rejoinder.scoring.table import ScoreTable
from rejoinder.types import Example


def render_report(
    table: ScoreTable,
    examples: Mapping[int, Example] | None,
    *,
    title: str = "Reply scores",
    chosen: ChosenRows | None = None,
    reasons: Reasons | None = None,
) -> str:
    """The report as one HTML file.

    `examples` maps row numbers to examples, for all of `rows_to_show(table).needed`; None leaves out the texts.
    `chosen` is the result of `rows_to_show`, needed where it was called with other arguments than its defaults.
    `reasons` are shown beside the replies: see `reasons_of`.
    """
    if not table.metrics:
        raise CallError("a report needs the scores of at least one metric")
    chosen = chosen or rows_to_show(table)
    if examples is not None:
        check_texts(table, examples, chosen)
    sections = [
        summary_section(table),
        distributions_section(table),
        replies_section(table, examples, chosen, reasons or {}),
        browse_section(table, examples, chosen),
        signatures_section(table.signatures, table.notes, seed=table.seed, resamples=table.resamples),
    ]
    return render_page(title, sections, lead=_lead(table), data=browse_data(table, examples, chosen, reasons or {}))


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


def _lead(table: ScoreTable) -> Html:
    counts = [
        (len(table), "reply", "replies"),
        (len(table.system_names), "system", "systems"),
        (len(table.metrics), "metric", "metrics"),
    ]
    return joined([run_facts(counts, table.seed), _headlines(table), notes_hint(table.notes)])


def _headlines(table: ScoreTable) -> Html:
    sentences = headlines(table)
    if not sentences:
        alone = len(table.system_names) < 2
        why = "There is only one system, so there is nothing to compare." if alone else ""
        return element("p", why, class_="note") if why else Html("")
    rows = [
        element("div", element("dt", own_text(label)), element("dd", sentence)) for label, sentence in sentences.items()
    ]
    return joined([element("dl", *rows, class_="headlines"), caution()])

"""report.html from a table of scores: one file, to be opened anywhere.

    chosen = rows_to_show(table)
    examples = {row: example for row, example in enumerate(source) if row in chosen.needed}
    text = render_report(table, examples, chosen=chosen)

The same input gives the same file, byte for byte: there is no time or host in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rejoinder._version import __version__
from rejoinder.errors import CallError
from rejoinder.report.browse import browse_data, browse_section
from rejoinder.report.chosen import ChosenRows, rows_to_show
from rejoinder.report.distributions import distributions_section
from rejoinder.report.headlines import caution, headlines
from rejoinder.report.markup import Html, element, joined, own_text
from rejoinder.report.numbers import counted
from rejoinder.report.page import Section, render_page
from rejoinder.report.replies import replies_section
from rejoinder.report.signatures import signatures_section
from rejoinder.report.summary import summary_section
from rejoinder.scoring.table import ScoreTable
from rejoinder.types import Example

__all__ = ["ChosenRows", "Section", "render_report", "rows_to_show"]


def render_report(
    table: ScoreTable,
    examples: Mapping[int, Example] | None,
    *,
    title: str = "Reply scores",
    extra_sections: Sequence[Section] = (),
    chosen: ChosenRows | None = None,
) -> str:
    """The report as one HTML file.

    `examples` maps row numbers to the texts of those rows: all of `rows_to_show(table).needed`; None leaves texts out.
    `extra_sections` come after the scores and before the replies. `chosen` is what `rows_to_show` gave, where it
    was called with other arguments than its defaults.
    """
    if not table.metrics:
        raise CallError("a report needs the scores of at least one metric")
    chosen = chosen or rows_to_show(table)
    if examples is not None:
        check_texts(table, examples, chosen)
    sections = [
        summary_section(table),
        distributions_section(table),
        *extra_sections,
        replies_section(table, examples, chosen),
        browse_section(table, examples, chosen),
        signatures_section(table),
    ]
    return render_page(title, sections, lead=_lead(table), data=browse_data(table, examples, chosen))


def check_texts(table: ScoreTable, examples: Mapping[int, Example], chosen: ChosenRows) -> None:
    """Nothing, or a CallError where the texts are not those of the rows that were scored."""
    for row in sorted(chosen.needed):
        if row not in examples:
            raise CallError(f"the replies lack row {row + 1} of the {len(table):,} that were scored")
        if table.ids and table.ids[row] != examples[row].id:
            raise CallError(
                f"these are not the replies that were scored: row {row + 1} is {table.ids[row]!r} in the scores "
                f"and {examples[row].id!r} in the replies"
            )


def _lead(table: ScoreTable) -> Html:
    facts = [
        (f"{len(table):,}", "reply" if len(table) == 1 else "replies"),
        (f"{len(table.system_names):,}", "system" if len(table.system_names) == 1 else "systems"),
        (f"{len(table.metrics):,}", "metric" if len(table.metrics) == 1 else "metrics"),
        (f"{table.seed}", "seed"),
        (__version__, "rejoinder"),
    ]
    entries = [element("div", element("dt", name), element("dd", value)) for value, name in facts]
    return joined([element("dl", *entries, class_="facts"), _headlines(table), _warnings(table)])


def _headlines(table: ScoreTable) -> Html:
    sentences = headlines(table)
    if not sentences:
        alone = len(table.system_names) < 2
        why = "There is one system, so there is nothing to compare it with." if alone else ""
        return element("p", why, class_="note") if why else Html("")
    rows = [
        element("div", element("dt", own_text(label)), element("dd", sentence)) for label, sentence in sentences.items()
    ]
    return joined([element("dl", *rows, class_="headlines"), caution()])


def _warnings(table: ScoreTable) -> Html:
    if not table.notes:
        return Html("")
    return element("p", f"{counted(len(table.notes), 'note')} at the end of this report.", class_="note")

"""Where every number comes from: signatures, version, seed, and what a reader should know."""

from __future__ import annotations

from rejoinder._version import __version__
from rejoinder.report.markup import Html, element, joined, own_text
from rejoinder.report.page import Section
from rejoinder.report.tables import html_table
from rejoinder.scoring.table import ScoreTable

INTRO = "A signature holds all that decides a number. Quote it with the number, and anyone can compute it again."


def signatures_section(table: ScoreTable) -> Section:
    """The signature of each metric, and the table's notes."""
    rows = [[own_text(label), element("code", signature)] for label, signature in table.signatures.items()]
    signatures = html_table(["metric", "signature"], rows, caption="Signatures", left=2, class_="signatures")
    run = f"Made with rejoinder {__version__}, seed {table.seed}, {table.resamples:,} resamples."
    parts = [element("p", INTRO, class_="intro"), signatures, element("p", run), notes_block(table)]
    return Section("Signatures and notes", joined(parts), "Signatures")


def notes_block(table: ScoreTable) -> Html:
    """The table's notes as a list; one line where there are none."""
    if not table.notes:
        return element("p", "There were no warnings.")
    entries = [element("li", note, dir="auto") for note in table.notes]
    return joined([element("h3", "Notes"), element("ul", *entries, class_="notes")])

"""Where the numbers come from: metric signatures, version, random seed, and notes for the reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rejoinder._version import __version__
from rejoinder.figures.markup import Html, element, joined, own_text
from rejoinder.report.glossary import glossary
from rejoinder.report.page import Section
from rejoinder.report.tables import html_table
from rejoinder.stats.formatting import counted, inflected

INTRO = (
    "A signature contains everything that determines a number. Quote it with the number, so that others can reproduce "
    "it."
)


def signatures_section(signatures: Mapping[str, str], notes: Sequence[str], *, seed: int, resamples: int) -> Section:
    """The signature of each metric, and the notes."""
    rows = [[own_text(label), element("code", signature)] for label, signature in signatures.items()]
    table = html_table(["metric", "signature"], rows, caption="Signatures", left=2, class_="signatures")
    run = f"Made with rejoinder {__version__}, seed {seed}, {resamples:,} resamples."
    terms = joined([element("h3", "Terms on this page"), glossary()])
    parts = [_notes(notes), element("p", INTRO, class_="intro"), table, element("p", run), terms]
    return Section("Notes, signatures and terms", joined(parts), "Notes", folded=True)


def run_facts(counts: Sequence[tuple[int, str, str]], seed: int) -> Html:
    """The counts (number, noun, plural), the random seed and the version in one line, at the top of a report."""
    facts = [f"{count:,} {inflected(count, noun, plural)}" for count, noun, plural in counts]
    return element("p", " · ".join([*facts, f"seed {seed}", f"rejoinder {__version__}"]), class_="run")


def notes_hint(notes: Sequence[str]) -> Html:
    """The line at the top of a report that points to its notes; empty where there are none."""
    if not notes:
        return Html("")
    return element("p", f"{counted(len(notes), 'note')} at the end of this page.", class_="note")


def _notes(notes: Sequence[str]) -> Html:
    if not notes:
        return element("p", "There were no warnings.")
    entries = [element("li", note, dir="auto") for note in notes]
    return joined([element("h3", "Notes"), element("ul", *entries, class_="notes")])

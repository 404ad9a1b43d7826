"""Where the numbers come from: metric signatures, version, random seed, and notes for the reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rejoinder._version import __version__
from rejoinder.report.markup import Html, element, joined, own_text
from rejoinder.report.page import Section
from rejoinder.report.tables import fact_list, html_table
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
    parts = [element("p", INTRO, class_="intro"), table, element("p", run), _notes(notes)]
    return Section("Signatures and notes", joined(parts), "Signatures")


def run_facts(counts: Sequence[tuple[int, str, str]], seed: int) -> Html:
    """The counts (number, noun, plural), the random seed and the version, at the top of a report."""
    facts = [(inflected(count, noun, plural), f"{count:,}") for count, noun, plural in counts]
    return fact_list([*facts, ("seed", f"{seed}"), ("rejoinder", __version__)])


def notes_hint(notes: Sequence[str]) -> Html:
    """The line at the top of a report that points to its notes; empty where there are none."""
    if not notes:
        return Html("")
    return element("p", f"{counted(len(notes), 'note')} at the end of this report.", class_="note")


def _notes(notes: Sequence[str]) -> Html:
    if not notes:
        return element("p", "There were no warnings.")
    entries = [element("li", note, dir="auto") for note in notes]
    return joined([element("h3", "Notes"), element("ul", *entries, class_="notes")])

"""Names of systems and metrics as a report shows them."""

from __future__ import annotations

from collections.abc import Sequence

from rejoinder.figures.axes import middle_cut
from rejoinder.figures.markup import Html, element, joined, own_text
from rejoinder.figures.plots import series_class

LONGEST_NAME = 80


def system_label(name: str) -> str:
    """The system's name, shortened in the middle if it is very long; "replies" if it is empty."""
    if not name.strip():
        return "replies"
    return name if len(name) <= LONGEST_NAME else middle_cut(name, LONGEST_NAME)


def system_badge(number: int, name: str) -> Html:
    """The system's name next to a dot in its colour."""
    return element("span", own_text(system_label(name)), class_=f"system {series_class(number)}")


def listed(names: Sequence[str]) -> Html:
    """The names as "a, b and c"."""
    marked = [element("strong", own_text(name)) for name in names]
    if len(marked) == 1:
        return marked[0]
    return joined([joined(marked[:-1], ", "), " and ", marked[-1]])

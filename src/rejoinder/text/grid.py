"""Plain-text tables for the terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from rejoinder.errors import cut
from rejoinder.text.terminal import terminal_safe

_WIDEST = 120  # characters of a cell


def grid(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Columns under a ruled header; the first `left` columns are flush left, the others, numbers, flush right.

    Cells may contain text from outside: each is made safe to print, and cut if it is long.
    """
    header, rows = [*map(_cell, header)], [[*map(_cell, row)] for row in rows]
    widths = [max(map(width, column)) for column in zip(header, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell + " " * (room - width(cell)) if place < left else " " * (room - width(cell)) + cell
            for place, (cell, room) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(padded).rstrip()

    return "\n".join([line(header), "  ".join("─" * room for room in widths), *map(line, rows)])


def _cell(text: str) -> str:
    return terminal_safe(cut(text, _WIDEST))


def width(text: str) -> int:
    """How many terminal columns a text occupies."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(bool(unicodedata.combining(character)) for character in text)


def number(value: float, digits: int = 3) -> str:
    """A number for a table; NaN is a dash."""
    if value != value:
        return "-"
    shown = f"{value:.{digits}f}" if abs(value) < 1000 else f"{value:,.0f}"
    return shown.removeprefix("-") if not shown.strip("-0.") else shown  # no sign for a value that rounds to zero

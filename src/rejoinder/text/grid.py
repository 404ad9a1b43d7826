"""Plain-text tables for the terminal."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence

from rejoinder.errors import cut
from rejoinder.text.terminal import terminal_safe

_WIDEST = 120  # characters of a cell, or of a word in a sentence


def grid(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1, fit: int | None = None) -> str:
    """Columns under a ruled header; the first `left` columns are flush left, the others, numbers, flush right.

    Cells may contain text from outside: each is made safe to print, and cut if it is long. Columns that do not fit into
    `fit` characters follow in further tables below, each with the first `left` columns again.
    """
    columns = [[_cell(cell) for cell in column] for column in zip(header, *rows, strict=True)]
    widths = [max(map(width, column)) for column in columns]
    if fit is None or sum(widths) + 2 * (len(widths) - 1) <= fit:
        return _table(columns, widths, left)
    parts: list[list[int]] = []
    room = 0
    for place in range(left, len(widths)):
        if not parts or widths[place] + 2 > room:
            parts.append([*range(left)])
            room = fit - sum(widths[:left]) - 2 * (left - 1)
        parts[-1].append(place)
        room -= widths[place] + 2
    return "\n\n".join(_table([columns[at] for at in part], [widths[at] for at in part], left) for part in parts)


def _table(columns: Sequence[Sequence[str]], widths: Sequence[int], left: int) -> str:
    def line(cells: Sequence[str]) -> str:
        padded = [
            cell + " " * (room - width(cell)) if place < left else " " * (room - width(cell)) + cell
            for place, (cell, room) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(padded).rstrip()

    header, *rows = zip(*columns, strict=True)
    return "\n".join([line(header), "  ".join("─" * room for room in widths), *map(line, rows)])


def _cell(text: str) -> str:
    return terminal_safe(cut(text, _WIDEST))


def width(text: str) -> int:
    """How many terminal columns a text occupies."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(bool(unicodedata.combining(character)) for character in text)


def wrapped(sentence: str, width: int) -> str:
    """A text in lines of at most `width` characters, safe to print; a longer word has a line of its own.

    A word that is too long to be read, such as a name of 5,000 characters, has no middle.
    """
    words = " ".join(cut(word, _WIDEST) for word in terminal_safe(sentence).split(" "))
    return textwrap.fill(words, max(width, 20), break_long_words=False, break_on_hyphens=False)


def number(value: float, digits: int = 3) -> str:
    """A number for a table; NaN is a dash."""
    if value != value:
        return "-"
    shown = f"{value:.{digits}f}" if abs(value) < 1000 else f"{value:,.0f}"
    return shown.removeprefix("-") if not shown.strip("-0.") else shown  # no sign for a value that rounds to zero

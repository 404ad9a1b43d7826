"""Tables, numbers, intervals and counts as text, in terminals, sentences, notebooks and LaTeX."""

from __future__ import annotations

import html
import json
import math
import textwrap
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rejoinder.errors import LONGEST_MESSAGE, cut

if TYPE_CHECKING:
    from rejoinder.stats.intervals import Interval

# Plain-text tables for the terminal.


_WIDEST = 120  # characters of a cell, or of a word in a sentence


def grid(
    header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1, fit: int | None = None, *, ruled: bool = True
) -> str:
    """Columns under a header; the first `left` columns are flush left, the others, numbers, flush right.

    Cells may contain text from outside: each is made safe to print, and cut if it is long. Columns that do not fit into
    `fit` characters follow in further tables below, each with the first `left` columns again.
    """
    columns = [[terminal_safe(cut(cell, _WIDEST)) for cell in column] for column in zip(header, *rows, strict=True)]
    widths = [max(map(width, column)) for column in columns]
    if fit is None or sum(widths) + 2 * (len(widths) - 1) <= fit:
        return _table(columns, widths, left, ruled=ruled)
    parts: list[list[int]] = []
    room = 0
    for place in range(left, len(widths)):
        if not parts or widths[place] + 2 > room:
            parts.append([*range(left)])
            room = fit - sum(widths[:left]) - 2 * (left - 1)
        parts[-1].append(place)
        room -= widths[place] + 2
    tables = (([columns[at] for at in part], [widths[at] for at in part]) for part in parts)
    return "\n\n".join(_table(some, rooms, left, ruled=ruled) for some, rooms in tables)


def _table(columns: Sequence[Sequence[str]], widths: Sequence[int], left: int, *, ruled: bool) -> str:
    def line(cells: Sequence[str]) -> str:
        padded = [
            cell + " " * (room - width(cell)) if place < left else " " * (room - width(cell)) + cell
            for place, (cell, room) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(padded).rstrip()

    header, *rows = zip(*columns, strict=True)
    rule = ["  ".join("─" * room for room in widths)] if ruled else []
    return "\n".join([line(header), *rule, *map(line, rows)])


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


def aligned(rows: Mapping[str, str], width: int) -> Iterator[str]:
    """The rows in two columns, the second one wrapped."""
    left = max(map(len, rows)) + 4
    for name, text in rows.items():
        filled = textwrap.wrap(text, width - left, break_on_hyphens=False) or [""]
        yield f"  {name:<{left - 2}}{filled[0]}"
        yield from (" " * left + line for line in filled[1:])


def number_text(value: float, digits: int = 3) -> str:
    """A number for a table; NaN is a dash."""
    if value != value:
        return "-"
    shown = f"{value:.{digits}f}" if abs(value) < 1000 else f"{value:,.0f}"
    return shown.removeprefix("-") if not shown.strip("-0.") else shown  # no sign for a value that rounds to zero


# Text and tables for LaTeX.


_ESCAPES = {
    **{character: rf"\{character}" for character in "&%_#${}"},
    "<": "$<$",
    ">": "$>$",
    "~": r"\textasciitilde{}",
    "→": r"$\rightarrow$",
    "↓": r"$\downarrow$",
    "−": "$-$",
    "²": "$^2$",
    "…": r"\ldots{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
}


def latex_safe(text: str) -> str:
    """The text on one line, with escapes for the characters that mean something to LaTeX."""
    return "".join(_ESCAPES.get(character, character) for character in one_line(text))


def latex_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A booktabs table; the first `left` columns are flush left. Cells are LaTeX: escape text with `latex_safe`."""
    lines = [rf"\begin{{tabular}}{{{'l' * left}{'r' * (len(header) - left)}}}", r"\toprule"]
    lines += [rf"{' & '.join(header)} \\", r"\midrule"]
    lines += [rf"{' & '.join(row)} \\" for row in rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


# Results in a notebook: the text of the terminal as HTML, with everything from the data escaped.


NOTEBOOK_WIDTH = 110
"""Characters that fit into the width of a notebook."""


def text_html(text: str) -> str:
    """The text in a box that keeps its columns aligned."""
    return f'<pre style="line-height: 1.3">{html.escape(terminal_safe(text, newlines=True))}</pre>'


# Foreign text made safe to print.
#
# System names, dimensions, labels, field names and file names come from outside, and a terminal obeys the control
# characters in them: they could clear the screen, overwrite a line, or reverse the direction of the text. Everything
# that a command prints goes through this module (tests/cli/test_foreign_text.py).


# Control characters, format characters (bidi marks, zero-width and tag characters), lone surrogates, and the two
# separators that end a line.
_ESCAPED_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"  # harmless, and part of emoji and of Persian and Indian spelling


def terminal_safe(text: str, *, newlines: bool = False) -> str:
    r"""The text with control characters, bidi marks and line breaks shown as escapes: \n, \u001b, \u202e.

    `newlines` keeps line breaks, for output that has been laid out in lines. The escapes are those of JSON, so JSON
    that is made safe is still the same JSON.
    """
    if text.isprintable() or (newlines and text.replace("\n", "").isprintable()):
        return text
    kept = {*_JOINERS, "\n"} if newlines else set(_JOINERS)
    unsafe = {one for one in {*text} - kept if unicodedata.category(one) in _ESCAPED_CATEGORIES}
    escapes: dict[str, str | int | None] = {
        one: "\\u007f" if one == "\x7f" else json.dumps(one)[1:-1] for one in unsafe
    }
    return text.translate(str.maketrans(escapes))


def one_line(text: str, longest: int = LONGEST_MESSAGE) -> str:
    """The text on one line that is safe to print, without its middle if it is too long to be read."""
    return terminal_safe(cut(" ".join(text.splitlines()), longest))


# Intervals, p-values, signed numbers and counts as text: the same in tables, sentences, HTML and LaTeX.


_MOST_DECIMALS = 8

SMALLEST_P = 0.001
"""P-values below this are shown as a bound."""


def p_text(p_value: float) -> str:
    """A p-value in a table: '0.012', '< 0.001'; NaN is a dash."""
    return f"< {SMALLEST_P:g}" if p_value < SMALLEST_P else number_text(p_value)


def p_statement(p_value: float) -> str:
    """A p-value in a sentence: 'p = 0.012', 'p < 0.001'."""
    text = p_text(p_value)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


_NO_WIDTH = 1e-9
"""Bounds that differ by less, relative to the estimate, differ by rounding errors only."""


def interval_text(
    interval: Interval, digits: int | None = None, bound_digits: int | None = None, *, sign: bool = False
) -> str:
    """'0.310 [0.252, 0.371]'; without bounds where they are unknown. `sign` writes +0.310.

    Without `digits` there are three decimals, or as many as the interval needs: see `decimals_of`.
    """
    digits = decimals_of(interval) if digits is None else digits
    estimate = signed(interval.estimate, digits) if sign else number_text(interval.estimate, digits)
    if math.isnan(interval.low) or math.isnan(interval.high):
        return estimate
    return f"{estimate} {bounds_text(interval, digits if bound_digits is None else bound_digits)}"


def decimals_of(interval: Interval) -> int:
    """Three decimals, or more where three would show no width, or a bound of 0 that is on one side of 0."""
    has_width = interval.half_width > _NO_WIDTH * max(1.0, abs(interval.estimate))
    width = _decimals(interval.half_width if has_width else interval.estimate)
    if interval.low > 0 or interval.high < 0:
        nearest = min(abs(interval.low), abs(interval.high))
        return max(width, min(math.ceil(-math.log10(nearest)), width + 2)) if nearest else width
    return width


def _decimals(size: float) -> int:
    """As many decimals as show the first digit of the size, or the first two of a small one; at least three."""
    if not math.isfinite(size) or not size:
        return 3
    return min(max(3, math.ceil(-math.log10(abs(size))) + (abs(size) < 0.001)), _MOST_DECIMALS)


def bounds_text(interval: Interval, digits: int = 3) -> str:
    """'[0.252, 0.371]'."""
    return f"[{number_text(interval.low, digits)}, {number_text(interval.high, digits)}]"


def signed(value: float, digits: int | None = None) -> str:
    """'+0.31', '-0.31'; a number that rounds to zero has no sign, and NaN is a dash.

    Without `digits` there are two decimals, or three where two would show a zero.
    """
    decimals = digits if digits is not None else 2 if abs(value) >= 0.005 else 3
    text = number_text(value, decimals)
    return f"+{text}" if value > 0 and text.strip("0.,") else text


def share_text(value: float) -> str:
    """A share as a whole percentage: '62%'; NaN is a dash."""
    return number_text(value) if math.isnan(value) else f"{value:.0%}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """The count with its noun: '1 reply', '5,000 replies'."""
    return f"{count:,} {inflected(count, noun, plural)}"


def inflected(count: int, noun: str, plural: str = "") -> str:
    """The noun, in the plural unless the count is 1."""
    return noun if count == 1 else plural or f"{noun}s"


LONGEST_NAME = 80


def middle_cut(text: str, kept: int) -> str:
    """The first and the last characters of a text, `kept` in total, around an ellipsis."""
    tail = kept // 2
    return f"{text[: kept - tail]}…{text[len(text) - tail :]}"


def system_label(name: str) -> str:
    """The system's name, shortened in the middle if it is very long; "replies" if it is empty."""
    if not name.strip():
        return "replies"
    return name if len(name) <= LONGEST_NAME else middle_cut(name, LONGEST_NAME)


MOST_NAMED = 6
"""Names that a sentence lists; of more, the last ones are counted."""


def names_text(names: Sequence[str], word: str = "and") -> str:
    """'a, b and c'; of many the first, and how many more."""
    if len(names) > MOST_NAMED:
        more = len(names) - MOST_NAMED + 1
        return f"{', '.join(names[: MOST_NAMED - 1])} {word} {more} {inflected(more, 'other')}"
    return f" {word} ".join(filter(None, [", ".join(names[:-1]), names[-1]]))

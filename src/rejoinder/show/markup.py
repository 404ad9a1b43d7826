"""HTML and SVG as strings in which all text is escaped, and numbers in them."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable

import numpy as np

from rejoinder.show.text import number_text
from rejoinder.types import Scores

# HTML and SVG as strings in which all text is escaped, except what is already `Html`.


# Control characters and lone surrogates, which neither HTML nor UTF-8 allows. Tabs and line breaks are kept.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_VOID = frozenset({"input"})
"""Elements without content, which have no end tag."""
_CONTROL_PICTURES = 0x2400
_DELETE_PICTURE = "\u2421"
_REPLACEMENT = "\ufffd"


class Html(str):
    """Markup; any other string is text, and gets escaped."""

    __slots__ = ()

    def __html__(self) -> str:
        """The markup, as template engines ask for it."""
        return self


def printable(text: str) -> str:
    """The text with visible symbols in place of control characters."""
    return _UNPRINTABLE.sub(_picture, text)


def escaped(value: object) -> Html:
    """The value as markup: unchanged if it is markup already, else its text, escaped."""
    return value if isinstance(value, Html) else Html(html.escape(printable(str(value))))


def joined(parts: Iterable[object], separator: str = "") -> Html:
    """The parts joined as markup."""
    return Html(escaped(separator).join(escaped(part) for part in parts))


def element(tag: str, *children: object, **attributes: object) -> Html:
    """One element: `element("td", "a < b", class_="num")` is `<td class="num">a &lt; b</td>`.

    Underscores in an attribute's name become hyphens; None and False omit it, True gives an attribute without value.
    """
    shown = "".join(_attribute(name, value) for name, value in attributes.items())
    return Html(f"<{tag}{shown}>" if tag in _VOID else f"<{tag}{shown}>{joined(children)}</{tag}>")


def own_text(text: str) -> Html:
    """A name or label from the data, isolated from the text direction around it."""
    return element("bdi", text)


def _attribute(name: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    # An attribute's value is always text: markup in it is escaped too.
    return f" {name}" if value is True else f' {name}="{html.escape(printable(str(value)))}"'


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code == 0x7F:
        return _DELETE_PICTURE
    return chr(_CONTROL_PICTURES + code) if code < 0x20 else _REPLACEMENT


# Numbers in a report, with as many decimals as their size requires.


UNKNOWN = "–"


def decimals_for(values: Scores) -> int:
    """Decimals for means of these values: 3 for scores up to 2, fewer for larger ones."""
    known = values[np.isfinite(values)]
    largest = float(np.abs(known).max()) if len(known) else 0.0
    return next((decimals for limit, decimals in ((2, 3), (20, 2), (1000, 1)) if largest <= limit), 0)


def value_decimals(values: Scores) -> int:
    """Decimals for the values themselves: none if they are whole numbers."""
    known = values[np.isfinite(values)]
    return 0 if np.array_equal(known, np.round(known)) else decimals_for(values)


def shown_number(value: float, decimals: int = 3) -> str:
    """The number; an en dash where it is unknown."""
    return UNKNOWN if math.isnan(value) else number_text(value, decimals)


def shown_interval(low: float, high: float, decimals: int = 3) -> str:
    """The bounds as "0.180–0.250", or as "-0.1 to 0.2" if one is negative; an en dash where they are unknown."""
    if math.isnan(low) or math.isnan(high):
        return UNKNOWN
    if low >= 0:
        return f"{shown_number(low, decimals)}–{shown_number(high, decimals)}"
    return f"{shown_number(low, decimals)} to {shown_number(high, decimals)}"


def ordinal(rank: int) -> str:
    """The rank as text: "1st", "12th", "23rd"."""
    teens = 10 <= rank % 100 <= 20
    return f"{rank}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(rank % 10, 'th')}"

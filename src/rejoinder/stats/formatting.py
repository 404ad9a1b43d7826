"""Intervals, p-values, signed numbers and counts as text: the same in tables, sentences, HTML and LaTeX."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rejoinder.stats.intervals import Interval
from rejoinder.text.grid import number

_MOST_DECIMALS = 8

SMALLEST_P = 0.001
"""P-values below this are shown as a bound."""


def p_text(p_value: float) -> str:
    """A p-value in a table: '0.012', '< 0.001'; NaN is a dash."""
    return f"< {SMALLEST_P:g}" if p_value < SMALLEST_P else number(p_value)


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
    estimate = signed(interval.estimate, digits) if sign else number(interval.estimate, digits)
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
    return f"[{number(interval.low, digits)}, {number(interval.high, digits)}]"


def signed(value: float, digits: int | None = None) -> str:
    """'+0.31', '-0.31'; a number that rounds to zero has no sign, and NaN is a dash.

    Without `digits` there are two decimals, or three where two would show a zero.
    """
    decimals = digits if digits is not None else 2 if abs(value) >= 0.005 else 3
    text = number(value, decimals)
    return f"+{text}" if value > 0 and text.strip("0.,") else text


def share_text(value: float) -> str:
    """A share as a whole percentage: '62%'; NaN is a dash."""
    return number(value) if math.isnan(value) else f"{value:.0%}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """The count with its noun: '1 reply', '5,000 replies'."""
    return f"{count:,} {inflected(count, noun, plural)}"


def inflected(count: int, noun: str, plural: str = "") -> str:
    """The noun, in the plural unless the count is 1."""
    return noun if count == 1 else plural or f"{noun}s"


MOST_NAMED = 6
"""Names that a sentence lists; of more, the last ones are counted."""


def names_text(names: Sequence[str], word: str = "and") -> str:
    """'a, b and c'; of many the first, and how many more."""
    if len(names) > MOST_NAMED:
        more = len(names) - MOST_NAMED + 1
        return f"{', '.join(names[: MOST_NAMED - 1])} {word} {more} {inflected(more, 'other')}"
    return f" {word} ".join(filter(None, [", ".join(names[:-1]), names[-1]]))

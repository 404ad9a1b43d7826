"""Numbers as they are read in a report: as many decimals as their size calls for."""

from __future__ import annotations

import math

import numpy as np

from rejoinder.types import Scores

UNKNOWN = "–"


def decimals_for(values: Scores) -> int:
    """Decimals for means of these values: 3 for scores up to 2, fewer for larger ones."""
    known = values[np.isfinite(values)]
    largest = float(np.abs(known).max()) if len(known) else 0.0
    return next((decimals for limit, decimals in ((2, 3), (20, 2), (1000, 1)) if largest <= limit), 0)


def decimals_of(values: Scores) -> int:
    """Decimals for the values themselves: none where they are whole numbers."""
    known = values[np.isfinite(values)]
    return 0 if np.array_equal(known, np.round(known)) else decimals_for(values)


def shown(value: float, decimals: int = 3) -> str:
    """The number with thousands separators; NaN is a dash."""
    if math.isnan(value):
        return UNKNOWN
    text = f"{value:,.{decimals}f}"
    # What rounds to zero has no sign.
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text


def shown_interval(low: float, high: float, decimals: int = 3) -> str:
    """The bounds as "0.180–0.250", or "-0.1 to 0.2" where a minus sign would blur it; a dash where unknown."""
    if math.isnan(low) or math.isnan(high):
        return UNKNOWN
    if low >= 0:
        return f"{shown(low, decimals)}–{shown(high, decimals)}"
    return f"{shown(low, decimals)} to {shown(high, decimals)}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """The number with its noun: "1 reply", "5,000 replies"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def ordinal(number: int) -> str:
    """The number as a rank: "1st", "12th", "23rd"."""
    teens = 10 <= number % 100 <= 20
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"

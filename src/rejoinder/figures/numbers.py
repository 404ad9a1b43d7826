"""Numbers in a report, with as many decimals as their size requires."""

from __future__ import annotations

import math

import numpy as np

from rejoinder.text.grid import number
from rejoinder.types import Scores

UNKNOWN = "–"


def decimals_for(values: Scores) -> int:
    """Decimals for means of these values: 3 for scores up to 2, fewer for larger ones."""
    known = values[np.isfinite(values)]
    largest = float(np.abs(known).max()) if len(known) else 0.0
    return next((decimals for limit, decimals in ((2, 3), (20, 2), (1000, 1)) if largest <= limit), 0)


def decimals_of(values: Scores) -> int:
    """Decimals for the values themselves: none if they are whole numbers."""
    known = values[np.isfinite(values)]
    return 0 if np.array_equal(known, np.round(known)) else decimals_for(values)


def shown(value: float, decimals: int = 3) -> str:
    """The number; an en dash where it is unknown."""
    return UNKNOWN if math.isnan(value) else number(value, decimals)


def shown_interval(low: float, high: float, decimals: int = 3) -> str:
    """The bounds as "0.180–0.250", or as "-0.1 to 0.2" if one is negative; an en dash where they are unknown."""
    if math.isnan(low) or math.isnan(high):
        return UNKNOWN
    if low >= 0:
        return f"{shown(low, decimals)}–{shown(high, decimals)}"
    return f"{shown(low, decimals)} to {shown(high, decimals)}"


def ordinal(rank: int) -> str:
    """The rank as text: "1st", "12th", "23rd"."""
    teens = 10 <= rank % 100 <= 20
    return f"{rank}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(rank % 10, 'th')}"

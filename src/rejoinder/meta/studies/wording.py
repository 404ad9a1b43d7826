"""The sentences of findings: names in a row, numbers with their sign, counts with their noun."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rejoinder.stats.intervals import Interval
from rejoinder.text.grid import number

SMALL = 0.005
ROUNDING = 1e-9
"""Differences up to this are those of floating-point numbers, not of scores."""


def listed(names: Sequence[str]) -> str:
    """The names as "a, b and c"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def listed_with(values: Mapping[str, float]) -> str:
    """The names with their signed numbers, "a (+0.31) and b (-0.02)", the largest first."""
    ordered = sorted(values.items(), key=lambda item: -abs(item[1]))
    return listed([f"{name} ({signed(value)})" for name, value in ordered])


def signed(value: float) -> str:
    """The number with its sign and two decimals, three where it is small; what rounds to zero has no sign."""
    text = f"{value:+.2f}" if abs(value) >= SMALL else f"{value:+.3f}"
    return text[1:] if float(text) == 0 else text


def with_bounds(interval: Interval) -> str:
    """An estimate and its 95 % interval: "0.12 [-0.01, 0.25]"."""
    return f"{number(interval.estimate, 2)} [{number(interval.low, 2)}, {number(interval.high, 2)}]"


def above(interval: Interval, value: float = 0.0) -> bool:
    """Whether the interval lies wholly above the value, by more than rounding."""
    return interval.low > value + ROUNDING


def below(interval: Interval, value: float = 0.0) -> bool:
    """Whether the interval lies wholly below the value, by more than rounding."""
    return interval.high < value - ROUNDING


def replies(count: int) -> str:
    """So many replies: "1 reply", "1,200 replies"."""
    return f"{count:,} {'reply' if count == 1 else 'replies'}"

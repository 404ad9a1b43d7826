"""Phrases that the findings of studies share: lists of names, counts, intervals above or below a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rejoinder.stats.formatting import counted, signed
from rejoinder.stats.intervals import Interval

ROUNDING = 1e-9
"""Differences up to this are rounding errors."""


def listed(names: Sequence[str]) -> str:
    """The names as "a, b and c"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def listed_with(values: Mapping[str, float]) -> str:
    """The names with their signed numbers, "a (+0.31) and b (-0.02)", the largest first."""
    ordered = sorted(values.items(), key=lambda item: -abs(item[1]))
    return listed([f"{name} ({signed(value)})" for name, value in ordered])


def above(interval: Interval, value: float = 0.0) -> bool:
    """Whether the whole interval is above the value, by more than rounding."""
    return interval.low > value + ROUNDING


def below(interval: Interval, value: float = 0.0) -> bool:
    """Whether the whole interval is below the value, by more than rounding."""
    return interval.high < value - ROUNDING


def replies(count: int) -> str:
    """The count with its noun: "1 reply", "1,200 replies"."""
    return counted(count, "reply", "replies")

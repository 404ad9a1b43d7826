"""A p-value as text."""

from __future__ import annotations

from rejoinder.text.grid import number


def in_table(value: float) -> str:
    """'0.012'; one that would round to nothing is told as a bound."""
    return "< 0.001" if value < 0.001 else number(value)


def in_words(value: float) -> str:
    """'p = 0.012', 'p < 0.001'."""
    shown = in_table(value)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"

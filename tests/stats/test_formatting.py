"""Numbers as text: the same in tables, sentences, HTML and LaTeX."""

from __future__ import annotations

import math

import pytest

from rejoinder.show.text import (
    bounds_text,
    counted,
    decimals_of,
    inflected,
    interval_text,
    p_statement,
    p_text,
    share_text,
    signed,
)
from rejoinder.stats.intervals import Interval


@pytest.mark.parametrize(
    ("p_value", "in_table", "in_sentence"),
    [
        (0.0123, "0.012", "p = 0.012"),
        (0.001, "0.001", "p = 0.001"),
        (0.00099, "< 0.001", "p < 0.001"),
        (1.0, "1.000", "p = 1.000"),
        (math.nan, "-", "p = -"),
    ],
)
def test_p_values(p_value: float, in_table: str, in_sentence: str) -> None:
    assert (p_text(p_value), p_statement(p_value)) == (in_table, in_sentence)


def test_intervals() -> None:
    interval = Interval(0.31, 0.2514, 0.3714)
    assert interval_text(interval) == "0.310 [0.251, 0.371]"
    assert interval_text(interval, 2) == "0.31 [0.25, 0.37]"
    assert interval_text(interval, bound_digits=2) == "0.310 [0.25, 0.37]"
    assert interval_text(interval, sign=True) == "+0.310 [0.251, 0.371]"
    assert bounds_text(interval) == "[0.251, 0.371]"


def test_unknown_bounds_are_left_out() -> None:
    assert interval_text(Interval(0.5, math.nan, math.nan)) == "0.500"
    assert interval_text(Interval(math.nan, math.nan, math.nan), sign=True) == "-"


def test_signed_numbers() -> None:
    assert [signed(x) for x in (0.25, -0.001, -0.0001, 0.005)] == ["+0.25", "-0.001", "0.000", "+0.01"]
    assert [signed(x, 2) for x in (0.001, -1234.5, 1234.5, math.nan)] == ["0.00", "-1,234", "+1,234", "-"]


def test_shares_and_counts() -> None:
    assert (share_text(0.625), share_text(math.nan)) == ("62%", "-")
    assert (counted(1, "reply", "replies"), counted(5000, "reply", "replies")) == ("1 reply", "5,000 replies")
    assert (counted(0, "pair"), inflected(2, "pair")) == ("0 pairs", "pairs")


def test_a_bound_beside_zero_is_not_shown_as_zero() -> None:
    assert decimals_of(Interval(0.5, 0.0004, 0.9)) == decimals_of(Interval(-0.5, -0.9, -0.0004)) == 4
    assert decimals_of(Interval(0.5, -0.0004, 0.9)) == 3


def test_a_narrow_interval_shows_its_width() -> None:
    assert decimals_of(Interval(0.5, 0.49, 0.51)) == 3
    assert decimals_of(Interval(0.5, 0.49995, 0.50005)) == 6, "the first two digits of half a width of .00005"
    assert decimals_of(Interval(0.5, 0.5, 0.5)) == 3, "without a width, those of the estimate"

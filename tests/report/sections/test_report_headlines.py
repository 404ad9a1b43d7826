"""A headline says who leads and which intervals overlap, and never more."""

from __future__ import annotations

import re

import pytest

from rejoinder.report.sections.headlines import headline, headlines, system_label
from rejoinder.scoring.table import Summary
from scored_replies import NAN, table_of


def summary(mean: float, low: float = NAN, high: float = NAN) -> Summary:
    return Summary(mean, low, high, n=10, std=0.1, corpus=mean, signature="s")


def plain(markup: str) -> str:
    return re.sub("<[^>]+>", "", markup)


CASES = [
    (
        {"a": summary(0.5, 0.4, 0.6), "b": summary(0.3, 0.2, 0.39)},
        "a has the highest mean, 0.500 (95 % interval 0.400–0.600). The other interval does not overlap it.",
    ),
    (
        {"a": summary(0.5, 0.4, 0.6), "b": summary(0.3, 0.2, 0.4), "c": summary(0.1, 0.0, 0.2)},
        "a has the highest mean, 0.500 (95 % interval 0.400–0.600). The interval of b overlaps it.",
    ),
    (
        {
            "a": summary(0.3, 0.2, 0.5),
            "b": summary(0.5, 0.4, 0.6),
            "c": summary(0.4, 0.3, 0.5),
            "d": summary(0.1, 0, 0),
        },
        "b has the highest mean, 0.500 (95 % interval 0.400–0.600). The intervals of a and c overlap it.",
    ),
    (
        {"a": summary(0.5, 0.4, 0.6), "b": summary(0.3, 0.1, 0.5)},
        "a has the highest mean, 0.500 (95 % interval 0.400–0.600). The other interval overlaps it.",
    ),
    ({"a": summary(0.5), "b": summary(0.5), "c": summary(0.1)}, "a and b share the highest mean, 0.500."),
    ({"a": summary(0.5), "b": summary(0.5)}, "All systems have the same mean, 0.500."),
    (
        {"a": summary(0.5), "b": summary(0.1, 0.0, 0.2)},
        "a has the highest mean, 0.500 (no interval). Some systems have too few scored replies for an interval.",
    ),
    ({"a": summary(0.5, 0.4, 0.6), "b": summary(NAN)}, ""),
    ({"a": summary(0.5, 0.4, 0.6)}, ""),
]


@pytest.mark.parametrize(("systems", "expected"), CASES)
def test_headline(systems: dict[str, Summary], expected: str) -> None:
    assert plain(headline(systems)) == expected


def test_lower_is_better_names_the_lowest() -> None:
    systems = {"a": summary(30.0, 28.0, 32.0), "b": summary(20.0, 19.0, 21.0), "c": summary(40.0, 38.0, 41.0)}
    assert plain(headline(systems, higher_is_better=False, decimals=1)) == (
        "b has the lowest mean, 20.0 (95 % interval 19.0–21.0), and lower is better. No other interval overlaps it."
    )


def test_many_overlaps_are_counted() -> None:
    systems = {"a": summary(0.9, 0.8, 1.0), "z": summary(0.1, 0.0, 0.2)}
    systems |= {name: summary(0.7, 0.6, 0.8) for name in "bcde"}
    assert plain(headline(systems)).endswith("The intervals of 4 other systems overlap it.")


def test_nameless_and_endless_systems_get_a_label() -> None:
    assert system_label("") == system_label("  ") == "replies"
    assert system_label("x" * 80) == "x" * 80
    assert system_label("a" * 50 + "b" * 50) == "a" * 40 + "…" + "b" * 40


def test_length_gets_no_headline() -> None:
    table = table_of({"bleu": [0.1, 0.2, 0.3, 0.5], "length": [1.0, 2.0, 3.0, 4.0]}, ["a", "a", "b", "b"])
    assert list(headlines(table)) == ["bleu"]


def test_names_are_escaped() -> None:
    assert "<img" not in headline({"<img>": summary(1.0, 1, 1), "b": summary(0.1, 0, 0.2)})

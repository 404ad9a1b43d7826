"""Names of systems as a report shows them."""

from __future__ import annotations

from rejoinder.show.html import system_badge
from rejoinder.show.text import system_label


def test_nameless_and_endless_systems_get_a_label() -> None:
    assert system_label("") == system_label("  ") == "replies"
    assert system_label("x" * 80) == "x" * 80
    assert system_label("a" * 50 + "b" * 50) == "a" * 40 + "…" + "b" * 40


def test_names_are_escaped() -> None:
    assert "<img" not in system_badge(0, "<img>")

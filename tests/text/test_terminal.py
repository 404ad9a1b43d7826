"""Nothing from outside reaches the terminal as a command to it."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.show.text import grid, terminal_safe

ESCAPED = {
    "\x1b[2Jgone": r"\u001b[2Jgone",
    "one\ntwo\r\ttab": r"one\ntwo\r\ttab",
    "\u202eabc\u2066\u200e": r"\u202eabc\u2066\u200e",
    "\x9b31m \x7f \x00 \x85": r"\u009b31m \u007f \u0000 \u0085",
    "a\u2028b\u2029c": r"a\u2028b\u2029c",
    "\ufeff\u200b\u00ad": r"\ufeff\u200b\u00ad",
    "\U000e0041": r"\udb40\udc41",
    "half \ud83d": r"half \ud83d",
}
UNCHANGED = [
    "plain",
    "",
    "émigré naïve",
    "你好\u3000世界",
    "👩‍👩‍👧 👍🏽",
    "می‌خواهم",
    "क्‍ष",
    "back\\slash",
    "no\u00a0break",
]


@pytest.mark.parametrize(("text", "shown"), ESCAPED.items(), ids=ESCAPED.values())
def test_control_characters_and_bidi_marks_are_shown_escaped(text: str, shown: str) -> None:
    assert terminal_safe(text) == shown


@pytest.mark.parametrize("text", UNCHANGED)
def test_visible_characters_and_joiners_are_unchanged(text: str) -> None:
    assert terminal_safe(text) == text


def test_line_breaks_of_a_layout_can_be_kept() -> None:
    assert terminal_safe("a\nb\x1bc\r\n", newlines=True) == "a\nb\\u001bc\\r\n"


@given(st.text())
def test_no_text_leaves_a_control_character(text: str) -> None:
    safe = terminal_safe(text)
    assert not {unicodedata.category(character) for character in safe} & {"Cc", "Cs", "Zl", "Zp"}
    assert not set(safe) & set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    assert terminal_safe(safe) == safe


@given(st.dictionaries(st.text(), st.text()))
def test_safe_json_is_the_same_json(values: dict[str, str]) -> None:
    safe = terminal_safe(json.dumps(values, indent=2, ensure_ascii=False), newlines=True)
    assert json.loads(safe) == values


def test_table_cells_are_safe_and_aligned() -> None:
    table = grid(["metric", "A\x1b[31m"], [["len\ngth", "1.000\u202e"], ["bleu", "2"]])
    assert table.splitlines() == [
        r"metric    A\u001b[31m",
        "────────  ───────────",
        r"len\ngth  1.000\u202e",
        "bleu                2",
    ]

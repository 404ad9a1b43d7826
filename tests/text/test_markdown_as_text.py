"""Markdown as its reader sees it."""

from __future__ import annotations

import pytest

from rejoinder.text.markdown import without_markdown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello there.", "Hello there."),
        ("## A heading\n\nText", "A heading\n\nText"),
        ("- one\n* two\n3. three\n  4) four", "one\ntwo\nthree\nfour"),
        ("- [x] done\n- [ ] open", "done\nopen"),
        ("This is **bold**, __bold__, *italic* and ~~gone~~.", "This is bold, bold, italic and gone."),
        ("See [the page](https://example.org/a_b) and ![a cat](cat.png).", "See the page and a cat."),
        ("Use `x = 1`:\n```python\nx = 1\n```\nDone.", "Use x = 1:\n\nx = 1\n\nDone."),
        ("> quoted\n> twice", "quoted\ntwice"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "a, b\n\n1, 2"),
        ("one\n\n---\n\ntwo", "one\n\n\n\ntwo"),
        # What is no Markdown stays.
        ("2 * 3 * 4 = 24", "2 * 3 * 4 = 24"),
        ("snake_case_name and 3 > 2", "snake_case_name and 3 > 2"),
        ("I have 3. That is all", "I have 3. That is all"),
        ("a * b\n", "a * b"),
        ("[not a link] (aside)", "[not a link] (aside)"),
        ("-5 degrees", "-5 degrees"),
        ("", ""),
    ],
)
def test_what_is_read(text: str, expected: str) -> None:
    assert without_markdown(text) == expected


@pytest.mark.parametrize("text", ["*" * 5000, "[" * 5000, "|" * 3000, "`" * 5000, "- " * 4000, "**a" * 3000])
def test_odd_text_takes_no_time(text: str) -> None:
    assert len(without_markdown(text)) <= len(text)

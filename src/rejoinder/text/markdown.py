"""Markdown as the text that its reader sees."""

from __future__ import annotations

import re

# What marks form is removed, and what is said is kept: words of headings, items, cells and links, and code itself.


_LINES = (
    (re.compile(r"^[ \t]*(?:```|~~~).*$", re.M), ""),  # the fences of code
    (re.compile(r"^[ \t]*(?:[-*_][ \t]*){3,}$", re.M), ""),  # rules
    (re.compile(r"^[ \t]*\|?(?:[ \t]*:?-{3,}:?[ \t]*\|)+[ \t]*:?-*:?[ \t]*$", re.M), ""),  # below a table's head
    (re.compile(r"^[ \t]{0,3}#{1,6}[ \t]+(.*?)[ \t]*#*$", re.M), r"\1"),  # headings
    (re.compile(r"^[ \t]*>[ \t]?", re.M), ""),  # quotations
    (re.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?", re.M), ""),  # items
)
_WORDS = (
    (re.compile(r"!?\[([^\]\n]*)\]\([^)\s]*(?:[ \t]+\"[^\"\n]*\")?\)"), r"\1"),  # links and pictures
    (re.compile(r"(\*\*\*|\*\*|__|~~)(?=\S)(.+?)(?<=\S)\1", re.S), r"\2"),  # bold, struck out
    (re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]+?)(?<=[^\s*])\*(?![\w*])"), r"\1"),  # italic
    (re.compile(r"`{1,2}([^`\n]+)`{1,2}"), r"\1"),  # code within a line
)
_CELLS = re.compile(r"^[ \t]*\|(.*)\|[ \t]*$", re.M)
_MARKS = frozenset("#*_`~|[>-+•")


def without_markdown(text: str) -> str:
    """The text without the marks of Markdown; a text without any is returned as it is."""
    if "\n" not in text and _MARKS.isdisjoint(text):
        return text
    for pattern, kept in (*_LINES, *_WORDS):
        text = pattern.sub(kept, text)
    text = _CELLS.sub(lambda row: ", ".join(filter(None, map(str.strip, row[1].split("|")))), text)
    return text.strip()

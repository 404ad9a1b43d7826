"""Replies that are written in Markdown, as HTML: lists as lists and code as code, without images and links.

Assistants answer in Markdown, and people should judge what users of a chat window see. markdown-it parses the text; the
HTML is made here, from the few kinds of token below, with every text escaped. Raw HTML stays text, an image or a link
stays as it was typed, so that nothing is loaded or followed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from rejoinder.show.markup import Html, element, escaped, joined

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_LONGEST = 20_000
"""Characters; a longer text is shown as it was typed."""
_BEGINS = re.compile(r"(?m)^\s*(?:#{1,6}\s|[-*+]\s|\d{1,9}[.)]\s|>|```|~~~|\|)|\*\*\S|`[^`\n]")
"""A text without any of these is not parsed."""
_BLOCKS = {
    "paragraph": "p",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    "blockquote": "blockquote",
    "table": "table",
    "thead": "thead",
    "tbody": "tbody",
    "tr": "tr",
    "th": "th",
    "td": "td",
    "strong": "strong",
    "em": "em",
}
"""Kind of token -> its element."""
_WITHIN_LINES = {"strong", "code_inline"}
_PLAIN = {"paragraph", "inline", "text", "softbreak", "hardbreak", "em"}
"""What does not make a text Markdown: *waves* is an ordinary way to write in chat."""


def markdown_html(text: str) -> Html | None:
    """The text as HTML; None where it has no list, heading, table, quotation, code or bold words."""
    if len(text) > _LONGEST or not _BEGINS.search(text):
        return None
    tokens = _parser().parse(text)
    flat = [child for token in tokens for child in [token, *(token.children or [])]]
    kinds = {token.type.removesuffix("_open") for token in flat if token.nesting >= 0} - _PLAIN
    # One line such as "2016. That was a good year" is no list.
    return _rendered(tokens) if (kinds if "\n" in text.strip() else kinds & _WITHIN_LINES) else None


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # imported where a page shows replies only

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 20})
    # An indented line of a chat is no code, and a line of dashes below a sentence makes it no heading.
    return parser.enable("table").disable(["image", "link", "autolink", "reference", "code", "lheading"])


def _rendered(tokens: Sequence[Token]) -> Html:
    """The tokens as HTML; an unknown kind is shown as text."""
    stack: list[tuple[Token | None, list[Html]]] = [(None, [])]
    for token in tokens:
        if token.nesting == 1:
            stack.append((token, []))
        elif token.nesting == -1:
            opened, inside = stack.pop()
            stack[-1][1].append(_wrapped(opened, joined(inside)) if opened is not None else joined(inside))
        else:
            stack[-1][1].append(_leaf(token))
    return joined(part for _, parts in stack for part in parts)


def _wrapped(opened: Token, inside: Html) -> Html:
    kind = opened.type.removesuffix("_open")
    if kind == "paragraph" and opened.hidden:  # in a list without blank lines
        return inside
    if kind == "heading":  # not h1 to h6: these belong to the page
        return element("p", element("strong", inside), class_="heading")
    first = opened.attrs.get("start") if kind == "ordered_list" else None
    return element(_BLOCKS[kind], inside, start=first) if kind in _BLOCKS else inside


def _leaf(token: Token) -> Html:
    if token.type == "inline":
        return _rendered(token.children or [])
    if token.type == "fence":
        return element("pre", element("code", token.content))
    if token.type == "code_inline":
        return element("code", token.content)
    if token.type in {"softbreak", "hardbreak"}:
        return Html("<br>")
    if token.type == "hr":
        return Html("<hr>")
    return escaped(token.content)

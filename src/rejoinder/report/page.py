"""A self-contained page: sections in one HTML file that fetches nothing and runs no script but our own.

The Content-Security-Policy forbids everything that is not in the file, and allows our scripts by their SHA-256: even
markup that was injected by a reply could not run.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import Template

from rejoinder._version import __version__
from rejoinder.figures.markup import Html, element, escaped, joined

SCRIPTS = ("theme.js", "rows.js", "cells.js", "browse.js")
"""In the order in which they run: the later ones use what the earlier ones define."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page with a title; its body is made with `markup`, `tables` and `figures`."""

    title: str
    html_body: Html
    short: str = ""
    """A shorter title for the page's menu."""
    folded: bool = False
    """Whether only the title is visible until the reader opens the section."""


def render_page(
    title: str,
    sections: Sequence[Section],
    *,
    question: str = "",
    lead: Html | None = None,
    data: Html | None = None,
) -> str:
    """The whole HTML file: the question that the page answers, lead, and the sections with a menu of links to them.

    `title` says what the page is about; it is the heading where there is no question. `data` is the input of the
    scripts: see `embedded`.
    """
    scripts = [_resource(name) for name in SCRIPTS]
    anchors = [_anchor(number, section.title) for number, section in enumerate(sections)]
    return Template(_resource("page.html")).substitute(
        policy=_policy(scripts),
        title=escaped(title),
        heading=_heading(title, question),
        version=escaped(__version__),
        style=Html(_resource("page.css")),
        menu=joined(_menu_entry(section, anchor) for section, anchor in zip(sections, anchors, strict=True)),
        lead=lead or "",
        sections=joined(_section(section, anchor) for section, anchor in zip(sections, anchors, strict=True)),
        data=data or "",
        scripts=joined(Html(f"<script>{script}</script>\n") for script in scripts),
    )


def _heading(title: str, question: str) -> Html:
    heading = element("h1", question or title, dir="auto")
    return joined([element("p", title, class_="about", dir="auto"), heading]) if question else heading


def _menu_entry(section: Section, anchor: str) -> Html:
    return element("li", element("a", section.short or section.title, href=f"#{anchor}"))


def _section(section: Section, anchor: str) -> Html:
    heading, body = element("h2", section.title, id=f"{anchor}-title"), _checked(section)
    if section.folded:
        heading, body = element("details", element("summary", heading), body, class_="folded"), Html("")
    return element("section", heading, body, id=anchor, aria_labelledby=f"{anchor}-title")


def _checked(section: Section) -> Html:
    """The body; a TypeError if it is a plain string, which may contain unescaped text."""
    if not isinstance(section.html_body, Html):
        raise TypeError(f"section {section.title!r}: the body must be Html, made with rejoinder.figures.markup")
    return section.html_body


def _anchor(number: int, title: str) -> str:
    """The id for links: the words of the title, with a number that makes it unique."""
    words = "-".join(re.findall("[a-z0-9]+", title.lower()))
    return f"part-{number + 1}-{words}".removesuffix("-")


def _policy(scripts: Sequence[str]) -> str:
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _resource(name: str) -> str:
    return (files("rejoinder.report") / name).read_text(encoding="utf-8")

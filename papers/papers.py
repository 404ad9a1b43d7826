"""The page `papers`: every table and figure of the papers, whether it can be reproduced, and what reproduces it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from papers.conclusions import CONCLUSIONS, Conclusion
from papers.documents import Document
from papers.inputs import Inputs
from papers.published import PAPERS, Paper

SECTIONS = ("papers", "pages")
_WIDTH, _INDENT = 100, 36  # of the list for the terminal

INTRODUCTION = """\
# The papers' tables and figures

This page lists every table and figure of the five papers that this package follows. Each is in one of four states:

- *reproducible here*: the paper's own data are public, and our figures are measured on them, in some cases with another
  evaluator, which is then named;
- *on other data*: the paper's data are not available, and our figures are measured on the data that are named;
- *data no longer public*: there is nothing to measure it on;
- *nothing measured*: a diagram, an invented example or a list of settings.

`python -m papers NAME --data FOLDER -o page.md` makes a table or figure again by its name in the first column, or a
whole page by the name of the page. `rejoinder experiment` runs the papers' experiments with any evaluator on your
own judged replies ([experiments.md](../reference/experiments.md))."""

CONCLUSIONS_TEXT = """\
What the paper concludes, what we find, and whether the conclusion holds:"""

PAGES_TEXT = """\
## The pages

Times are for one core and an empty cache. What takes long is cached (`--cache`), so that an interrupted run continues
where it stopped."""


@dataclass(frozen=True, slots=True)
class Settings:
    """There are none."""


def make(inputs: Inputs, settings: Settings, sections: Sequence[str]) -> Document:  # noqa: ARG001
    """The list of all tables and figures, and that of all pages."""
    document = Document("papers")
    document.text(INTRODUCTION)
    if "papers" in sections:
        for paper in PAPERS:
            _paper(document, paper)
    if "pages" in sections:
        _pages(document)
    return document


def _paper(document: Document, paper: Paper) -> None:
    document.text(f"## {paper.authors}: {paper.title}", CONCLUSIONS_TEXT)
    found = [[*_verdict(each), page_link(each.page)] for each in CONCLUSIONS[paper.key]]
    document.table(["claim", "what we find", "holds", "page"], found)
    document.text("All tables and figures:")
    rows = [[item.key(paper), item.title, item.state.value, item.data, page_link(item.page)] for item in paper.items]
    document.table(["name", "what it shows", "state", "data", "page"], rows)


def add_conclusions(document: Document, name: str) -> None:
    """What the papers conclude from a table, or from all that a page shows, at the end of the document."""
    for paper in PAPERS:
        item = paper.items_by_key().get(name)
        every = CONCLUSIONS[paper.key]
        shown = [each for each in every if (item.number in each.items if item else each.page == name)]
        if shown:
            document.text(f"## What {paper.authors} conclude, and what holds here")
            document.table(["claim", "what we find", "holds"], [_verdict(each) for each in shown])


def _verdict(each: Conclusion) -> list[str]:
    return [each.claim, each.found, each.holds]


def _pages(document: Document) -> None:
    from papers.pages import PAGES  # it names this module, which is why it is imported late

    document.text(PAGES_TEXT)
    rows = [[f"[{name}]({name}.md)", page.title, page.needs, page.time] for name, page in PAGES.items()]
    document.table(["page", "what it shows", "needs", "time"], rows)


def page_link(page: str) -> str:
    """The page as a link."""
    return f"[{page}]({page}.md)" if page else "-"


def listing() -> str:
    """All pages, and all tables and figures with their state and data, for the terminal."""
    from papers.pages import PAGES

    parts = ["Pages:", *(_listed(name, page.title, f"{page.time}; needs {page.needs}") for name, page in PAGES.items())]
    for paper in PAPERS:
        parts += ["", f"{paper.authors}, {paper.title}:"]
        for item in paper.items:
            where = f" (page {item.page})" if item.page else ""
            parts.append(_listed(item.key(paper), item.title + where, f"{item.state.value}: {item.data}"))
    return "\n".join(parts)


def _listed(name: str, title: str, more: str) -> str:
    """A name with what it shows, and lines below it with the rest."""
    below = textwrap.fill(more, _WIDTH, initial_indent=" " * _INDENT, subsequent_indent=" " * _INDENT)
    return f"  {name:<{_INDENT - 4}}  {title}\n{below}"

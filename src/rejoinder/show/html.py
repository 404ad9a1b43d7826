"""A self-contained page: sections, tables, cards, glossary and data, in one HTML file that fetches nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from string import Template
from typing import Any

from rejoinder._version import __version__
from rejoinder.errors import cut
from rejoinder.show.document import (
    Block,
    Cell,
    Column,
    Document,
    Facts,
    Figures,
    Made,
    Marked,
    ReplyTexts,
    Say,
    Section,
    SystemName,
    Table,
    VerdictText,
    text_columns,
)
from rejoinder.show.markup import UNKNOWN, Html, element, escaped, joined, own_text
from rejoinder.show.plots import drawn_panel, series_class
from rejoinder.show.text import counted, inflected, system_label

# A self-contained page: sections in one HTML file that fetches nothing and runs no script but our own.
#
# The Content-Security-Policy forbids everything that is not in the file, and allows our scripts by their SHA-256: even
# markup that was injected by a reply could not run.


SCRIPTS = ("theme.js", "rows.js", "cells.js", "browse.js")
"""In the order in which they run: the later ones use what the earlier ones define."""


def render_page(
    title: str,
    sections: Sequence[Section],
    *,
    question: str = "",
    lead: Html | None = None,
    data: Html | None = None,
    seed: int = 0,
) -> str:
    """The whole HTML file: the question that the page answers, lead, and the sections with a menu of links to them.

    `title` says what the page is about; it is the heading where there is no question. `data` is the input of the
    scripts: see `script_json`. `seed` is for the noise of scatter plots.
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
        sections=joined(_section(section, anchor, seed) for section, anchor in zip(sections, anchors, strict=True)),
        data=data or "",
        scripts=joined(Html(f"<script>{script}</script>\n") for script in scripts),
    )


def _heading(title: str, question: str) -> Html:
    heading = element("h1", question or title, dir="auto")
    return joined([element("p", title, class_="about", dir="auto"), heading]) if question else heading


def _menu_entry(section: Section, anchor: str) -> Html:
    return element("li", element("a", section.short or section.title, href=f"#{anchor}"))


def _section(section: Section, anchor: str, seed: int) -> Html:
    heading = element("h2", section.title, id=f"{anchor}-title")
    body = joined(blocks_html(section.blocks, seed=seed))
    if section.folded:
        heading, body = element("details", element("summary", heading), body, class_="folded"), Html("")
    return element("section", heading, body, id=anchor, aria_labelledby=f"{anchor}-title")


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
    return (files("rejoinder.show") / name).read_text(encoding="utf-8")


# HTML tables and lists of facts, with every cell escaped.


def html_table(
    header: Sequence[object],
    rows: Iterable[Sequence[object]],
    *,
    caption: str,
    left: int = 1,
    class_: str | None = None,
    stacked: Sequence[str] | None = None,
) -> Html:
    """A table in a box that scrolls on narrow screens.

    The first `left` columns are left-aligned, the others are numbers and right-aligned; the first is the row's header.
    A cell is text, or markup from `rejoinder.show.markup`. The caption is for screen readers only. With `stacked`,
    the names of the columns as text, narrow screens show each row as a block in which every cell has its name.
    """
    head = element("tr", *(_cell("th", cell, place, left, scope="col") for place, cell in enumerate(header)))
    body = joined(_row(row, len(header), left, stacked) for row in rows)
    table = element(
        "table",
        element("caption", caption, class_="read-out"),
        element("thead", head),
        element("tbody", body),
        class_=f"{class_ or ''} stacked".strip() if stacked else class_,
    )
    return element("div", table, class_="scrolls", role="region", aria_label=caption, tabindex="0")


def _row(cells: Sequence[object], expected: int, left: int, names: Sequence[str] | None) -> Html:
    if len(cells) != expected:
        raise ValueError(f"a row has {len(cells)} cells: expected {expected}, as in the header")
    first = _cell("th", cells[0], 0, left, scope="row")
    named = [None, *names[1:]] if names else [None] * expected
    others = [_cell("td", cell, place, left, name=named[place]) for place, cell in enumerate(cells) if place]
    return element("tr", first, *others)


def _cell(tag: str, content: object, place: int, left: int, scope: str | None = None, name: str | None = None) -> Html:
    return element(tag, content, scope=scope, data_label=name, class_=None if place < left else "number")


# Technical terms, explained where they occur: a tooltip in the text, and a list at the end of the page.


TERMS = {
    "significant": "If the systems were equally good, a difference this large would be seen in fewer than 1 of 20 "
    "comparisons.",
    "80% power": "With this many contexts, a true difference of that size would be found in 8 of 10 comparisons.",
    "primary metric": "The metric that was chosen in advance to decide; the others only add evidence.",
    "secondary evidence": "Other metrics. They do not decide, and their p-values are corrected for their number.",
    "95 % interval": "The range that would contain the true mean in 95 of 100 such samples.",
    "percentile": "The share of all replies with a lower score by the same metric.",
    "p": "The probability of a difference at least this large if the systems were equally good.",
    "effect": "The difference in standard deviations: below 0.2 is very small, above 0.8 is large (Cohen, 1988).",
    "group": "Systems of one group do not differ significantly.",
    "Spearman": "Rank correlation: 1 is the same order as people give, 0 is no relation.",
    "Pearson": "Linear correlation: 1 is a straight line with people's ratings, 0 is no relation.",
    "Kendall": "Rank correlation that counts pairs of replies in the same order as people give.",
    "scored": "The number of replies that the metric could score.",
    "split half": "The mean ratings of two halves of the raters, correlated with each other.",
    "cluster": "Metrics of one cluster do not agree with people significantly better or worse than each other.",
}
"""Term -> explanation."""

_IN_TEXT = ("significant", "80% power", "primary metric", "secondary evidence")
"""Terms that are looked for in sentences; shorter ones, such as p, could be names in the data."""
_FOUND = re.compile("|".join(rf"\b{re.escape(name)}(?:ly)?\b" for name in _IN_TEXT), re.IGNORECASE)


def with_tooltips(sentences: Iterable[str]) -> list[Html]:
    """The sentences as markup, with a tooltip at the first occurrence of each term."""
    seen: set[str] = set()
    return [_with_tooltips(sentence, seen) for sentence in sentences]


def term(name: str, shown: str | None = None) -> Html:
    """One term with its tooltip."""
    return element("abbr", shown or name, title=TERMS[name])


def glossary() -> Html:
    """All terms with their explanations, for readers without a mouse."""
    entries = [element("div", element("dt", name), element("dd", text)) for name, text in TERMS.items()]
    return element("dl", *entries, class_="terms")


def _with_tooltips(sentence: str, seen: set[str]) -> Html:
    parts: list[object] = []
    end = 0
    for match in _FOUND.finditer(sentence):
        name = match[0].lower().removesuffix("ly")
        if name in seen:
            continue
        seen.add(name)
        parts += [sentence[end : match.start()], term(name, match[0])]
        end = match.end()
    return joined([*parts, sentence[end:]])


# Documents: the blocks of a result as sections of a page.
#
# The words are those of the terminal and of JSON. The same result gives the same file, byte for byte: it contains no
# time stamp or host name.


HOW_SURE = "How sure this is, and what other metrics show"
LONGEST_SENTENCE = 700
MOST_NOTES = 4
"""Notes that are shown beside the verdict; of more, the others follow at the end of the page."""
MOST_STACKED = 7
"""Columns of a table whose rows are shown as blocks where the screen is narrow; wider tables are scrolled."""
SIGNATURES_INTRO = (
    "A signature contains everything that determines a number. Quote it with the number, so that others can reproduce "
    "it."
)


def document_page(document: Document, notes: Sequence[str]) -> str:
    """The whole HTML file of a document: the verdict and the notes, and then its sections."""
    lead: list[Html] = []
    sections: list[Section] = []
    loose: list[Block] = []
    data = Html("")
    for block in _made(document.blocks):
        if isinstance(block, ReplyTexts):
            found, data = block.render()
            sections += found
        elif isinstance(block, Section):
            sections.append(block)
        elif isinstance(block, VerdictText):
            lead += blocks_html([block], seed=document.seed)
        elif "html" in block.only:
            loose.append(block)
    if loose:
        sections.insert(0, Section(document.title, loose))
    shown = [section for section in sections if "html" in section.only]
    run = [f"{count:,} {inflected(count, *noun)}" for count, *noun in document.counts]
    about = " · ".join([*run, *([f"seed {document.seed}"] if document.resamples else []), f"rejoinder {__version__}"])
    lead += [element("p", about, class_="run"), _note_list(notes[:MOST_NOTES], "notes note")]
    more = notes[MOST_NOTES:]
    if more:
        lead.append(element("p", f"{counted(len(more), 'more note')} at the end of this page.", class_="note"))
    return render_page(
        document.title,
        [*shown, _origin(document, more)],
        question=document.question,
        lead=joined(lead),
        data=data,
        seed=document.seed,
    )


def _note_list(notes: Sequence[str], class_: str = "notes") -> Html:
    entries = (element("li", note, dir="auto") for note in notes)
    return element("ul", *entries, class_=class_) if notes else Html("")


def _origin(document: Document, notes: Sequence[str]) -> Section:
    """Where the numbers come from: metric signatures, version, random seed; notes, and terms."""
    parts: list[Block | Html] = []
    if notes:
        parts += [element("h3", "Notes"), _note_list(notes)]
    if document.signatures:
        rows = [[own_text(label), element("code", signature)] for label, signature in document.signatures.items()]
        table = html_table(["metric", "signature"], rows, caption="Signatures", left=2, class_="signatures")
        parts += [element("p", SIGNATURES_INTRO, class_="intro"), table]
    run = f", seed {document.seed}, {document.resamples:,} resamples" if document.resamples else ""
    parts.append(element("p", f"Made with rejoinder {__version__}{run}."))
    parts += [element("h3", "Terms on this page"), glossary()]
    return Section("Notes, signatures and terms", parts, "Notes", folded=True)


def blocks_html(blocks: Sequence[Block | Html], *, seed: int = 0, level: int = 3) -> list[Html]:
    """Each block as markup; sections within sections have a smaller title."""
    if plain := next((block for block in blocks if isinstance(block, str) and not isinstance(block, Html)), ""):
        raise TypeError(f"{plain!r} may contain unescaped text: must be Html, made with rejoinder.show.markup")
    return [
        block if isinstance(block, Html) else _block_html(block, seed, level)
        for block in _made(blocks)
        if isinstance(block, Html) or "html" in block.only
    ]


def _made(blocks: Iterable[Block | Html]) -> Iterator[Any]:
    """The blocks, with those that are made for a page in their places."""
    for block in blocks:
        if isinstance(block, Made):
            yield from _made(block.blocks if "html" in block.only else ())
        else:
            yield block


def _block_html(block: Block, seed: int, level: int) -> Html:
    if isinstance(block, VerdictText):
        return _answer(block, seed)
    if isinstance(block, Say):
        if block.lines:
            return _note_list(block.sentences)
        return element("p", " ".join(block.sentences), class_="intro", dir="auto")
    if isinstance(block, Table):
        return _table_html(block)
    if isinstance(block, Facts):
        facts = [
            element("div", element("dt", name), element("dd", Column(name).text(value)))
            for name, value in block.facts.items()
        ]
        return element("dl", *facts, class_="facts")
    if isinstance(block, Figures):
        captions = block.captions or [""] * len(block.panels)
        cards = [
            figure_card(panel.title, drawn_panel(panel, seed=seed), caption)
            for panel, caption in zip(block.panels, captions, strict=True)
        ]
        return element("div", *cards, class_="panels")
    if isinstance(block, Section):
        inside = joined(blocks_html(block.blocks, seed=seed, level=level + 1))
        if block.folded:
            return element("details", element("summary", block.title), inside)
        return joined([element(f"h{level}", own_text(block.title)), inside])
    raise TypeError(f"{type(block).__name__} stands at the top of a document: only there it can be shown")


def _answer(block: VerdictText, seed: int) -> Html:
    """The first sentence large, why and what to do next below it, the others folded, and a figure beside them."""
    told = with_tooltips(cut(sentence, LONGEST_SENTENCE) for sentence in (*block.sentences, *block.more))
    told = [_with_code(sentence) for sentence in told]
    first, others, folded = told[0], told[1 : block.visible], [] if block.visible is None else told[block.visible :]
    words = [element("p", first, class_="answer", dir="auto")]
    if others:
        words.append(_because(others))
    if block.next_step:
        words.append(element("p", _with_code(joined([block.next_step])), class_="next", dir="auto"))
    if folded:
        words.append(element("details", element("summary", HOW_SURE), _because(folded)))
    figure = Html("")
    if block.figure is not None:
        caption = element("figcaption", block.caption)
        title = element("h2", own_text(block.figure.title))
        figure = element("figure", title, drawn_panel(block.figure, seed=seed), caption, class_="panel")
    return element("div", element("div", *words), figure, class_="verdict")


def _with_code(sentence: Html) -> Html:
    """Commands, which sentences have between backticks, as code."""
    return Html(re.sub(r"`((?:rejoinder |--)[^`<>]+)`", r"<code>\1</code>", sentence))


def _because(sentences: Sequence[Html]) -> Html:
    return element("ul", *(element("li", sentence, dir="auto") for sentence in sentences), class_="because")


def _table_html(table: Table) -> Html:
    columns, rows = table.shown_in("html")
    header = [_heading_cell(column.name) for column in columns]
    cells = [[_cell_html(column, cell) for column, cell in zip(columns, row, strict=True)] for row in rows]
    names = [column.label for column in columns]
    caption = table.title or ", ".join(filter(None, names))
    left = text_columns(columns, rows)
    stacked = names if left == 1 and len(names) <= MOST_STACKED else None
    body = html_table(header, cells, caption=caption, left=left, class_="glance", stacked=stacked)
    title = element("p", table.title, class_="intro", dir="auto") if table.title else Html("")
    note = element("p", _with_code(joined([table.note])), class_="note", dir="auto") if table.note else Html("")
    return spaced(joined([title, body, note]))


def _heading_cell(name: str | SystemName) -> Html:
    if isinstance(name, SystemName):
        return system_badge(name.number, name.name)
    return term(name) if name in TERMS else own_text(name)


def _cell_html(column: Column, cell: Cell) -> Html:
    if isinstance(cell, Marked):
        return element("strong", _cell_html(column, cell.cell), class_="best")
    if isinstance(cell, SystemName):
        return system_badge(cell.number, cell.name)
    text = column.text(cell)
    return own_text(text) if isinstance(cell, str) else escaped(UNKNOWN if text == "-" else text)


def figure_card(title: str, figure: Html, caption: str = "") -> Html:
    """A figure below its title, with an optional caption."""
    below = [element("figcaption", caption)] if caption else []
    return element("article", element("h3", own_text(title)), element("figure", figure, *below), class_="panel")


# Data as JSON inside a page, escaped so that no text in it can end its script element.


# "<" starts "</script>" and "<!--"; ">" and "&" are escaped too, so that no markup remains.
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def script_json(value: Any, element_id: str) -> Html:
    """A script element with JSON, which a browser does not execute."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # JSON has these characters only inside strings, where the escapes are valid.
    return element("script", Html(text.translate(_ESCAPES)), type="application/json", id=element_id)


# Names of systems as a report shows them.


def system_badge(number: int, name: str) -> Html:
    """The system's name next to a dot in its colour."""
    return element("span", own_text(system_label(name)), class_=f"system {series_class(number)}")


def spaced(block: Html) -> Html:
    """A block with space above it."""
    return element("div", block, style="margin-top: 1.25rem")

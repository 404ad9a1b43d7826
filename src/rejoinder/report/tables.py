"""HTML tables and lists of facts, with every cell escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rejoinder.figures.markup import Html, element, joined


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
    A cell is text, or markup from `rejoinder.figures.markup`. The caption is for screen readers only. With `stacked`,
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


def fact_list(facts: Iterable[tuple[str, str]]) -> Html:
    """A list of (name, value)."""
    entries = [element("div", element("dt", name), element("dd", value)) for name, value in facts]
    return element("dl", *entries, class_="facts")


def _row(cells: Sequence[object], expected: int, left: int, names: Sequence[str] | None) -> Html:
    if len(cells) != expected:
        raise ValueError(f"a row has {len(cells)} cells: expected {expected}, as in the header")
    first = _cell("th", cells[0], 0, left, scope="row")
    named = [None, *names[1:]] if names else [None] * expected
    others = [_cell("td", cell, place, left, name=named[place]) for place, cell in enumerate(cells) if place]
    return element("tr", first, *others)


def _cell(tag: str, content: object, place: int, left: int, scope: str | None = None, name: str | None = None) -> Html:
    return element(tag, content, scope=scope, data_label=name, class_=None if place < left else "number")

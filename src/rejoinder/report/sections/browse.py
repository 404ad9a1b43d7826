"""The table of replies that can be searched, filtered and sorted: its frame, and the data for the script."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from rejoinder.figures.markup import Html, element, joined, own_text, printable
from rejoinder.figures.numbers import decimals_of
from rejoinder.report.chosen import ChosenRows
from rejoinder.report.embedded import script_json
from rejoinder.report.page import Section
from rejoinder.report.reasons import Reasons
from rejoinder.report.sections.names import system_label
from rejoinder.report.sections.replies import Examples, row_name, without_texts
from rejoinder.report.sections.thread import turns_of
from rejoinder.scoring.slices import LENGTH, TURNS, in_order, length_of
from rejoinder.scoring.slices import turns_of as turns_before
from rejoinder.scoring.table import ScoreTable
from rejoinder.stats.formatting import counted

DATA_ID = "replies-data"
NEEDS_SCRIPT = "This table needs JavaScript; the rest of the report does not."
SIGNIFICANT = 6
"""Significant digits of a score in the embedded data, which halve its size."""

KEYS = (
    "The search finds text in replies, contexts, systems and ids, and takes conditions on scores. Keys, while the "
    "table has the focus: / search, j and k next and previous reply, Enter opens it, n and p next and previous page. "
    "The address of this page keeps search, filters and order: copy it to share them."
)

_FIELD_LABELS = {LENGTH: "Length of the reply", TURNS: "Turns before the reply"}

Key = TypeVar("Key", bound=Hashable)


def browse_section(table: ScoreTable, examples: Examples, chosen: ChosenRows) -> Section:
    """The controls and an empty table; without JavaScript, a note is shown instead."""
    sides = side_by_side(table)
    said = [element("p", how_many(chosen), class_="intro")]
    if examples is None:
        said.append(without_texts())
    no_script = element("p", NEEDS_SCRIPT, class_="note")
    not_printed = element("p", "The table is not printed.", class_="note print-only")
    frame = element(
        "div",
        _controls(table, slice_filters(table, examples, chosen), sides),
        _frame(table, examples is not None),
        element("div", id="contexts", class_="contrasts", hidden=True),
        _pager(),
        _tools(table),
        id="browser",
        hidden=True,
    )
    return Section(
        "All replies" if chosen.total == len(chosen.listed) else "A sample of the replies",
        joined([*said, element("noscript", no_script), not_printed, frame]),
        "All replies",
        folded=True,
    )


def side_by_side(table: ScoreTable) -> bool:
    """Whether the replies of several systems to one context can be shown together."""
    return table.grouping is not None and len(table.system_names) > 1


def how_many(chosen: ChosenRows) -> str:
    """A sentence on which replies the table lists."""
    listed = len(chosen.listed)
    if listed == chosen.total:
        return f"{counted(chosen.total, 'reply', 'replies')}. Click on a column's name to sort by it."
    return f"A random sample of {listed:,} of {chosen.total:,} replies (seed {chosen.seed})."


def browse_data(
    table: ScoreTable, examples: Examples, chosen: ChosenRows, reasons: Reasons, primary: str | None = None
) -> Html:
    """The script's data as JSON; contexts and references that occur several times are stored once."""
    decides = table.metrics[0] if primary is None else primary
    contexts: dict[Any, int] = {}
    references: dict[Any, int] = {}
    rows = []
    columns = [table[label] for label in table.metrics]
    filters = slice_filters(table, examples, chosen)
    for place, row in enumerate(chosen.listed):
        entry: dict[str, Any] = {
            "id": printable(row_name(table, row, examples.get(row) if examples else None)),
            "system": int(table.system_of[row]),
            "scores": [_score(column[row]) for column in columns],
        }
        if examples is not None:
            example = examples[row]
            turns = tuple((printable(turn.speaker), turn.own, printable(turn.text)) for turn in turns_of(example))
            entry["response"] = printable(example.response)
            entry["context"] = _number_of(turns, contexts)
            entry["references"] = _number_of(tuple(map(printable, example.references)), references)
        if table.grouping is not None:
            entry["group"] = int(table.grouping.contexts[row])
        entry["slices"] = [int(slices.codes[place if slices.partial else row]) for slices in filters]
        if row in reasons:
            entry["reasons"] = [[printable(label), printable(said)] for label, said in reasons[row].items()]
        rows.append(entry)
    data = {
        "metrics": [_metric(label, column) for label, column in zip(table.metrics, columns, strict=True)],
        "systems": [printable(system_label(name)) for name in table.system_names],
        "contexts": list(contexts),
        "references": list(references),
        "texts": examples is not None,
        "sides": side_by_side(table),
        "primary": table.metrics.index(decides),
        "higher": table.higher_is_better.get(decides, True),
        "rows": rows,
    }
    return script_json(data, DATA_ID)


def _number_of(value: Key, numbers: dict[Key, int]) -> int:
    return numbers.setdefault(value, len(numbers))


def _score(value: float) -> float | None:
    return float(f"{value:.{SIGNIFICANT}g}") if math.isfinite(value) else None


def _metric(label: str, column: np.ndarray) -> dict[str, Any]:
    known = column[np.isfinite(column)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    return {"label": printable(label), "decimals": decimals_of(column), "low": min(low, 0.0), "high": high}


@dataclass(frozen=True, slots=True)
class SliceFilter:
    """A field to filter by: its values, and the value of each row."""

    field: str
    values: tuple[str, ...]
    codes: np.ndarray
    partial: bool
    """Whether the codes are those of the listed rows only."""


def slice_filters(table: ScoreTable, examples: Examples, chosen: ChosenRows) -> list[SliceFilter]:
    """The fields of `--by`, and where there are texts the length of the reply and the number of turns before it."""
    filters = [SliceFilter(one.field, one.values, one.codes, partial=False) for one in table.slices]
    computed = {LENGTH: length_of, TURNS: turns_before} if examples else {}
    for name, read in computed.items():
        if examples is None or name in {one.field for one in filters}:
            continue
        found = [read(examples[row]) for row in chosen.listed]
        values = in_order(name, set(found))
        filters.append(SliceFilter(name, tuple(values), np.array([values.index(one) for one in found]), partial=True))
    return [one for one in filters if len(one.values) > 1]


def _controls(table: ScoreTable, filters: Sequence[SliceFilter], sides: bool) -> Html:
    search = element(
        "input", type="search", id="search", autocomplete="off", spellcheck="false", placeholder=_search_hint(table)
    )
    options = [element("option", "all systems", value="")]
    options += [element("option", system_label(name), value=number) for number, name in enumerate(table.system_names)]
    fields = [
        *([_view_select()] if sides else []),
        element("div", element("label", "Search", for_="search"), search, class_="field"),
        element(
            "div",
            element("label", "System", for_="system-filter"),
            element("select", *options, id="system-filter"),
            class_="field",
        ),
        *([_slice_select(filters)] if filters else []),
        _score_range(table),
    ]
    return element("div", *fields, element("p", id="found", role="status"), class_="controls")


def _search_hint(table: ScoreTable) -> str:
    """An example of what can be searched for."""
    label = table.metrics[0]
    known = table[label][np.isfinite(table[label])]
    return f"words, or {label}<{float(np.median(known)):.2g}" if len(known) and " " not in label else "words"


def _view_select() -> Html:
    options = [
        element("option", "one row per reply", value="rows"),
        element("option", "replies to one context together", value="contexts"),
    ]
    return element("div", element("label", "Show", for_="view"), element("select", *options, id="view"), class_="field")


def _tools(table: ScoreTable) -> Html:
    """Which columns are shown, downloads of what is listed, and the keys."""
    boxes = [
        element("label", Html(f'<input type="checkbox" value="{place}" checked>'), " ", own_text(label))
        for place, label in enumerate(table.metrics)
    ]
    columns = element("details", element("summary", "Columns"), element("div", *boxes), id="columns")
    downloads = [
        element("button", f"Download as {name}", type="button", id=f"download-{kind}", class_="small")
        for kind, name in (("csv", "CSV"), ("jsonl", "JSON lines"))
    ]
    return joined(
        [
            element("div", *downloads, element("span", "the replies that match", class_="note"), class_="tools"),
            columns,
            element("p", KEYS, class_="note"),
        ]
    )


def _slice_select(filters: Sequence[SliceFilter]) -> Html:
    groups = [
        element(
            "optgroup",
            *(element("option", value, value=f"{place}:{code}") for code, value in enumerate(one.values)),
            label=_FIELD_LABELS.get(one.field, one.field),
        )
        for place, one in enumerate(filters)
    ]
    select = element("select", element("option", "all replies", value=""), *groups, id="slice-filter")
    return element("div", element("label", "Slice", for_="slice-filter"), select, class_="field")


def _score_range(table: ScoreTable) -> Html:
    options = [element("option", label, value=number) for number, label in enumerate(table.metrics)]
    ends = [
        Html(f'<input type="number" step="any" id="{end}" placeholder="{shown}" aria-label="{words} score">')
        for end, shown, words in (("lowest", "from", "Lowest"), ("highest", "to", "Highest"))
    ]
    select = element("select", *options, id="range-metric")
    row = element("div", select, *ends, class_="range")
    return element("div", element("label", "Score between", for_="range-metric"), row, class_="field")


def _frame(table: ScoreTable, texts: bool) -> Html:
    first = element("th", element("span", "Details", class_="read-out"), scope="col", role="columnheader")
    names = [("system", "system"), ("response", "reply") if texts else ("id", "id")]
    names += [(f"metric-{number}", label) for number, label in enumerate(table.metrics)]
    heads = [_sort_head(key, label) for key, label in names]
    caption = element("caption", "Replies and their scores", class_="read-out")
    head = element("thead", element("tr", first, *heads, role="row"), role="rowgroup")
    # Narrow screens show rows as blocks, for which browsers do not infer roles from the tags.
    grid = element("table", caption, head, element("tbody", role="rowgroup"), class_="replies", role="table")
    region = {"role": "region", "aria_label": "Replies and their scores", "tabindex": "0"}
    return element("div", grid, class_="scrolls", id="rows", **region)


def _sort_head(key: str, label: str) -> Html:
    button = element("button", own_text(label), element("span", aria_hidden="true", class_="arrow"), type="button")
    class_ = "number" if key.startswith("metric-") else None
    return element("th", button, scope="col", role="columnheader", aria_sort="none", data_key=key, class_=class_)


def _pager() -> Html:
    back = element("button", "Previous", type="button", id="previous")
    forth = element("button", "Next", type="button", id="next")
    return element("nav", back, element("span", id="page"), forth, class_="pager", aria_label="Pages of the table")

"""The replies that a report shows and why, as chats and as a table that can be searched."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rejoinder.data.records import LENGTH, TURNS
from rejoinder.scoring.chosen_rows import ChosenRows, percentile_of, ranked_metrics
from rejoinder.scoring.table import ScoreTable, length_of, reading_order
from rejoinder.scoring.table import turn_count as turns_before
from rejoinder.show.document import PAGE, Section
from rejoinder.show.html import script_json, system_badge
from rejoinder.show.markdown import markdown_html
from rejoinder.show.markup import Html, element, joined, ordinal, own_text, printable, shown_number, value_decimals
from rejoinder.show.text import counted, system_label
from rejoinder.types import Example

Reasons = Mapping[int, Mapping[str, str]]
"""Row -> metric label -> the justification of its score, in the words of the metric."""


# Replies as chats: side by side for one context, and the best, the worst and the most disputed ones.


RECENT = 3
"""Most recent turns of a context that are always visible; older ones are collapsed."""
UNFOLDED = 2
"""Cards of a group that are always visible."""
WITHOUT_TEXTS = "Texts are not shown: this report was made from the scores alone."
EMPTY = "(empty reply)"

Examples = Mapping[int, Example] | None


@dataclass(frozen=True, slots=True)
class _Scores:
    """A table with the data of the score chips, computed once because a column may have millions of rows."""

    table: ScoreTable
    ranked: tuple[str, ...]
    decimals: Mapping[str, int]
    reasons: Reasons

    @classmethod
    def of(cls, table: ScoreTable, reasons: Reasons) -> _Scores:
        decimals = {label: value_decimals(table[label]) for label in table.metrics}
        return cls(table, ranked_metrics(table), decimals, reasons)


def why_section(table: ScoreTable, examples: Examples, chosen: ChosenRows, primary: str, reasons: Reasons) -> Section:
    """Replies to the same context side by side, and replies that metrics disagree on most."""
    scores = _Scores.of(table, reasons)
    parts: list[Html] = [] if examples is not None else [without_texts()]
    order = "which cannot judge them; by system" if table.doubt(primary) else "best reply first"
    lead = f"largest differences by {primary}, {order}"
    paired_by = table.grouping.paired_by if table.grouping else ""
    pair = f"The same {paired_by}" if paired_by in ("turn", "dialogue") else "Replies that are paired"
    for differ, title, noun in (
        (False, "The same context, different replies ", "context"),
        (True, f"{pair}, after different histories ", "pair"),
    ):
        contrasts = [rows for rows in chosen.contrasts if _differ(table, rows, examples) == differ]
        if contrasts:
            parts.append(element("h3", title, element("small", lead)))
            cards = [_contrast(scores, rows, examples, primary, own=differ) for rows in contrasts]
            parts.append(_first_of(cards, "contrasts", f"more {noun}"))
    spread = "replies that one metric ranks high and another low"
    parts.append(_group("Where metrics disagree most", spread, chosen.disputed, scores, examples))
    return Section("Why: the replies behind the numbers", parts, "Why", only=PAGE)


def _differ(table: ScoreTable, rows: Sequence[int], examples: Examples) -> bool:
    """Whether replies that are paired follow different histories."""
    if examples is not None:
        return len({examples[row].context for row in rows}) > 1
    return table.grouping is not None and bool(table.grouping.differ[table.grouping.contexts[rows[0]]])


def extremes_section(
    table: ScoreTable, examples: Examples, chosen: ChosenRows, reasons: Reasons, *, folded: bool
) -> Section:
    """The replies that are best and worst over all metrics."""
    scores = _Scores.of(table, reasons)
    parts: list[Html] = [element("p", _method(table), class_="intro")]
    lead = "by mean percentile over the metrics"
    parts.append(_group("Best", lead, chosen.best, scores, examples))
    parts.append(_group("Worst", lead, chosen.worst, scores, examples))
    return Section("Best and worst replies", parts, "Best and worst", folded=folded, only=PAGE)


def without_texts() -> Html:
    """A note on why no texts are shown, and how to show them."""
    option = element("code", "--replies")
    return element("p", WITHOUT_TEXTS, " Pass the file of replies with ", option, " to show them.", class_="note")


def row_name(table: ScoreTable, row: int, example: Example | None) -> str:
    """The reply's id, or its row number if there is none."""
    if example is not None:
        return example.id
    return table.ids[row] if table.ids else f"row {row + 1}"


def _method(table: ScoreTable) -> str:
    ranked = ranked_metrics(table)
    left_out = [label for label in table.metrics if label not in ranked]
    text = (
        "Each score is shown with its percentile among all replies; the 100th is the best. A reply can be best or "
        "worst only if at least half of the metrics could score it."
    )
    return f"{text} Not ranked: {', '.join(left_out)}." if left_out else text


def _group(title: str, lead: str, rows: Sequence[int], scores: _Scores, examples: Examples) -> Html:
    heading = element("h3", title, " ", element("small", lead))
    if not rows:
        few = "Disagreement needs at least two metrics that rank the replies." if "disagree" in title else ""
        return joined([heading, element("p", f"None to show. {few}".strip(), class_="note")])
    cards = [_card(scores, row, examples[row] if examples is not None else None) for row in rows]
    return joined([heading, _first_of(cards, "cards", "more reply", "more replies")])


def _first_of(cards: Sequence[Html], class_: str, noun: str, plural: str = "") -> Html:
    """The first cards, and the others folded away."""
    first, others = cards[:UNFOLDED], cards[UNFOLDED:]
    shown_cards = element("div", *first, class_=class_)
    if not others:
        return shown_cards
    label = element("summary", counted(len(others), noun, plural))
    return joined([shown_cards, element("details", label, element("div", *others, class_=class_), class_="more")])


def _card(scores: _Scores, row: int, example: Example | None) -> Html:
    table = scores.table
    number = int(table.system_of[row])
    name = element("span", own_text(row_name(table, row, example)), class_="id")
    head = element("header", system_badge(number, table.system_names[number]), " ", name)
    chat = _chat(example, system_label(table.system_names[number])) if example is not None else Html("")
    return element("article", head, chat, _chips(scores, row), _reasons(scores.reasons.get(row, {})), class_="card")


def _chat(example: Example, system: str) -> Html:
    turns = labelled_turns(example)
    older, recent = turns[:-RECENT], turns[-RECENT:]
    reply = element("li", _speaker(system, ", reply"), _bubble(example.response, EMPTY), class_="own reply")
    thread = element("ol", *map(_turn, recent), reply, class_="thread")
    return joined([_folded(older), thread, _references(example)])


def _folded(older: Sequence[ShownTurn]) -> Html:
    if not older:
        return Html("")
    label = element("summary", counted(len(older), "earlier turn"))
    return element("details", label, element("ol", *map(_turn, older), class_="thread"))


def _contrast(scores: _Scores, rows: Sequence[int], examples: Examples, primary: str, *, own: bool) -> Html:
    """One context, and the replies of several systems to it with their scores; each with its `own` history, where
    these differ."""
    first = examples[rows[0]] if examples is not None else None
    context = Html("") if first is None or own else _history(first)
    replies = [_answer(scores, row, examples[row] if examples is not None else None, primary, own=own) for row in rows]
    references = Html("") if first is None or own else _references(first)
    return element("article", context, element("ul", *replies, class_="answers"), references, class_="card")


def _history(example: Example) -> Html:
    """The turns before a reply; older ones are collapsed."""
    turns = labelled_turns(example)
    return joined([_folded(turns[:-RECENT]), element("ol", *map(_turn, turns[-RECENT:]), class_="thread")])


def _answer(scores: _Scores, row: int, example: Example | None, primary: str, *, own: bool) -> Html:
    table = scores.table
    number = int(table.system_of[row])
    score = element("b", shown_number(table[primary][row], scores.decimals[primary]))
    head = element("div", system_badge(number, table.system_names[number]), score, class_="from")
    if example is None:
        return element("li", head, element("span", own_text(row_name(table, row, None)), class_="id"))
    reply = _bubble(example.response, EMPTY)
    return element("li", head, _history(example), reply, _references(example)) if own else element("li", head, reply)


def _turn(turn: ShownTurn) -> Html:
    return element("li", _speaker(turn.speaker), _bubble(turn.text, "(empty)"), class_="own" if turn.own else None)


def _speaker(label: str, role: str = "") -> Html:
    return element("span", own_text(label), role, class_="speaker")


def _bubble(text: str, if_empty: str) -> Html:
    if not text.strip():
        return element("p", if_empty, class_="bubble empty")
    formatted = markdown_html(text)
    if formatted is not None:
        return element("div", formatted, class_="bubble markdown", dir="auto")
    return element("p", text, class_="bubble", dir="auto")


def _references(example: Example) -> Html:
    if not example.references:
        return Html("")
    label = element("summary", counted(len(example.references), "reference"))
    entries = [element("li", text, dir="auto") for text in example.references]
    return element("details", label, element("ul", *entries), class_="references")


def _reasons(reasons: Mapping[str, str]) -> Html:
    """Why each metric gave its score, where it says so."""
    if not reasons:
        return Html("")
    said = [
        joined([element("dt", own_text(label)), element("dd", text, dir="auto")]) for label, text in reasons.items()
    ]
    return element("dl", *said, class_="reasons")


def _chips(scores: _Scores, row: int) -> Html:
    return element("ul", *(_chip(scores, label, row) for label in scores.table.metrics), class_="chips")


def _chip(scores: _Scores, label: str, row: int) -> Html:
    column = scores.table[label]
    number = element("b", shown_number(column[row], scores.decimals[label]))
    score = [element("span", own_text(label), class_="metric"), " ", number]
    better = scores.table.higher_is_better.get(label, True)
    place = percentile_of(row, column, higher_is_better=better) if label in scores.ranked else math.nan
    if math.isnan(place):
        return element("li", *score)
    percent = round(100 * place)
    words = element("span", " percentile", class_="read-out")
    standing = element("span", ordinal(percent), words, class_="place")
    return element("li", *score, " ", standing, style=f"--place: {percent}%")


# A context as the turns of a chat, with their speakers.


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """One utterance of a context."""

    speaker: str
    own: bool
    """Whether the speaker is the one who gives the reply."""
    text: str


def labelled_turns(example: Example) -> tuple[ShownTurn, ...]:
    """The context's turns; without speaker labels, A and B alternate and A spoke last."""
    if example.speakers:
        owners = _owners(example.speakers)
        labelled = zip(example.speakers, owners, example.context, strict=True)
        return tuple(ShownTurn(speaker, own, text) for speaker, own, text in labelled)
    last = len(example.context) - 1
    alternating = [(last - place) % 2 == 1 for place in range(len(example.context))]
    return tuple(
        ShownTurn("B" if own else "A", own, text) for own, text in zip(alternating, example.context, strict=True)
    )


def _owners(speakers: Sequence[str]) -> list[bool]:
    """Which turns are by the one who replies: of two speakers, the one who did not speak last."""
    two = len(set(speakers)) == 2
    return [two and speaker != speakers[-1] for speaker in speakers]


# The table of replies that can be searched, filtered and sorted: its frame, and the data for the script.


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


def browse_section(table: ScoreTable, examples: Examples, chosen: ChosenRows) -> Section:
    """The controls and an empty table; without JavaScript, a note is shown instead."""
    sides = side_by_side(table)
    said = [element("p", how_many(chosen), class_="intro")]
    if examples is None:
        said.append(without_texts())
    no_script = element("p", NEEDS_SCRIPT, class_="note")
    not_printed = element("p", "The table is not printed.", class_="note print-only")
    back, forth = (element("button", name, type="button", id=name.lower()) for name in ("Previous", "Next"))
    turns = (back, element("span", id="page"), forth)
    frame = element(
        "div",
        _controls(table, slice_filters(table, examples, chosen), sides),
        _frame(table, examples is not None),
        element("div", id="contexts", class_="contrasts", hidden=True),
        element("nav", *turns, class_="pager", aria_label="Pages of the table"),
        _tools(table),
        id="browser",
        hidden=True,
    )
    return Section(
        "All replies" if chosen.total == len(chosen.listed) else "A sample of the replies",
        [*said, element("noscript", no_script), not_printed, frame],
        "All replies",
        folded=True,
        only=PAGE,
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
            turns = tuple((printable(turn.speaker), turn.own, printable(turn.text)) for turn in labelled_turns(example))
            entry["response"] = printable(example.response)
            entry["context"] = contexts.setdefault(turns, len(contexts))
            texts = tuple(map(printable, example.references))
            entry["references"] = references.setdefault(texts, len(references))
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
        "ranks": not table.doubt(decides),
        "rows": rows,
    }
    return script_json(data, DATA_ID)


def _score(value: float) -> float | None:
    return float(f"{value:.{SIGNIFICANT}g}") if math.isfinite(value) else None


def _metric(label: str, column: np.ndarray) -> dict[str, Any]:
    known = column[np.isfinite(column)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    return {"label": printable(label), "decimals": value_decimals(column), "low": min(low, 0.0), "high": high}


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
        values = reading_order(name, set(found))
        filters.append(SliceFilter(name, tuple(values), np.array([values.index(one) for one in found]), partial=True))
    return [one for one in filters if len(one.values) > 1]


def _controls(table: ScoreTable, filters: Sequence[SliceFilter], sides: bool) -> Html:
    label = table.metrics[0]
    known = table[label][np.isfinite(table[label])]
    hint = f"words, or {label}<{float(np.median(known)):.2g}" if len(known) and " " not in label else "words"
    search = element("input", type="search", id="search", autocomplete="off", spellcheck="false", placeholder=hint)
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

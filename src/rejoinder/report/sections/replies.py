"""Replies as chats: side by side for one context, and the best, the worst and the most disputed ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rejoinder.figures.markup import Html, element, joined, own_text
from rejoinder.figures.numbers import decimals_of, ordinal, shown
from rejoinder.report.chosen import ChosenRows, percentile_of, ranked_metrics
from rejoinder.report.page import Section
from rejoinder.report.reasons import Reasons
from rejoinder.report.sections.names import system_badge, system_label
from rejoinder.report.sections.thread import Turn, turns_of
from rejoinder.scoring.table import ScoreTable
from rejoinder.stats.formatting import counted
from rejoinder.types import Example

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
        decimals = {label: decimals_of(table[label]) for label in table.metrics}
        return cls(table, ranked_metrics(table), decimals, reasons)


def why_section(table: ScoreTable, examples: Examples, chosen: ChosenRows, primary: str, reasons: Reasons) -> Section:
    """Replies to the same context side by side, and replies that metrics disagree on most."""
    scores = _Scores.of(table, reasons)
    parts: list[Html] = [] if examples is not None else [without_texts()]
    if chosen.contrasts:
        lead = f"largest differences by {primary}, best reply first"
        parts.append(element("h3", "The same context, different replies ", element("small", lead)))
        contrasts = [_contrast(scores, rows, examples, primary) for rows in chosen.contrasts]
        parts.append(_first_of(contrasts, "contrasts", "more context"))
    spread = "replies that one metric ranks high and another low"
    parts.append(_group("Where metrics disagree most", spread, chosen.disputed, scores, examples))
    return Section("Why: the replies behind the numbers", joined(parts), "Why")


def extremes_section(
    table: ScoreTable, examples: Examples, chosen: ChosenRows, reasons: Reasons, *, folded: bool
) -> Section:
    """The replies that are best and worst over all metrics."""
    scores = _Scores.of(table, reasons)
    parts: list[Html] = [element("p", _method(table), class_="intro")]
    lead = "by mean percentile over the metrics"
    parts.append(_group("Best", lead, chosen.best, scores, examples))
    parts.append(_group("Worst", lead, chosen.worst, scores, examples))
    return Section("Best and worst replies", joined(parts), "Best and worst", folded=folded)


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
    turns = turns_of(example)
    older, recent = turns[:-RECENT], turns[-RECENT:]
    reply = element("li", _speaker(system, ", reply"), _bubble(example.response, EMPTY), class_="own reply")
    thread = element("ol", *map(_turn, recent), reply, class_="thread")
    return joined([_folded(older), thread, _references(example)])


def _folded(older: Sequence[Turn]) -> Html:
    if not older:
        return Html("")
    label = element("summary", counted(len(older), "earlier turn"))
    return element("details", label, element("ol", *map(_turn, older), class_="thread"))


def _contrast(scores: _Scores, rows: Sequence[int], examples: Examples, primary: str) -> Html:
    """One context, and the replies of several systems to it with their scores."""
    context = Html("")
    if examples is not None:
        turns = turns_of(examples[rows[0]])
        shown_turns = element("ol", *map(_turn, turns[-RECENT:]), class_="thread")
        context = joined([_folded(turns[:-RECENT]), shown_turns])
    replies = [_answer(scores, row, examples[row] if examples is not None else None, primary) for row in rows]
    references = _references(examples[rows[0]]) if examples is not None else Html("")
    return element("article", context, element("ul", *replies, class_="answers"), references, class_="card")


def _answer(scores: _Scores, row: int, example: Example | None, primary: str) -> Html:
    table = scores.table
    number = int(table.system_of[row])
    score = element("b", shown(table[primary][row], scores.decimals[primary]))
    head = element("div", system_badge(number, table.system_names[number]), score, class_="from")
    if example is None:
        return element("li", head, element("span", own_text(row_name(table, row, None)), class_="id"))
    return element("li", head, _bubble(example.response, EMPTY))


def _turn(turn: Turn) -> Html:
    return element("li", _speaker(turn.speaker), _bubble(turn.text, "(empty)"), class_="own" if turn.own else None)


def _speaker(label: str, role: str = "") -> Html:
    return element("span", own_text(label), role, class_="speaker")


def _bubble(text: str, if_empty: str) -> Html:
    if not text.strip():
        return element("p", if_empty, class_="bubble empty")
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
    number = element("b", shown(column[row], scores.decimals[label]))
    score = [element("span", own_text(label), class_="metric"), " ", number]
    better = scores.table.higher_is_better.get(label, True)
    place = percentile_of(row, column, higher_is_better=better) if label in scores.ranked else math.nan
    if math.isnan(place):
        return element("li", *score)
    percent = round(100 * place)
    words = element("span", " percentile", class_="read-out")
    standing = element("span", ordinal(percent), words, class_="place")
    return element("li", *score, " ", standing, style=f"--place: {percent}%")

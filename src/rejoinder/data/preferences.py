"""Pairwise preferences: which of two systems' replies to one context a person prefers.

A record has `a` and `b`, the names of the systems, and `winner`: one of the two names, "a" or "b", or a tie ("tie",
"draw", "both", "both good", "neither", "both bad", also as Chatbot Arena writes it: "model_a", "tie (bothbad)").
Optional are `context` or `context_id`, `rater`, `id`, and the replies `response_a` and `response_b`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rejoinder.data.formats.rows import TableRow
from rejoinder.data.source import Source
from rejoinder.data.values import FieldError, is_missing, kind_of, label_of, text_of
from rejoinder.errors import shortened
from rejoinder.types import Example

OUTCOMES = ("a", "b", "tie", "both bad")
TIES = frozenset({"tie", "tied", "draw", "equal", "same", "both", "both good"})
BOTH_BAD = frozenset({"both bad", "neither", "none", "tie both bad"})
_SIDES = {"a": "a", "b": "b", "model a": "a", "model b": "b"}


@dataclass(frozen=True, slots=True)
class Preference:
    """One judgement of two replies to the same context."""

    example: Example
    """The id and the context; its response is empty."""
    a: str
    b: str
    outcome: str
    """"a", "b", "tie" or "both bad"."""
    rater: str = ""
    responses: tuple[str, str] | None = None
    """The two replies, where the record has them."""


class PreferenceSource(Source):
    """A source of pairwise preferences."""

    _preference: Preference

    def preferences(self) -> Iterator[Preference]:
        """The preferences in order."""
        return (self._preference for _ in self.numbered())

    def _example(self, record: Any, number: int) -> Example:
        if isinstance(record, Preference):  # made by the caller, so its fields may contain anything
            if record.outcome not in OUTCOMES or record.a == record.b:
                raise FieldError("outcome", f"expected two systems and one of {', '.join(OUTCOMES)}")
            self._preference = record
            return record.example
        if not isinstance(record, dict):
            raise FieldError("", f"expected an object with fields, found {kind_of(record)}")
        # There is no single reply; the other fields are those of an example.
        without_reply = {**record, self.fields.of("response"): ""}
        example = super()._example(TableRow(without_reply) if isinstance(record, TableRow) else without_reply, number)
        a, b = self._name(record, "a"), self._name(record, "b")
        if a == b:
            raise FieldError(self.fields.of("b"), f"is the same system as {self.fields.of('a')}: {shortened(a)}")
        outcome = _outcome(self._label(record, "winner"), a, b, self.fields.of("winner"))
        replies = [self._text(record, "response_a"), self._text(record, "response_b")]
        both = None if None in replies else (replies[0] or "", replies[1] or "")
        self._preference = Preference(example, a, b, outcome, self._label(record, "rater"), both)
        return example

    def _label(self, record: dict[str, Any], ours: str) -> str:
        value = record.get(self.fields.of(ours))
        return "" if is_missing(value) else label_of(value, self.fields.of(ours))

    def _name(self, record: dict[str, Any], ours: str) -> str:
        name = self._label(record, ours)
        if not name:
            raise FieldError(self.fields.of(ours), "is missing: expected the name of a system")
        return name

    def _text(self, record: dict[str, Any], ours: str) -> str | None:
        value = record.get(self.fields.of(ours))
        return None if value is None or is_missing(value) else text_of(value, self.fields.of(ours))


def _outcome(winner: str, a: str, b: str, name: str) -> str:
    """Who won; a system's name comes before the words for ties and sides."""
    if winner in (a, b):
        return "a" if winner == a else "b"
    word = " ".join(re.findall("[a-z]+", winner.lower().replace("bothbad", "both bad")))
    if word in _SIDES:
        return _SIDES[word]
    if word in BOTH_BAD:
        return "both bad"
    if word in TIES:
        return "tie"
    found = f"found {shortened(winner)}" if winner else "found nothing"
    raise FieldError(name, f"expected {shortened(a)}, {shortened(b)}, 'tie' or 'both bad', {found}")

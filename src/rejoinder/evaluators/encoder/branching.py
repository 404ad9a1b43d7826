"""A context and the replies that branch off it, as one row of token numbers.

A row is the context, `[CLS] turn [SEP] turn [SEP] last turn [SEP]`, and then each reply twice: once going on from the
context, and once by itself, `[CLS] reply [SEP]`. Which token sees which is told by the part it is of: a context sees
itself alone, a reply that goes on from it sees both, a reply by itself sees nothing else. So a context is computed once
for all its replies, and the same numbers give what context and reply say apart and what they say together. The special
tokens are the encoder's own. Nobody is named: what was pretrained on plain sentences knows no marks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rejoinder.arrays import Ints
from rejoinder.evaluators.encoder.towers import text_ends

if TYPE_CHECKING:
    from tokenizers import Tokenizer

PADDING, EARLIER, LAST_TURN, AFTER, ALONE = range(5)
"""The parts of a row: nothing, the turns before the last, the last turn, a reply after them, a reply by itself."""
MOST_TURNS = 4

Ids = tuple[int, ...]


class Spoken(NamedTuple):
    """A context as token numbers."""

    ids: Ids
    last_turn: int
    """Where the last turn begins."""


class Row(NamedTuple):
    """A context with its replies; each (tokens,)."""

    ids: Ids
    positions: Ids
    parts: Ids
    numbers: Ids
    """Which reply a token belongs to; 0 for the context's."""


class Brancher:
    """Turns texts into rows."""

    def __init__(self, tokeniser: Tokenizer, most_context: int, most_reply: int) -> None:
        self.tokeniser = tokeniser
        self.first, self.last = text_ends(tokeniser)
        self.most_context = most_context
        self.most_reply = most_reply

    def rows(self, contexts: Sequence[Sequence[str]], replies: Sequence[Sequence[str]]) -> list[Row]:
        """One row a context, with all its replies."""
        answers = iter(self.replies([reply for each in replies for reply in each]))
        spoken = self.contexts(contexts)
        return [self.row(context, [next(answers) for _ in each]) for context, each in zip(spoken, replies, strict=True)]

    def shared_rows(
        self, contexts: Sequence[Sequence[str]], replies: Sequence[str], most: int
    ) -> list[tuple[Row, list[int]]]:
        """Rows of up to so many replies to one context, each with the numbers of its replies."""
        owners = by_context(contexts)
        spoken, answers = self.contexts(list(owners)), self.replies(replies)
        return [
            (self.row(context, [answers[number] for number in part]), part)
            for context, numbers in zip(spoken, owners.values(), strict=True)
            for part in (numbers[start : start + most] for start in range(0, len(numbers), most))
        ]

    def contexts(self, contexts: Sequence[Sequence[str]]) -> list[Spoken]:
        """The last turns of each, as far as there is room; what does not fit is cut off at its beginning."""
        latest = [turns[-MOST_TURNS:] for turns in contexts]
        found = iter(
            self.tokeniser.encode_batch([turn for turns in latest for turn in turns], add_special_tokens=False)
        )
        return [self._context([next(found).ids for _ in turns]) for turns in latest]

    def replies(self, replies: Sequence[str]) -> list[Ids]:
        """Each as it stands by itself, its end cut off where it is too long."""
        room = self.most_reply - len(self.first) - len(self.last)
        found = self.tokeniser.encode_batch(list(replies), add_special_tokens=False)
        return [(*self.first, *answer.ids[:room], *self.last) for answer in found]

    def row(self, context: Spoken, replies: Sequence[Ids]) -> Row:
        """The context and its replies side by side."""
        length = len(context.ids)
        ids, positions = [*context.ids], [*range(length)]
        parts = [EARLIER] * context.last_turn + [LAST_TURN] * (length - context.last_turn)
        numbers = [0] * length
        for number, reply in enumerate(replies):
            going_on = reply[len(self.first) :]
            ids += [*going_on, *reply]
            positions += [*range(length, length + len(going_on)), *range(len(reply))]
            parts += [AFTER] * len(going_on) + [ALONE] * len(reply)
            numbers += [number] * (len(going_on) + len(reply))
        return Row(tuple(ids), tuple(positions), tuple(parts), tuple(numbers))

    def _context(self, turns: Sequence[Sequence[int]]) -> Spoken:
        latest = [*turns[-1][-(self.most_context - len(self.first) - len(self.last)) :], *self.last]
        before: list[int] = []
        room = self.most_context - len(self.first) - len(latest)
        for turn in reversed(turns[:-1]):
            if room <= 0:
                break
            kept = [*turn, *self.last][-room:]
            before = [*kept, *before]
            room -= len(kept)
        return Spoken((*self.first, *before, *latest), len(self.first) + len(before))


def by_context(contexts: Sequence[Sequence[str]]) -> dict[tuple[str, ...], list[int]]:
    """The numbers of those that are equal, by what they are."""
    owners: dict[tuple[str, ...], list[int]] = {}
    for number, context in enumerate(contexts):
        owners.setdefault(tuple(context), []).append(number)
    return owners


def special_tokens(tokeniser: Tokenizer) -> Ids:
    """The numbers of what the encoder puts before and after a text."""
    first, last = text_ends(tokeniser)
    return (*first, *last)


def padded_rows(rows: Sequence[Row], pad: int) -> dict[str, Ints]:
    """The rows as arrays, filled up to the longest. Each (rows, longest)"""
    longest = max(len(row.ids) for row in rows)
    arrays = {name: np.zeros((len(rows), longest), np.int64) for name in ("input_ids", "positions", "parts", "numbers")}
    arrays["input_ids"][:] = pad
    for place, row in enumerate(rows):
        for array, values in zip(arrays.values(), row, strict=True):
            array[place, : len(values)] = values
    return arrays

"""Context and reply read apart, as two towers: how they become token numbers, and vectors.

A context is `[CLS] turn [SEP] turn [SEP] ...`, its last turns as far as there is room; a reply is `[CLS] reply [SEP]`;
the special tokens are the encoder's own. Nobody is named: what was pretrained on plain sentences knows no marks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rejoinder.arrays import Ints

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MOST_TURNS = 4
MOST_CONTEXT = 64
"""Tokens of a context, special ones included."""
MOST_REPLY = 32


class Towered(NamedTuple):
    """A context and a reply as the towers read them."""

    context: tuple[int, ...]
    last_turn: int
    """Where the last turn begins in the context."""
    reply: tuple[int, ...]


def towered(tokeniser: Tokenizer, contexts: Sequence[Sequence[str]], replies: Sequence[str]) -> list[Towered]:
    """The token numbers of each context and its reply."""
    first, last = text_ends(tokeniser)
    latest = [turns[-MOST_TURNS:] for turns in contexts]
    found = iter(tokeniser.encode_batch([turn for turns in latest for turn in turns], add_special_tokens=False))
    spoken = [[next(found).ids for _ in turns] for turns in latest]
    answers = tokeniser.encode_batch(list(replies), add_special_tokens=False)
    made = []
    for turns, answer in zip(spoken, answers, strict=True):
        context, start = _context(turns, first, last)
        made.append(Towered(context, start, (*first, *answer.ids[: MOST_REPLY - 2], *last)))
    return made


def padded_towers(rows: Sequence[Towered], pad: int) -> dict[str, Ints]:
    """The rows as arrays, filled up to the longest context and the longest reply."""
    context, context_mask = _filled([row.context for row in rows], pad)
    reply, reply_mask = _filled([row.reply for row in rows], pad)
    last_turn = context_mask.copy()
    for place, row in enumerate(rows):
        last_turn[place, : row.last_turn] = 0
    return {
        "context": context,
        "context_mask": context_mask,
        "last_turn": last_turn,
        "reply": reply,
        "reply_mask": reply_mask,
    }


def _context(turns: Sequence[Sequence[int]], first: Sequence[int], last: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """The numbers of a context, and where its last turn begins; what does not fit is cut off at its beginning."""
    latest = [*turns[-1][-(MOST_CONTEXT - 2) :], *last]
    before: list[int] = []
    room = MOST_CONTEXT - len(first) - len(latest)
    for turn in reversed(turns[:-1]):
        if room <= 0:
            break
        kept = [*turn, *last][-room:]
        before = [*kept, *before]
        room -= len(kept)
    return (*first, *before, *latest), len(first) + len(before)


def text_ends(tokeniser: Tokenizer) -> tuple[list[int], list[int]]:
    """What the encoder puts before a text, and after it."""
    marked = tokeniser.encode("a", add_special_tokens=True)
    text = [place for place, special in enumerate(marked.special_tokens_mask) if not special]
    if not text:  # a vocabulary that lacks the letter: its unknown token is no special one, but to be sure
        return [], []
    return marked.ids[: text[0]], marked.ids[text[-1] + 1 :]


def _filled(rows: Sequence[Sequence[int]], pad: int) -> tuple[Ints, Ints]:
    longest = max(map(len, rows))
    ids, mask = np.full((len(rows), longest), pad, np.int64), np.zeros((len(rows), longest), np.int64)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = row
        mask[place, : len(row)] = 1
    return ids, mask

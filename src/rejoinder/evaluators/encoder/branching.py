"""Rows of token ids, each a context with the replies that branch off it.

A row is the context, `[CLS] turn [SEP] turn [SEP] last turn [SEP]`, and then each reply twice: once as a continuation
of the context, and once by itself, `[CLS] reply [SEP]`. Each token's part decides which tokens it attends to: those of
the context attend to the context, those of a reply after it to the context and the reply, those of a reply by itself to
that reply only. So a context is computed once for all its replies, and one pass gives the vectors of context and reply
both apart and together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ints
from rejoinder.data.pairs import Pair
from rejoinder.evaluators.encoder.texts import ContextIds, Ids, SeparateTexts
from rejoinder.evaluators.scale import LOWEST
from rejoinder.learning.batching import by_length
from rejoinder.progress import reported
from rejoinder.text.cleaning import writable
from rejoinder.threads import in_threads

PADDING, EARLIER, LAST_TURN, AFTER, ALONE = range(5)
"""The parts of a row: padding, turns before the last, the last turn, a reply after the context, a reply by itself."""
FEATURES = (
    "cosine",
    "cosine of last turn",
    "cosine after",
    "late match",
    "copied",
    "copied last",
    "repeated",
    "length",
)
"""What the network computes from the vectors of a row on the way to its score: see `branch_encoder`."""
MOST_REPLIES = 8
"""Replies that share a context's row when they are scored. Attention is computed between all tokens of a row, whether
it is used or not, so that longer rows would cost more than they save."""


class Row(NamedTuple):
    """A context with its replies; each (tokens,)."""

    ids: Ids
    positions: Ids
    parts: Ids
    numbers: Ids
    """Which reply a token belongs to; 0 for tokens of the context."""


class Brancher(SeparateTexts):
    """Turns contexts with their replies into rows."""

    def rows(self, contexts: Sequence[Sequence[str]], replies: Sequence[Sequence[str]]) -> list[Row]:
        """One row per context, with all its replies."""
        answers = iter(self.replies([reply for each in replies for reply in each]))
        read = self.contexts(contexts)
        return [self.row(context, [next(answers) for _ in each]) for context, each in zip(read, replies, strict=True)]

    def shared_rows(
        self, contexts: Sequence[Sequence[str]], replies: Sequence[str], most: int
    ) -> list[tuple[Row, list[int]]]:
        """Rows of at most `most` replies to one context, each with the numbers of its replies."""
        owners: dict[tuple[str, ...], list[int]] = {}
        for number, context in enumerate(contexts):
            owners.setdefault(tuple(context), []).append(number)
        read, answers = self.contexts(list(owners)), self.replies(replies)
        return [
            (self.row(context, [answers[number] for number in part]), part)
            for context, numbers in zip(read, owners.values(), strict=True)
            for part in (numbers[start : start + most] for start in range(0, len(numbers), most))
        ]

    def row(self, context: ContextIds, replies: Sequence[Ids]) -> Row:
        """The context and its replies side by side."""
        length = len(context.ids)
        ids, positions = [*context.ids], [*range(length)]
        parts = [EARLIER] * context.last_turn + [LAST_TURN] * (length - context.last_turn)
        numbers = [0] * length
        for number, reply in enumerate(replies):
            after = reply[len(self.first) :]
            ids += [*after, *reply]
            positions += [*range(length, length + len(after)), *range(len(reply))]
            parts += [AFTER] * len(after) + [ALONE] * len(reply)
            numbers += [number] * (len(after) + len(reply))
        return Row(tuple(ids), tuple(positions), tuple(parts), tuple(numbers))


def padded_rows(rows: Sequence[Row], pad: int) -> dict[str, Ints]:
    """The rows as arrays, padded to the longest. Each (rows, longest)"""
    longest = max(len(row.ids) for row in rows)
    arrays = {name: np.zeros((len(rows), longest), np.int64) for name in ("input_ids", "positions", "parts", "numbers")}
    arrays["input_ids"][:] = pad
    for place, row in enumerate(rows):
        for array, values in zip(arrays.values(), row, strict=True):
            array[place, : len(values)] = values
    return arrays


def shared_scores(
    brancher: Brancher,
    pairs: Sequence[Pair],
    pad: int,
    tokens: int,
    run: Callable[[dict[str, Ints]], NDArray[Any]],
    *,
    threads: bool = False,
) -> NDArray[np.float64]:
    """One score per pair, in order; replies to one context share a row, and rows of similar length run together.

    `tokens` limits a batch. `run` gives the scores of a batch of rows (rows, replies), or several numbers for each
    (rows, replies, numbers), which are then given for each pair. With `threads`, several batches run at a time.
    (pairs,) or (pairs, numbers)
    """
    contexts = [tuple(map(writable, pair.context)) for pair in pairs]
    found = brancher.shared_rows(contexts, [writable(pair.response) for pair in pairs], MOST_REPLIES)
    scores = np.full(0, LOWEST)

    def scored(places: list[int]) -> NDArray[Any]:
        arrays = padded_rows([found[place][0] for place in places], pad)
        most = max(len(found[place][1]) for place in places)
        return run({**arrays, "replies": np.arange(most)})

    batches = by_length([row for row, _ in found], tokens)
    results = in_threads(scored, batches) if threads else reported(map(scored, batches), len(batches))
    for places, made in zip(batches, results, strict=True):
        if not len(scores):
            scores = np.full((len(pairs), *made.shape[2:]), LOWEST)
        for place, row in zip(places, made, strict=True):
            numbers = found[place][1]
            scores[numbers] = row[: len(numbers)]
    return scores

"""Batches of sequences of similar length, so that little of a batch is padding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from rejoinder.arrays import Ints

BATCH_COST = 16
"""What a batch costs beside its tokens, expressed in tokens: 3 to 6 ms at .33 ms per token, measured with ONNX Runtime
on one core; torch was not measured."""


class Encoded(NamedTuple):
    """The token ids of a text pair, with the segment of each token: 0 or 1, or its part of a branching row."""

    ids: tuple[int, ...]
    types: tuple[int, ...]
    positions: tuple[int, ...] | None = None
    """The position of each token of a branching row within its text; None: positions count from 0."""


class TokenRow(Protocol):
    """Anything with token ids."""

    @property
    def ids(self) -> tuple[int, ...]:
        """The token ids."""


def by_length(encoded: Sequence[TokenRow], tokens: int) -> list[list[int]]:
    """Row numbers in batches of at most `tokens` tokens, including padding; longest first, no row left out.

    The sorted rows are cut where padding and the number of batches together cost the least. The batches depend on the
    rows' content and not on their order.
    """
    order = sorted(range(len(encoded)), key=lambda row: (-len(encoded[row].ids), encoded[row].ids))
    widths = [len(encoded[row].ids) for row in order]
    cost = [0, *(math.inf for _ in order)]  # of the rows before each place
    begin = [0] * (len(order) + 1)  # where the batch that ends before each place begins
    for start, width in enumerate(widths):
        for end in range(start + 1, max(start + 1, min(start + tokens // max(width, 1), len(order))) + 1):
            found = cost[start] + width * (end - start) + BATCH_COST
            if found < cost[end]:
                cost[end], begin[end] = found, start
    batches: list[list[int]] = []
    end = len(order)
    while end:
        batches.append(order[begin[end] : end])
        end = begin[end]
    return batches[::-1]


def buckets(lengths: Sequence[int], size: int, rng: np.random.Generator, *, fewest: int = 1) -> list[list[int]]:
    """Row numbers in shuffled batches of `size` rows of similar length; one may be smaller.

    Rows are shuffled, sorted by length within chunks of 50 batches and cut into batches, which are shuffled: random
    enough to learn from, with a tenth of the padding. A batch of fewer than `fewest` rows is joined with another.
    """
    order = rng.permutation(len(lengths))
    cut: list[list[int]] = []
    chunk = size * 50
    for start in range(0, len(order), chunk):
        part = sorted(order[start : start + chunk].tolist(), key=lambda row: lengths[row])
        cut += [part[at : at + size] for at in range(0, len(part), size)]
    batches = [cut[place] for place in rng.permutation(len(cut))]
    return [rows if len(rows) >= fewest else [*rows, *batches[at - 1]] for at, rows in enumerate(batches)]


def padded(encoded: Sequence[Encoded], pad: int) -> dict[str, Ints]:
    """The rows as a network's input arrays, padded to the longest. Each (rows, longest)

    A cross-encoder takes input_ids, attention_mask and token_type_ids; a branching encoder takes input_ids, positions
    and parts, where part 0 is padding.
    """
    longest = max(len(row.ids) for row in encoded)
    ids = np.full((len(encoded), longest), pad, np.int64)
    types, mask, positions = np.zeros_like(ids), np.zeros_like(ids), np.zeros_like(ids)
    for place, row in enumerate(encoded):
        ids[place, : len(row.ids)] = row.ids
        types[place, : len(row.ids)] = row.types
        mask[place, : len(row.ids)] = 1
        positions[place, : len(row.ids)] = row.positions or 0
    if encoded[0].positions is None:
        return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
    return {"input_ids": ids, "positions": positions, "parts": types}


def shuffled(count: int, size: int, rng: np.random.Generator) -> list[list[int]]:
    """The numbers below `count` in shuffled batches of `size`; the last may be smaller."""
    order = rng.permutation(count).tolist()
    return [order[start : start + size] for start in range(0, count, size)]

"""Sequences of like length together, so that little of a batch is padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from rejoinder.arrays import Ints


class Encoded(NamedTuple):
    """A pair as token numbers, with the segment that each belongs to: 0 or 1, or the part of a branching row."""

    ids: tuple[int, ...]
    types: tuple[int, ...]
    positions: tuple[int, ...] | None = None
    """Where the tokens of a branching row stand in their texts; else they are counted from 0."""


class TokenRow(Protocol):
    """Anything with token numbers."""

    @property
    def ids(self) -> tuple[int, ...]:
        """The token numbers."""


def by_length(encoded: Sequence[TokenRow], tokens: int) -> list[list[int]]:
    """Row numbers in batches of at most `tokens` tokens, padding counted; longest first, and no row left out.

    The batches depend on what the rows hold and not on their order.
    """
    order = sorted(range(len(encoded)), key=lambda row: (-len(encoded[row].ids), encoded[row].ids))
    batches: list[list[int]] = []
    width = 0
    for row in order:
        if not batches or (len(batches[-1]) + 1) * width > tokens:
            batches.append([])
            width = len(encoded[row].ids)  # the first is the longest
        batches[-1].append(row)
    return batches


def buckets(lengths: Sequence[int], size: int, rng: np.random.Generator, *, fewest: int = 1) -> list[list[int]]:
    """Row numbers in shuffled batches of `size` rows of similar length; one may be smaller.

    Rows are shuffled, sorted within stretches of 50 batches, cut, and the batches shuffled: random enough to learn
    from, with a tenth of the padding. A batch of less than `fewest` rows gets those of another batch as well.
    """
    order = rng.permutation(len(lengths))
    cut: list[list[int]] = []
    stretch = size * 50
    for start in range(0, len(order), stretch):
        part = sorted(order[start : start + stretch].tolist(), key=lambda row: lengths[row])
        cut += [part[at : at + size] for at in range(0, len(part), size)]
    shuffled = [cut[place] for place in rng.permutation(len(cut))]
    return [rows if len(rows) >= fewest else [*rows, *shuffled[at - 1]] for at, rows in enumerate(shuffled)]


def padded(encoded: Sequence[Encoded], pad: int) -> dict[str, Ints]:
    """The rows as the arrays that networks read, filled up to the longest. Each (rows, longest)

    A cross-encoder reads input_ids, attention_mask and token_type_ids; one that branches reads input_ids, positions and
    parts, of which 0 is padding.
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

"""What the network of s_U reads: texts as ids or vectors, and pairs of context and reply as row numbers of their texts.

Each different text is read once, however many pairs it occurs in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from rejoinder.arrays import Bools, Ints, Ragged, Vectors, offsets_of
from rejoinder.data.pairs import Pair, by_replier
from rejoinder.evaluators.ruber.words import tokenised
from rejoinder.metrics.batch import TextOptions
from rejoinder.text.vocabulary import Vocabulary

PAD, UNKNOWN = 0, 1
FIRST_WORD = 2
"""The row of a vocabulary's first word in the table of embeddings."""


@dataclass(frozen=True, eq=False)
class WordReader:
    """Texts to word ids, at least one per text; a text that is too long loses its beginning."""

    words: tuple[str, ...]
    text: TextOptions
    max_length: int

    def rows(self, texts: Sequence[str]) -> Ragged:
        """The word ids of each text: rows of the table of embeddings."""
        vocabulary, found = tokenised(texts, self.text)
        id_of = self._ids.get
        ids = np.fromiter((id_of(word, UNKNOWN) for word in vocabulary), np.int64, len(vocabulary))
        kept = np.minimum(found.lengths, self.max_length)
        lengths = np.maximum(kept, 1)
        offsets = offsets_of(lengths)
        source = np.repeat(found.offsets[1:] - kept - offsets[:-1], lengths) + np.arange(offsets[-1])
        values = np.full(len(source), UNKNOWN, np.int64)  # a text without words is one unknown word
        has = np.repeat(kept > 0, lengths)
        values[has] = ids[found.values[source[has]]]
        return Ragged(values, offsets)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words, start=FIRST_WORD)}


@dataclass(frozen=True, eq=False)
class TokenReader:
    """Texts to token ids of a reply model, each with its end token, for a network that starts from that model."""

    vocabulary: Vocabulary
    max_length: int

    def rows(self, texts: Sequence[str]) -> Ragged:
        """The token ids of each text; a text that is too long loses its end, as in the reply model's training."""
        return Ragged.of(self.vocabulary.encode(texts, self.max_length))


@dataclass(frozen=True, eq=False)
class PairTable:
    """The texts that each pair consists of."""

    texts: tuple[str, ...]
    """Each different text once."""
    turns: Ragged
    """One row per pair: the texts of its context, oldest first."""
    own: Ints  # as `turns.values`: 1 where the replier spoke the turn
    replies: Ints  # (pairs,)

    @classmethod
    def of(cls, pairs: Sequence[Pair], turns: int, *, hierarchical: bool) -> PairTable:
        """The last turns of each context: one by one in the hierarchical form, else joined into one text."""
        numbers: dict[str, int] = {}
        rows, own = [], []
        for pair in pairs:
            last = pair.context[-turns:]
            texts = last if hierarchical else (" ".join(last),)
            rows.append([numbers.setdefault(text, len(numbers)) for text in texts])
            mine = by_replier(len(pair.context), pair.speakers)
            if len(mine) != len(pair.context):
                raise ValueError(f"{len(mine)} speakers for {len(pair.context)} turns: expected one per turn")
            own += mine[-turns:] if hierarchical else [False]
        replies = np.array([numbers.setdefault(pair.response, len(numbers)) for pair in pairs], np.int64)
        return cls(tuple(numbers), Ragged.of(rows), np.array(own, np.int64), replies)

    def __len__(self) -> int:
        return len(self.replies)

    def padded(self, rows: Ints) -> tuple[Ints, Ints, Ints]:
        """The texts of the rows' turns and who spoke them, padded with 0, and the number of turns of each row."""
        lengths = self.turns.lengths[rows]
        places, has = _places(self.turns.offsets[rows], lengths)
        return np.where(has, self.turns.values[places], 0), np.where(has, self.own[places], 0), lengths


class TextInput(Protocol):
    """All texts in the form that the network reads."""

    def tensors(self, numbers: Ints) -> dict[str, Tensor]:
        """The arguments `texts` and `text_lengths` of `PairNetwork.forward`, for texts by number."""


@dataclass(frozen=True, eq=False)
class IdInput:
    """Texts as word or token ids, which the network's own GRU reads."""

    rows: Ragged

    def tensors(self, numbers: Ints) -> dict[str, Tensor]:
        """Padded ids, and their number. (texts, longest), (texts,)"""
        lengths = self.rows.lengths[numbers]
        places, has = _places(self.rows.offsets[numbers], lengths)
        ids = np.where(has, self.rows.values[places], PAD)
        return {"texts": torch.from_numpy(ids), "text_lengths": torch.from_numpy(lengths)}


@dataclass(frozen=True, eq=False)
class VectorInput:
    """Texts as vectors that an encoder computed once."""

    matrix: Vectors

    def tensors(self, numbers: Ints) -> dict[str, Tensor]:
        """The vectors of these texts. (texts, width)"""
        return {"texts": torch.from_numpy(self.matrix[numbers])}


@dataclass(frozen=True, eq=False)
class PairInput:
    """A table of pairs with its texts in the form that the network reads."""

    table: PairTable
    texts: TextInput

    def tensors(self, rows: Ints, candidates: Ints) -> dict[str, Tensor]:
        """The arguments of `PairNetwork.forward`: the contexts of some pairs, each with candidate replies.

        `candidates` are text numbers. (rows,), (rows, candidates)
        """
        turns, own, turn_counts = self.table.padded(rows)
        needed, place = np.unique(np.concatenate([turns.ravel(), candidates.ravel()]), return_inverse=True)
        arrays = {
            "turns": place[: turns.size].reshape(turns.shape),
            "own": own,
            "turn_counts": turn_counts,
            "candidates": place[turns.size :].reshape(candidates.shape),
        }
        return {**self.texts.tensors(needed), **{name: torch.from_numpy(array) for name, array in arrays.items()}}


def _places(starts: Ints, lengths: Ints) -> tuple[Ints, Bools]:
    """The position of each row's values in a flat array, and which positions are not padding. Both (rows, longest)"""
    position = np.arange(int(lengths.max()))
    return starts[:, None] + np.minimum(position, lengths[:, None] - 1), position < lengths[:, None]

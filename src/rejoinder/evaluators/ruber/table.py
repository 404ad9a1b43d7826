"""Pairs of context and reply as numbers of their texts, so that each different text is read once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rejoinder.arrays import Ints, Ragged
from rejoinder.data.pairs import Pair, by_replier
from rejoinder.evaluators.ruber.network import PairNetwork
from rejoinder.evaluators.ruber.words import PAD


@dataclass(frozen=True, eq=False)
class PairTable:
    """Which texts each pair consists of."""

    texts: tuple[str, ...]
    """Each different one once."""
    turns: Ragged
    """A row a pair: the texts of its context, oldest first."""
    own: Ints  # as `turns.values`: 1 where the one who replies spoke it
    replies: Ints  # (pairs,)

    @classmethod
    def of(cls, pairs: Sequence[Pair], turns: int, *, hierarchical: bool) -> PairTable:
        """The last turns of each context: apart in the hierarchical form, else as one text."""
        numbers: dict[str, int] = {}
        rows, own = [], []
        for pair in pairs:
            last = pair.context[-turns:]
            texts = last if hierarchical else (" ".join(last),)
            rows.append([numbers.setdefault(text, len(numbers)) for text in texts])
            mine = by_replier(len(pair.context), pair.speakers)
            if len(mine) != len(pair.context):
                raise ValueError(f"{len(mine)} speakers for {len(pair.context)} turns: expected one a turn")
            own += mine[-turns:] if hierarchical else [False]
        replies = np.array([numbers.setdefault(pair.response, len(numbers)) for pair in pairs], np.int64)
        return cls(tuple(numbers), Ragged.of(rows), np.array(own, np.int64), replies)

    def __len__(self) -> int:
        return len(self.replies)

    def padded(self, rows: Ints) -> tuple[Ints, Ints, Ints]:
        """Texts of the rows' turns and who spoke them, filled up with 0, and how many there are."""
        lengths = self.turns.lengths[rows]
        places, has = _places(self.turns.offsets[rows], lengths)
        return np.where(has, self.turns.values[places], 0), np.where(has, self.own[places], 0), lengths


class TextInput(Protocol):
    """What a network reads texts from, by their numbers."""

    def vectors(self, network: PairNetwork, numbers: Ints) -> Tensor:
        """One vector a text. (texts, width)"""


@dataclass(frozen=True, eq=False)
class WordInput:
    """Texts as word numbers, which the network's own BiGRU reads."""

    rows: Ragged

    def vectors(self, network: PairNetwork, numbers: Ints) -> Tensor:
        """One vector a text, through which the network learns. (texts, width)"""
        lengths = self.rows.lengths[numbers]
        places, has = _places(self.rows.offsets[numbers], lengths)
        words = np.where(has, self.rows.values[places], PAD)
        return network.texts(torch.from_numpy(words), torch.from_numpy(lengths))


@dataclass(frozen=True, eq=False)
class VectorInput:
    """Texts as vectors that an encoder made once and for all."""

    matrix: NDArray[np.float32]

    def vectors(self, network: PairNetwork, numbers: Ints) -> Tensor:  # noqa: ARG002 - all is there already
        """The vectors of these texts. (texts, width)"""
        return torch.from_numpy(self.matrix[numbers])


def _places(starts: Ints, lengths: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Where each row's values stand in a flat array, and which places are its own. Both (rows, longest)"""
    position = np.arange(int(lengths.max()))
    return starts[:, None] + np.minimum(position, lengths[:, None] - 1), position < lengths[:, None]

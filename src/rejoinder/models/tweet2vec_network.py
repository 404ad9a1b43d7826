"""The network of tweet2vec, and its training by hashtags."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from rejoinder.data.negatives import Place
from rejoinder.learning.data import buckets
from rejoinder.learning.torch_parts import in_batch_loss, negatives_of, recall_in_batches
from rejoinder.models.tweet2vec import PAD, Codes

# The network of tweet2vec: one GRU reads the characters forwards, another backwards.


_STEP = 16
"""Rows are padded to a multiple of this length."""


class CharacterNetwork(nn.Module):
    """Characters to a vector of length 1: W [forward; backward] + b, normalised."""

    def __init__(self, characters: int, embedding: int, hidden: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, embedding, padding_idx=PAD)
        self.forwards = nn.GRU(embedding, hidden, batch_first=True)
        self.backwards = nn.GRU(embedding, hidden, batch_first=True)
        self.joined = nn.Linear(2 * hidden, width)

    def forward(self, codes: Tensor, lengths: Tensor) -> Tensor:
        """(rows, characters), (rows,) -> (rows, width)"""
        # Each row is reversed within its own length, so that padding comes last in both directions and is never read.
        place = torch.arange(codes.shape[1], device=codes.device)
        reversed_place = torch.where(place < lengths[:, None], lengths[:, None] - 1 - place, place)
        ends = lengths[:, None, None] - 1
        states = []
        for network, characters in ((self.forwards, codes), (self.backwards, codes.gather(1, reversed_place))):
            each, _ = network(self.embedding(characters))  # (rows, characters, hidden)
            states.append(each.gather(1, ends.expand(-1, 1, each.shape[2]))[:, 0])
        return nn.functional.normalize(self.joined(torch.cat(states, 1)), dim=1)

    def tensors(self, rows: Sequence[Codes]) -> tuple[Tensor, Tensor]:
        """What `forward` takes: codes padded to a common length, and the length of each row."""
        longest = -(-max(map(len, rows)) // _STEP) * _STEP
        codes = np.full((len(rows), longest), PAD, np.int64)
        for place, row in enumerate(rows):
            codes[place, : len(row)] = row
        device = self.embedding.weight.device
        return torch.from_numpy(codes).to(device), torch.tensor([len(row) for row in rows], device=device)


# How tweet2vec is trained: which of a batch's turns follows this one?


VALIDATED_AT_ONCE = 32
"""Turns among which the next one is looked for in validation."""


@dataclass(eq=False)
class NextTurnStage:
    """The turn that follows another against the other turns of its batch."""

    name: ClassVar[str] = "turns"
    figure: ClassVar[str] = f"recall@1 of {VALIDATED_AT_ONCE}"

    network: CharacterNetwork
    codes: Callable[[Sequence[str]], list[Codes]]
    """Texts to character numbers."""
    places: Sequence[Place]
    held_out: Sequence[Place]
    seed: int

    def __len__(self) -> int:
        return len(self.places)

    def batches(self, epoch: int, size: int) -> list[list[int]]:
        """Turns of similar length together, so that length alone does not identify the true one."""
        return buckets(self._lengths, size, np.random.default_rng([self.seed, 7, epoch]), fewest=2)

    def loss(self, forward: Any, rows: Sequence[int], epoch: int) -> Tensor:  # noqa: ARG002 - the text never changes
        """Cross-entropy of the next turn among those of the batch, and of the turn before it."""
        before, after, allowed = self._read(forward, [self.places[row] for row in rows])
        return in_batch_loss(before, after, allowed)

    def validate(self) -> float | None:
        """How often the next turn is the nearest of 32; None without validation dialogues."""
        if len(self.held_out) < 2:
            return None
        return recall_in_batches(self.network, len(self.held_out), VALIDATED_AT_ONCE, self._cosines)

    def _cosines(self, rows: Sequence[int]) -> Tensor:
        before, after, allowed = self._read(self.network, [self.held_out[row] for row in rows])
        return (before @ after.T).masked_fill(~allowed, -torch.inf)

    def _read(self, forward: Any, places: Sequence[Place]) -> tuple[Tensor, Tensor, Tensor]:
        """The vectors of the turns before and of the turns after, and which pairs of them are compared."""
        texts = [place.context[-1] for place in places], [place.response for place in places]
        before, after = (forward(*self.network.tensors(self.codes(each))) for each in texts)
        return before, after, negatives_of(texts[1]).to(after.device)

    @cached_property
    def _lengths(self) -> list[int]:
        return [len(place.response) for place in self.places]

"""How tweet2vec is trained: which of a batch's turns follows this one?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from rejoinder.data.negatives import Place
from rejoinder.encoders.tweet2vec.characters import Codes
from rejoinder.encoders.tweet2vec.network import CharacterNetwork
from rejoinder.learning.batching import buckets
from rejoinder.learning.in_batch import in_batch_loss, negatives_of, recall_in_batches

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

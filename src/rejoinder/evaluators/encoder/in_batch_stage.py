"""In-batch ranking: the encoder as two towers, every reply of a batch against every context of it.

Context and reply are encoded separately, so that a batch of n places gives n * n pairs for the price of 2n short texts;
encoded together, n texts give n pairs. It teaches topic quickly and cheaply, and does not train the head: the next
stage does. Loss and scale are those of Henderson et al. 2017, "Efficient Natural Language Response Suggestion for Smart
Reply", with the cosine times 20 of Reimers and Gurevych 2020 (sentence-transformers).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rejoinder.data.negatives import Place
from rejoinder.evaluators.encoder.stages import place_lengths
from rejoinder.evaluators.encoder.torch_model import TorchModel
from rejoinder.evaluators.encoder.towers import Towers, TowerTexts
from rejoinder.learning.batching import buckets
from rejoinder.learning.in_batch import in_batch_loss, negatives_of
from rejoinder.learning.stages import Forward

_VALIDATED_AT_ONCE = 32


@dataclass(frozen=True, eq=False)
class InBatchStage:
    """The true reply of a place against those of the other places in its batch."""

    name: ClassVar[str] = "in-batch"
    figure: ClassVar[str] = f"accuracy of {_VALIDATED_AT_ONCE}"

    model: TorchModel
    places: Sequence[Place]
    rows: NDArray[np.int64]
    """Places to learn from."""
    held_out: NDArray[np.int64]
    """Places to validate on."""
    seed: int

    @cached_property
    def network(self) -> nn.Module:
        """The encoder without the head."""
        return Towers(self.model.network.encoder)

    def __len__(self) -> int:
        return len(self.rows)

    def batches(self, epoch: int, size: int) -> list[list[int]]:
        """Places of similar length together, so that length alone does not give the true reply away."""
        rng = np.random.default_rng([self.seed, 6, epoch])
        return buckets(self._lengths, size, rng)

    def loss(self, forward: Forward, rows: Sequence[int], epoch: int) -> Tensor:  # noqa: ARG002 - nothing is drawn
        """Symmetric cross-entropy, the mean of that over whole contexts and that over last turns."""
        places = [self.places[row] for row in self.rows[list(rows)]]
        context, last_turn, reply = forward(**self._tensors(places))
        allowed = negatives_of([place.response for place in places]).to(reply.device)
        return (in_batch_loss(context, reply, allowed) + in_batch_loss(last_turn, reply, allowed)) / 2

    def validate(self) -> float | None:
        """How often the true reply is the nearest of 32, by the cosines of whole context and last turn together."""
        if len(self.held_out) < 2:
            return None
        right = 0
        training = self.network.training
        self.network.eval()
        with torch.inference_mode():
            for start in range(0, len(self.held_out), _VALIDATED_AT_ONCE):
                places = [self.places[row] for row in self.held_out[start : start + _VALIDATED_AT_ONCE]]
                context, last_turn, reply = self.network(**self._tensors(places))
                allowed = negatives_of([place.response for place in places]).to(reply.device)
                cosines = ((context + last_turn) @ reply.T).masked_fill(~allowed, -torch.inf)
                right += int((cosines.argmax(1) == torch.arange(len(places), device=reply.device)).sum())
        self.network.train(training)
        return right / len(self.held_out)

    @cached_property
    def _lengths(self) -> list[int]:
        return place_lengths([self.places[row] for row in self.rows], self.model.settings.max_length)

    def _tensors(self, places: Sequence[Place]) -> dict[str, Tensor]:
        texts = TowerTexts(self.model)
        return {
            **texts.contexts([place.context for place in places]),
            **texts.replies([place.response for place in places]),
        }

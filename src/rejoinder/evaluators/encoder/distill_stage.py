"""Distillation: a student learns the scores that a teacher gave to replies, several to each context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rejoinder.data.pairs import Pair
from rejoinder.evaluators.encoder.torch_model import TorchModel
from rejoinder.learning.batching import Encoded, buckets
from rejoinder.learning.stages import Forward
from rejoinder.stats.correlation import product_moment


@dataclass(frozen=True, eq=False)
class DistillStage:
    """Replies with a teacher's scores; a row is a context with all its replies."""

    name: ClassVar[str] = "distillation"
    figure: ClassVar[str] = "correlation with the teacher"

    model: TorchModel
    pairs: Sequence[Pair]
    wanted: NDArray[np.float64]
    """The teacher's score of each pair, from 1 to 5."""
    contexts: Sequence[Sequence[int]]
    """The numbers of the pairs of each context to learn from."""
    held_out: Sequence[int]
    """The numbers of the pairs to validate on, of other contexts."""
    seed: int

    @property
    def network(self) -> nn.Module:
        """The whole network."""
        return self.model.network

    def __len__(self) -> int:
        return len(self.contexts)

    def batches(self, epoch: int, size: int) -> list[list[int]]:
        """Contexts of like length together."""
        lengths = [max(len(self._encoded[number].ids) for number in numbers) for numbers in self.contexts]
        return buckets(lengths, size, np.random.default_rng([self.seed, 8, epoch]))

    def loss(self, forward: Forward, rows: Sequence[int], epoch: int) -> Tensor:  # noqa: ARG002 - nothing is drawn
        """The mean squared error of the scores, plus that of the scores less their mean within the context."""
        numbers = [number for row in rows for number in self.contexts[row]]
        scores = forward(**self.model.tensors([self._encoded[number] for number in numbers]))
        wanted = torch.as_tensor(self.wanted[numbers], dtype=scores.dtype, device=scores.device)
        sizes = torch.tensor([len(self.contexts[row]) for row in rows], device=scores.device)
        off = scores - wanted
        return (off**2).mean() + (centred(off, sizes) ** 2).mean()

    def validate(self) -> float | None:
        """Pearson's correlation with the teacher; -1 where the student gives everything the same score."""
        wanted = self.wanted[list(self.held_out)]
        if len(wanted) < 2 or np.ptp(wanted) == 0:
            return None
        scores = self.model.score_encoded([self._encoded[number] for number in self.held_out])
        return float(product_moment(scores, wanted)) if np.ptp(scores) > 0 else -1.0

    @cached_property
    def _encoded(self) -> list[Encoded]:
        return self.model.tokeniser.encode(self.pairs)


def centred(values: Tensor, sizes: Tensor) -> Tensor:
    """Values less the mean of their group; groups stand one after the other, each of its size. (values,)"""
    group = torch.repeat_interleave(torch.arange(len(sizes), device=values.device), sizes)
    totals = torch.zeros(len(sizes), dtype=values.dtype, device=values.device).index_add(0, group, values)
    return values - (totals / sizes)[group]

"""Shared by stages that learn scores of replies: how the network reads a batch, and how it is validated.

A row of such a stage is a context with some of its replies. A cross-encoder reads each reply in a row of its own; a
network with towers reads the context once, with all its replies (`branching.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rejoinder.data.pairs import Pair
from rejoinder.evaluators.encoder.branch_encoder import BranchEncoder, Reading
from rejoinder.evaluators.encoder.branching import padded_rows
from rejoinder.evaluators.encoder.cross_encoder import on_scale
from rejoinder.evaluators.encoder.texts import ContextIds, Ids
from rejoinder.evaluators.encoder.torch_model import TorchModel
from rejoinder.evaluators.encoder.towers import TowerVectors
from rejoinder.learning.batching import Encoded, buckets
from rejoinder.learning.stages import Forward
from rejoinder.stats.correlation import product_moment
from rejoinder.text.cleaning import writable

MOST_REPLIES = 10
"""Replies that share a context's row in training."""


class Read(NamedTuple):
    """The network's output for a batch; replies are ordered by context."""

    numbers: list[int]
    """The indices of the replies. (replies,)"""
    sizes: Tensor
    """The number of replies of each context. (contexts,)"""
    scores: Tensor
    """From 1 to 5. (replies,)"""
    vectors: TowerVectors | None
    """Of a network with towers."""


class EncoderStage:
    """A stage that trains the whole network of a model, its head faster or slower than the rest."""

    model: TorchModel
    head_rate: float
    """A multiple of the learning rate."""

    @property
    def network(self) -> nn.Module:
        """The whole network."""
        return self.model.network

    def groups(self) -> list[tuple[list[nn.Parameter], float]]:
        """The network without its head, and the head."""
        head = list(self.model.network.head.parameters())
        inside = {id(weight) for weight in head}
        return [
            ([weight for weight in self.model.network.parameters() if id(weight) not in inside], 1.0),
            (head, self.head_rate),
        ]


@dataclass(frozen=True, eq=False)
class ScoredReplies(EncoderStage):
    """Replies with the scores that the model should learn to give them."""

    stream: ClassVar[int]
    """Makes the random numbers of one stage differ from those of another with the same seed."""

    model: TorchModel
    pairs: Sequence[Pair]
    wanted: NDArray[np.float64]
    """The score of each pair, from 1 to 5."""
    contexts: Sequence[Sequence[int]]
    """The numbers of the pairs to learn from, in groups that are read together; for a network with towers those that
    `by_context` makes."""
    held_out: Sequence[int]
    """The numbers of the pairs to validate on, of other contexts."""
    seed: int
    head_rate: float = 1.0

    @cached_property
    def network(self) -> nn.Module:
        """The whole network, as it reads this stage's rows."""
        network = self.model.network
        return _AllReplies(network) if isinstance(network, BranchEncoder) else network

    def __len__(self) -> int:
        return len(self.contexts)

    def batches(self, epoch: int, size: int) -> list[list[int]]:
        """Rows of similar length together."""
        return buckets(self._lengths, size, np.random.default_rng([self.seed, self.stream, epoch]))

    def read(self, forward: Forward, rows: Sequence[int]) -> Read:
        """The scores of all replies of these rows."""
        groups = [self.contexts[row] for row in rows]
        numbers = [number for group in groups for number in group]
        device = next(self.model.network.parameters()).device
        sizes = torch.tensor([len(group) for group in groups], device=device)
        if not self.model.settings.towers:
            scores = forward(**self.model.tensors([self._encoded[number] for number in numbers]))
            return Read(numbers, sizes, scores, None)
        brancher, (contexts, replies) = self.model.tokeniser.brancher, self._texts
        made = [brancher.row(contexts[group[0]], [replies[number] for number in group]) for group in groups]
        arrays = self.model.on_device(padded_rows(made, self.model.settings.pad))
        most = torch.arange(max(map(len, groups)), device=device)
        reading = Reading(*forward(**arrays, replies=most))
        there = most < sizes[:, None]  # (contexts, most)
        vectors = TowerVectors(reading.context, reading.last_turn, reading.alone[there])
        return Read(numbers, sizes, on_scale(reading.logits[there].float()), vectors)

    def validate(self) -> float | None:
        """Pearson's correlation with the wanted scores; -1 where the model gives every reply the same score."""
        wanted = self.wanted[list(self.held_out)]
        if len(wanted) < 2 or np.ptp(wanted) == 0:
            return None
        scores = self.model.score([self.pairs[number] for number in self.held_out])
        return float(product_moment(scores, wanted)) if np.ptp(scores) > 0 else -1.0

    @cached_property
    def _encoded(self) -> list[Encoded]:
        return self.model.tokeniser.encode(self.pairs)

    @cached_property
    def _texts(self) -> tuple[list[ContextIds], list[Ids]]:
        """Contexts and replies of a network with towers."""
        brancher = self.model.tokeniser.brancher
        contexts = brancher.contexts([[writable(turn) for turn in pair.context] for pair in self.pairs])
        return contexts, brancher.replies([writable(pair.response) for pair in self.pairs])

    @cached_property
    def _lengths(self) -> list[int]:
        """The tokens of each row, or of its longest reply with the context."""
        if not self.model.settings.towers:
            return [max(len(self._encoded[number].ids) for number in group) for group in self.contexts]
        contexts, replies = self._texts
        return [
            len(contexts[group[0]].ids) + 2 * sum(len(replies[number]) for number in group) for group in self.contexts
        ]


class _AllReplies(nn.Module):
    """A network with towers that returns all its outputs for rows of several replies."""

    def __init__(self, network: BranchEncoder) -> None:
        super().__init__()
        self.network = network

    def forward(self, input_ids: Tensor, positions: Tensor, parts: Tensor, numbers: Tensor, replies: Tensor) -> Reading:
        """(rows, tokens) each, (replies,)"""
        return self.network.read(input_ids, positions, parts, numbers, replies)


def by_context(pairs: Sequence[Pair], groups: Sequence[Sequence[int]]) -> list[list[int]]:
    """The groups cut into parts that a row can hold: one context, and at most ten replies."""
    found: list[list[int]] = []
    for group in groups:
        same: dict[tuple[str, ...], list[int]] = {}
        for number in group:
            same.setdefault(pairs[number].context, []).append(number)
        for numbers in same.values():
            found += [numbers[start : start + MOST_REPLIES] for start in range(0, len(numbers), MOST_REPLIES)]
    return found

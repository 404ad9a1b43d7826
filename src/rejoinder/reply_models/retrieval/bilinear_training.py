"""The training of M and b in p(r | c) = sigmoid(c^T M r + b), over fixed vectors of contexts and replies.

This is the last step of the dual encoder of Lowe et al. 2015 and Liu et al. 2016 (section 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from rejoinder.arrays import Ints, Vectors

_START = 5.0
"""M starts as this multiple of the identity: before training, similar vectors fit each other."""


class BilinearHead(nn.Module):
    """M and b."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.matrix = nn.Parameter(torch.eye(width) * _START)
        self.bias = nn.Parameter(torch.full((), -_START / 2))

    def forward(self, contexts: Tensor, replies: Tensor) -> Tensor:
        """c^T M r + b for several replies per context. (rows, width), (rows, replies, width) -> (rows, replies)"""
        logits: Tensor = torch.einsum("rw,row->ro", contexts @ self.matrix, replies) + self.bias
        return logits


@dataclass(frozen=True, eq=False)
class VectorPairs:
    """Vectors of contexts and of the different replies, and which reply each context was answered with."""

    contexts: Vectors  # (pairs, width)
    replies: Vectors  # (replies, width)
    answers: Ints  # (pairs,)


@dataclass(eq=False)
class PairStage:
    """The true reply of each context against random replies."""

    name: ClassVar[str] = "pairs"
    figure: ClassVar[str] = "log-likelihood"

    network: BilinearHead
    pairs: VectorPairs
    held_out: VectorPairs | None
    seed: int
    negatives: int
    """Random replies per context."""

    def __len__(self) -> int:
        return len(self.pairs.contexts)

    def batches(self, epoch: int, size: int) -> list[list[int]]:
        """All pairs in random order."""
        order = np.random.default_rng([self.seed, 9, epoch]).permutation(len(self)).tolist()
        return [order[start : start + size] for start in range(0, len(order), size)]

    def loss(self, forward: Any, rows: Sequence[int], epoch: int) -> Tensor:  # noqa: ARG002 - drawn by step
        """Mean cross-entropy of true and random replies."""
        # The training loop seeds torch before each step, so that a resumed run draws the same replies.
        wrong = torch.randint(len(self.pairs.replies), (len(rows), self.negatives))
        return self._cross_entropy(forward, self.pairs, torch.tensor(rows), wrong)

    def validate(self) -> float | None:
        """Minus the cross-entropy on the validation pairs, with the same random replies each time."""
        if self.held_out is None:
            return None
        rows = torch.arange(len(self.held_out.contexts))
        draws = torch.Generator().manual_seed(self.seed)
        wrong = torch.randint(len(self.held_out.replies), (len(rows), self.negatives), generator=draws)
        with torch.no_grad():
            return -float(self._cross_entropy(self.network, self.held_out, rows, wrong))

    def _cross_entropy(self, forward: Any, pairs: VectorPairs, rows: Tensor, wrong: Tensor) -> Tensor:
        """A random reply that happens to be the true one does not count."""
        answers = torch.from_numpy(pairs.answers)[rows][:, None]
        contexts = torch.from_numpy(pairs.contexts)[rows]
        replies = torch.from_numpy(pairs.replies)[torch.cat([answers, wrong], dim=1)]  # (rows, 1 + negatives, width)
        device = self.network.matrix.device
        logits: Tensor = forward(contexts.to(device), replies.to(device))
        target = torch.zeros_like(logits)
        target[:, 0] = 1
        counts = torch.ones_like(logits)
        counts[:, 1:] = (wrong != answers).to(logits)
        return binary_cross_entropy_with_logits(logits, target, weight=counts, reduction="sum") / counts.sum()

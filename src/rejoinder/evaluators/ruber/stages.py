"""The two training stages of s_U: ranking true replies above random ones, and regression on human scores.

Random replies are those of the other pairs in the batch, which is drawn at random: each text is read once and serves
both as a true and as a random reply.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from rejoinder.arrays import Floats, Ints
from rejoinder.evaluators.ruber.inputs import PairInput
from rejoinder.evaluators.ruber.network import PairNetwork
from rejoinder.learning.batching import shuffled
from rejoinder.learning.stages import Forward
from rejoinder.stats.correlation import product_moment
from rejoinder.types import Scores

_VALIDATION_BATCH = 256
_VALIDATE, _SHUFFLE = 21, 22  # streams of random numbers that nothing else of a fit uses


@dataclass(frozen=True, eq=False)
class _PairStage:
    """Pairs to learn from and pairs to validate on."""

    network: PairNetwork
    pairs: PairInput
    learn: Ints
    """Pairs to learn from, by number."""
    held_out: Ints
    """Pairs to validate on."""
    seed: int

    def __len__(self) -> int:
        return len(self.learn)

    def batches(self, epoch: int, size: int) -> list[list[int]]:
        """Pairs in random order."""
        return shuffled(len(self), size, np.random.default_rng([self.seed, _SHUFFLE, epoch]))

    def _held_out_batches(self) -> list[Ints]:
        parts = -(-len(self.held_out) // _VALIDATION_BATCH)
        return np.array_split(self.held_out, parts) if parts else []


@dataclass(frozen=True, eq=False)
class RankingStage(_PairStage):
    """A true reply should score higher than a random one, by a margin (Tao et al. 2018, equation 3)."""

    name: ClassVar[str] = "ranking"
    figure: ClassVar[str] = "ranking accuracy"

    negatives: int = 8
    """Random replies per context."""
    margin: float = 0.5

    def loss(self, forward: Forward, rows: Sequence[int], epoch: int) -> Tensor:  # noqa: ARG002 - the step seeds torch
        """max(0, margin - true + random), the mean over all random replies."""
        pairs = self.learn[list(rows)]
        shifts = torch.randint(1, max(2, len(pairs)), (len(pairs), self.negatives)).numpy()
        candidates, counts = self._candidates(pairs, shifts)
        scores = forward(**self.pairs.tensors(pairs, candidates))
        short = torch.relu(self.margin - scores[:, :1] + scores[:, 1:]) * torch.from_numpy(counts)
        return short.sum() / max(1.0, float(counts.sum()))

    def validate(self) -> float | None:
        """How often the true reply scores higher than a random one (0.5: chance); a tie counts half."""
        right, total = 0.0, 0.0
        rng = np.random.default_rng([self.seed, _VALIDATE])
        self.network.eval()
        with torch.inference_mode():
            for pairs in self._held_out_batches():
                shifts = rng.integers(1, max(2, len(pairs)), (len(pairs), self.negatives))
                candidates, counts = self._candidates(pairs, shifts)
                scores = self.network(**self.pairs.tensors(pairs, candidates)).numpy()
                above = (scores[:, :1] > scores[:, 1:]) + 0.5 * (scores[:, :1] == scores[:, 1:])
                right, total = right + float((above * counts).sum()), total + float(counts.sum())
        return right / total if total else None

    def _candidates(self, pairs: Ints, shifts: Ints) -> tuple[Ints, Scores]:
        """Texts of the true reply and of other pairs' replies; 1 for each of the latter that is a different text.

        A shift is at least 1, so that no pair is its own negative. (pairs, 1 + negatives), (pairs, negatives)
        """
        texts = self.pairs.table.replies[pairs]
        others = texts[(np.arange(len(pairs))[:, None] + shifts) % len(pairs)]
        counts = (others != texts[:, None]).astype(np.float32)
        return np.concatenate([texts[:, None], others], axis=1), counts


@dataclass(frozen=True, eq=False)
class RegressionStage(_PairStage):
    """Squared error on human scores."""

    name: ClassVar[str] = "regression"
    figure: ClassVar[str] = "correlation"

    human: Floats
    """The human score of every pair, from 0 to 1."""

    def loss(self, forward: Forward, rows: Sequence[int], epoch: int) -> Tensor:  # noqa: ARG002 - labels never change
        """The mean squared error."""
        pairs = self.learn[list(rows)]
        scores = forward(**self._tensors(pairs))[:, 0]
        return torch.nn.functional.mse_loss(scores, torch.from_numpy(self.human[pairs]).float())

    def validate(self) -> float | None:
        """Pearson's correlation with the human scores; -1 if all scores are equal."""
        human = self.human[self.held_out]
        if not len(human) or not np.ptp(human):
            return None
        self.network.eval()
        with torch.inference_mode():
            parts = [self.network(**self._tensors(pairs))[:, 0] for pairs in self._held_out_batches()]
        scores = torch.cat(parts).double().numpy()
        return float(product_moment(scores, human)) if np.ptp(scores) else -1.0

    def _tensors(self, pairs: Ints) -> dict[str, Tensor]:
        return self.pairs.tensors(pairs, self.pairs.table.replies[pairs][:, None])

"""The stages that train the whole network: ranking true replies above others, without labels; then human scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rejoinder.data.negatives import Negatives, Place
from rejoinder.data.pairs import Pair, pair_of
from rejoinder.evaluators.encoder.scored_replies import EncoderStage, ScoredReplies
from rejoinder.evaluators.encoder.torch_model import TorchModel
from rejoinder.learning.batching import Encoded, buckets
from rejoinder.learning.stages import Forward


@dataclass(frozen=True, eq=False)
class RankingStage(EncoderStage):
    """The true reply of a place against replies that do not fit it."""

    name: ClassVar[str] = "ranking"
    figure: ClassVar[str] = "ranking accuracy"

    model: TorchModel
    source: Negatives
    rows: NDArray[np.int64]
    """Places to learn from."""
    held_out: NDArray[np.int64]
    """Places to validate on."""
    seed: int
    negatives: int = 1
    margin: float = 1.0
    head_rate: float = 1.0

    def __len__(self) -> int:
        return len(self.rows)

    def batches(self, epoch: int, size: int) -> list[list[int]]:
        """Places of similar length together."""
        rng = np.random.default_rng([self.seed, 1, epoch])
        return buckets(self._lengths, size, rng)

    def loss(self, forward: Forward, rows: Sequence[int], epoch: int) -> Tensor:
        """max(0, margin - true + other), the mean over all pairs."""
        encoded = self._encoded(self.rows[list(rows)], epoch)
        scores = forward(**self.model.tensors(encoded)).view(self.negatives + 1, len(rows))
        return torch.relu(self.margin - scores[0] + scores[1:]).mean()

    def validate(self) -> float | None:
        """How often the true reply scores above one that does not fit; a tie counts half."""
        if not len(self.held_out):
            return None
        true, others = self._held_out_scores()
        return float(((true > others) + 0.5 * (true == others)).mean())

    def validation_loss(self) -> float | None:
        """The loss on the held-out places."""
        if not len(self.held_out):
            return None
        true, others = self._held_out_scores()
        return float(np.maximum(0, self.margin - true + others).mean())

    def _held_out_scores(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of true replies (places,), and of those that do not fit (negatives, places)."""
        scores = self.model.score_encoded(self._held_out).reshape(self.negatives + 1, -1)
        return scores[0], scores[1:]

    @cached_property
    def _lengths(self) -> list[int]:
        return place_lengths([self.source.places[row] for row in self.rows], self.model.settings.max_length)

    @cached_property
    def _held_out(self) -> list[Encoded]:
        return self._encoded(self.held_out, -1)

    def _encoded(self, places: NDArray[np.int64], epoch: int) -> list[Encoded]:
        """All true replies, then the first negative of each, then the second."""
        true = [pair_of(self.source.places[place]) for place in places]
        generators = [np.random.default_rng([self.seed, 2, epoch + 1, place]) for place in places.tolist()]
        pairs: list[Pair] = list(true)
        for _ in range(self.negatives):
            drawn = [self.source.draw(place, rng)[1] for place, rng in zip(places.tolist(), generators, strict=True)]
            pairs += [pair._replace(response=text) for pair, text in zip(true, drawn, strict=True)]
        return self.model.tokeniser.encode(pairs)


@dataclass(frozen=True, eq=False)
class RegressionStage(ScoredReplies):
    """Replies with the scores that people gave them."""

    name: ClassVar[str] = "regression"
    figure: ClassVar[str] = "correlation"
    stream: ClassVar[int] = 3

    weights: NDArray[np.float64] | None = None
    """How much each pair counts; all equally unless given."""

    def loss(self, forward: Forward, rows: Sequence[int], epoch: int) -> Tensor:  # noqa: ARG002 - labels never change
        """The mean squared error."""
        read = self.read(forward, rows)
        wanted = torch.as_tensor(self.wanted[read.numbers], dtype=read.scores.dtype, device=read.scores.device)
        if self.weights is None:
            return torch.nn.functional.mse_loss(read.scores, wanted)
        weights = torch.as_tensor(self.weights[read.numbers], dtype=wanted.dtype, device=wanted.device)
        return (weights * (read.scores - wanted) ** 2).mean()

    def validation_loss(self) -> float | None:
        """The mean squared error on the held-out replies."""
        if not self.held_out:
            return None
        scores = self.model.score([self.pairs[number] for number in self.held_out])
        return float(np.mean((scores - self.wanted[list(self.held_out)]) ** 2))


def place_lengths(places: Sequence[Place], max_length: int) -> list[int]:
    """The number of characters read of each place: an estimate of its number of tokens."""
    most = 4 * max_length
    return [min(most, _characters(place, most)) for place in places]


def _characters(place: Place, enough: int) -> int:
    """Characters of a reply and of the turns before it, counted back until there are enough."""
    total = len(place.response)
    for turn in range(place.turn - 1, -1, -1):
        if total >= enough:
            break
        total += len(place.dialogue.turns[turn])
    return total

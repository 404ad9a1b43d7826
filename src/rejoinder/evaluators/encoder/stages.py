"""Two stages of training: ranking true replies above others, without labels; then squared error on human scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rejoinder.data.negatives import Negatives, Place
from rejoinder.data.pairs import Pair
from rejoinder.evaluators.encoder.torch_model import TorchModel
from rejoinder.learning.batching import Encoded, buckets
from rejoinder.learning.stages import Forward
from rejoinder.stats.correlation import product_moment


@dataclass(frozen=True, eq=False)
class RankingStage:
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

    @property
    def network(self) -> nn.Module:
        """The whole network."""
        return self.model.network

    def __len__(self) -> int:
        return len(self.rows)

    def batches(self, epoch: int, size: int) -> list[list[int]]:
        """Places of like length together."""
        rng = np.random.default_rng([self.seed, 1, epoch])
        return buckets(self._lengths, size, rng)

    def loss(self, forward: Forward, rows: Sequence[int], epoch: int) -> Tensor:
        """max(0, margin - true + other), the mean over all pairs."""
        encoded = self._encoded(self.rows[list(rows)], epoch)
        scores = forward(**self.model.tensors(encoded)).view(self.negatives + 1, len(rows))
        return torch.relu(self.margin - scores[0] + scores[1:]).mean()

    def validate(self) -> float | None:
        """How often the true reply is above one that does not fit; a tie counts half."""
        if not len(self.held_out):
            return None
        scores = self.model.score_encoded(self._held_out).reshape(self.negatives + 1, -1)
        above = (scores[0] > scores[1:]) + 0.5 * (scores[0] == scores[1:])
        return float(above.mean())

    @cached_property
    def _lengths(self) -> list[int]:
        return place_lengths([self.source.places[row] for row in self.rows], self.model.settings.max_length)

    @cached_property
    def _held_out(self) -> list[Encoded]:
        return self._encoded(self.held_out, -1)

    def _encoded(self, places: NDArray[np.int64], epoch: int) -> list[Encoded]:
        """All true replies, then all first negatives, then all second ones."""
        pairs = [[self._pair(place, None) for place in places]]
        generators = [np.random.default_rng([self.seed, 2, epoch + 1, place]) for place in places.tolist()]
        for _ in range(self.negatives):
            drawn = [self.source.draw(place, rng)[1] for place, rng in zip(places.tolist(), generators, strict=True)]
            pairs.append([self._pair(place, text) for place, text in zip(places, drawn, strict=True)])
        return self.model.tokeniser.encode([pair for group in pairs for pair in group])

    def _pair(self, place: int, response: str | None) -> Pair:
        found = self.source.places[place]
        return Pair(found.context, found.speakers, found.response if response is None else response)


@dataclass(frozen=True, eq=False)
class RegressionStage:
    """Replies with the scores that people gave them."""

    name: ClassVar[str] = "regression"
    figure: ClassVar[str] = "correlation"

    model: TorchModel
    pairs: Sequence[Pair]
    human: NDArray[np.float64]
    """On the 1..5 scale."""
    held_out: Sequence[Pair]
    held_out_human: NDArray[np.float64]
    seed: int

    @property
    def network(self) -> nn.Module:
        """The whole network."""
        return self.model.network

    def __len__(self) -> int:
        return len(self.pairs)

    def batches(self, epoch: int, size: int) -> list[list[int]]:
        """Replies of like length together."""
        rng = np.random.default_rng([self.seed, 3, epoch])
        return buckets([len(row.ids) for row in self._encoded], size, rng)

    def loss(self, forward: Forward, rows: Sequence[int], epoch: int) -> Tensor:  # noqa: ARG002 - labels never change
        """The mean squared error."""
        scores = forward(**self.model.tensors([self._encoded[row] for row in rows]))
        wanted = torch.as_tensor(self.human[list(rows)], dtype=scores.dtype, device=scores.device)
        return torch.nn.functional.mse_loss(scores, wanted)

    def validate(self) -> float | None:
        """Pearson's correlation with people; -1 where the model gives everything the same score."""
        if len(self.held_out) < 2 or np.ptp(self.held_out_human) == 0:
            return None
        scores = self.model.score_encoded(self._held_out)
        return float(product_moment(scores, self.held_out_human)) if np.ptp(scores) > 0 else -1.0

    @cached_property
    def _encoded(self) -> list[Encoded]:
        return self.model.tokeniser.encode(self.pairs)

    @cached_property
    def _held_out(self) -> list[Encoded]:
        return self.model.tokeniser.encode(self.held_out)


def place_lengths(places: Sequence[Place], max_length: int) -> list[int]:
    """Characters of each place, as far as they count: near enough to tokens."""
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

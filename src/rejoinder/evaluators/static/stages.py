"""The two training stages: which reply answers which turn, learned from dialogues; then squared error on scores.

A mean of word vectors is so cheap that the first stage goes several times through all turns of many dialogues.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from rejoinder.arrays import Vectors
from rejoinder.data.contexts import rows_of_contexts
from rejoinder.errors import CallError
from rejoinder.evaluators.scale import on_our_scale
from rejoinder.evaluators.static.reading import Reading, counted
from rejoinder.evaluators.static.trainable import Towers, TrainableNetwork
from rejoinder.language_models.ngram import NgramModel
from rejoinder.learning.batching import shuffled
from rejoinder.learning.data import labels
from rejoinder.learning.in_batch import in_batch_loss, negatives_of
from rejoinder.learning.losses import squared_error_with_contexts
from rejoinder.metrics.batch import BATCH
from rejoinder.stats.correlation import product_moment
from rejoinder.types import Dialogue, Example, JudgedExample, Scores

TABLE_RATE = 0.25
"""Learning rate of word vectors and word weights, as a factor on that of the other weights."""
MOST_TURNS = 4
"""Turns of a context that are read in the first stage."""
MOST_PLACES = 500_000
"""The largest number of turns of the first stage, drawn at random: an epoch takes about a minute at most."""
_SHUFFLE_PLACES, _SHUFFLE_CONTEXTS = 13, 11  # streams of random numbers that nothing else of a fit uses


@dataclass(frozen=True, eq=False)
class MatchingStage:
    """Which reply answers which turn: in-batch ranking, as of an encoder's two towers (`encoder/in_batch_stage.py`)."""

    name: ClassVar[str] = "matching"
    figure: ClassVar[str] = ""

    towers: Towers
    places: Sequence[Example]
    known: NgramModel
    seed: int

    @property
    def network(self) -> nn.Module:
        """What is called: the vectors of replies and turns."""
        return self.towers

    def groups(self) -> list[tuple[list[nn.Parameter], float]]:
        """Word vectors, word weights and bridge; the MLP is not used."""
        network = self.towers.network
        return [([network.vectors, network.weights, network.bridge], 1.0)]

    def __len__(self) -> int:
        return len(self.places)

    def batches(self, epoch: int, size: int) -> list[list[int]]:
        """Turns in random order."""
        return shuffled(len(self), size, np.random.default_rng([self.seed, _SHUFFLE_PLACES, epoch]))

    def loss(self, forward: Callable[..., Any], rows: Sequence[int], epoch: int) -> Tensor:  # noqa: ARG002 - never drawn
        """Each reply against the last turns of the batch, and, at half the weight, against what came before them."""
        chosen = [self.places[row] for row in rows]
        replies, last_turns, before = forward(Reading.of(chosen, self.known))
        allowed = negatives_of([example.response for example in chosen])
        return in_batch_loss(last_turns, replies, allowed) + in_batch_loss(before, replies, allowed) / 2

    def validate(self) -> float | None:
        """Nothing is held out."""
        return None


@dataclass(frozen=True, eq=False)
class ScoredReplies:
    """Replies with the scores to learn, or to validate on."""

    reading: Reading
    counts: Vectors
    wanted: Scores
    """The scores, from 1 to 5."""
    contexts: list[list[int]]
    """The rows of each context."""

    @classmethod
    def of(
        cls, judged: Sequence[JudgedExample], dimension: str | None, scale: tuple[float, float], known: NgramModel
    ) -> ScoredReplies:
        """Of judged examples; CallError if none has a context and a reply."""
        examples, human = labels(judged, dimension)
        usable = [row for row, example in enumerate(examples) if example.context and example.response.strip()]
        if not usable:
            raise CallError("no judged example has both a context and a reply: expected at least one")
        chosen = [examples[row] for row in usable]
        parts = [Reading.of(chosen[at : at + BATCH], known) for at in range(0, len(chosen), BATCH)]
        counts = np.concatenate([counted(part, known) for part in parts])
        return cls(Reading.joined(parts), counts, on_our_scale(human[usable], scale), rows_of_contexts(chosen))

    def __len__(self) -> int:
        return len(self.wanted)


@dataclass(frozen=True, eq=False)
class ScoreStage:
    """Squared error on scores; a row is a context with all of its replies."""

    name: ClassVar[str] = "scores"
    figure: ClassVar[str] = "correlation"

    network: TrainableNetwork
    replies: ScoredReplies
    held_out: ScoredReplies | None
    seed: int

    def groups(self) -> list[tuple[list[nn.Parameter], float]]:
        """Word vectors and weights learn more slowly than the rest."""
        table = [self.network.vectors, self.network.weights]
        others = [weight for weight in self.network.parameters() if all(weight is not each for each in table)]
        return [(others, 1.0), (table, TABLE_RATE)]

    def __len__(self) -> int:
        return len(self.replies.contexts)

    def batches(self, epoch: int, size: int) -> list[list[int]]:
        """Contexts in random order."""
        return shuffled(len(self), size, np.random.default_rng([self.seed, _SHUFFLE_CONTEXTS, epoch]))

    def loss(self, forward: Callable[..., Any], rows: Sequence[int], epoch: int) -> Tensor:  # noqa: ARG002 - never drawn
        """The squared error of the scores, plus that of the scores minus their mean within the context."""
        contexts = [self.replies.contexts[row] for row in rows]
        chosen = np.concatenate(contexts)
        wanted = torch.from_numpy(self.replies.wanted[chosen]).float()
        off: Tensor = forward(self.replies.reading.take(chosen), self.replies.counts[chosen]) - wanted
        sizes = torch.tensor([len(context) for context in contexts])
        return squared_error_with_contexts(off, sizes)

    def validate(self) -> float | None:
        """Pearson's correlation of the network in numpy with the held-out scores; -1 if all its scores are equal."""
        held_out = self.held_out
        if held_out is None or np.ptp(held_out.wanted) == 0:
            return None
        scores = self.network.finished().score(held_out.reading, held_out.counts)
        return float(product_moment(scores, held_out.wanted)) if np.ptp(scores) > 0 else -1.0


def draw_places(dialogues: Sequence[Dialogue], seed: int) -> list[Example]:
    """Turns that answer another, each with the turns before it, in random order; blank ones are left out."""
    answers = np.array([max(0, len(dialogue.turns) - 1) for dialogue in dialogues], np.int64)
    ends = np.cumsum(answers)
    drawn = np.random.default_rng([seed, _SHUFFLE_PLACES]).permutation(int(answers.sum()))[:MOST_PLACES]
    numbers = np.searchsorted(ends, drawn, side="right")
    turns = drawn - (ends - answers)[numbers] + 1
    places = [(dialogues[number].turns, turn) for number, turn in zip(numbers.tolist(), turns.tolist(), strict=True)]
    return [
        Example("", said[max(0, turn - MOST_TURNS) : turn], said[turn])
        for said, turn in places
        if said[turn].strip() and said[turn - 1].strip()
    ]

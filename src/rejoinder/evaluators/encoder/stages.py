"""The stages of training: ranking true replies above others, ratings, and scores of a teacher."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rejoinder.data.dialogues import ReplyInContext, pair_of
from rejoinder.data.negatives import Negatives, Place
from rejoinder.evaluators.calibration import HIGHEST, LOWEST
from rejoinder.evaluators.encoder.networks import BranchEncoder, NetworkOutput, on_scale
from rejoinder.evaluators.encoder.reading import ContextIds, TokenIds, padded_rows
from rejoinder.evaluators.encoder.torch_model import EncoderTowers, TorchModel, TowerTexts, TowerVectors
from rejoinder.learning.data import EncodedPair, buckets
from rejoinder.learning.loop import Forward
from rejoinder.learning.torch_parts import SCALE, in_batch_loss, negatives_of, squared_error_with_contexts
from rejoinder.stats.correlation import product_moment
from rejoinder.text.tokens import writable

# The stages that train the whole network: ranking true replies above others, without labels; then ratings.


# Shared by stages that learn scores of replies: how the network reads a batch, and how it is validated.
#
# A row of such a stage is a context with some of its replies. A cross-encoder reads each reply in a row of its own; a
# network with towers reads the context once, with all its replies (`reading.Brancher`).


MOST_REPLIES = 10
"""Replies that share a context's row in training."""


class StageOutput(NamedTuple):
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
class TargetScores(EncoderStage):
    """Replies with the scores that the model should learn to give them."""

    stream: ClassVar[int]
    """Makes the random numbers of one stage differ from those of another with the same seed."""

    model: TorchModel
    pairs: Sequence[ReplyInContext]
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
        return AllReplies(network) if isinstance(network, BranchEncoder) else network

    def __len__(self) -> int:
        return len(self.contexts)

    def batches(self, epoch: int, size: int) -> list[list[int]]:
        """Rows of similar length together."""
        return buckets(self._lengths, size, np.random.default_rng([self.seed, self.stream, epoch]))

    def read(self, forward: Forward, rows: Sequence[int]) -> StageOutput:
        """The scores of all replies of these rows."""
        groups = [self.contexts[row] for row in rows]
        numbers = [number for group in groups for number in group]
        device = next(self.model.network.parameters()).device
        sizes = torch.tensor([len(group) for group in groups], device=device)
        if not self.model.settings.towers:
            scores = forward(**self.model.tensors([self._encoded[number] for number in numbers]))
            return StageOutput(numbers, sizes, scores, None)
        brancher, (contexts, replies) = self.model.tokeniser.brancher, self._texts
        made = [brancher.row(contexts[group[0]], [replies[number] for number in group]) for group in groups]
        arrays = self.model.on_device(padded_rows(made, self.model.settings.pad))
        most = torch.arange(max(map(len, groups)), device=device)
        reading = NetworkOutput(*forward(**arrays, replies=most))
        there = most < sizes[:, None]  # (contexts, most)
        vectors = TowerVectors(reading.context, reading.last_turn, reading.alone[there])
        return StageOutput(numbers, sizes, on_scale(reading.logits[there].float()), vectors)

    def validate(self) -> float | None:
        """Pearson's correlation with the wanted scores; -1 where the model gives every reply the same score."""
        wanted = self.wanted[list(self.held_out)]
        if len(wanted) < 2 or np.ptp(wanted) == 0:
            return None
        scores = self.model.score([self.pairs[number] for number in self.held_out])
        return float(product_moment(scores, wanted)) if np.ptp(scores) > 0 else -1.0

    @cached_property
    def _encoded(self) -> list[EncodedPair]:
        return self.model.tokeniser.encode(self.pairs)

    @cached_property
    def _texts(self) -> tuple[list[ContextIds], list[TokenIds]]:
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


class AllReplies(nn.Module):
    """A network with towers that returns all its outputs for rows of several replies."""

    def __init__(self, network: BranchEncoder) -> None:
        super().__init__()
        self.network = network

    def forward(
        self, input_ids: Tensor, positions: Tensor, parts: Tensor, numbers: Tensor, replies: Tensor
    ) -> NetworkOutput:
        """(rows, tokens) each, (replies,)"""
        return self.network.read(input_ids, positions, parts, numbers, replies)


def by_context(pairs: Sequence[ReplyInContext], groups: Sequence[Sequence[int]]) -> list[list[int]]:
    """The groups cut into parts that a row can hold: one context, and at most ten replies."""
    found: list[list[int]] = []
    for group in groups:
        same: dict[tuple[str, ...], list[int]] = {}
        for number in group:
            same.setdefault(pairs[number].context, []).append(number)
        for numbers in same.values():
            found += [numbers[start : start + MOST_REPLIES] for start in range(0, len(numbers), MOST_REPLIES)]
    return found


@dataclass(frozen=True, eq=False)
class EncoderRankingStage(EncoderStage):
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
    def _held_out(self) -> list[EncodedPair]:
        return self._encoded(self.held_out, -1)

    def _encoded(self, places: NDArray[np.int64], epoch: int) -> list[EncodedPair]:
        """All true replies, then the first negative of each, then the second."""
        true = [pair_of(self.source.places[place]) for place in places]
        generators = [np.random.default_rng([self.seed, 2, epoch + 1, place]) for place in places.tolist()]
        pairs: list[ReplyInContext] = list(true)
        for _ in range(self.negatives):
            drawn = [self.source.draw(place, rng)[1] for place, rng in zip(places.tolist(), generators, strict=True)]
            pairs += [pair._replace(response=text) for pair, text in zip(true, drawn, strict=True)]
        return self.model.tokeniser.encode(pairs)


@dataclass(frozen=True, eq=False)
class EncoderRegressionStage(TargetScores):
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


# In-batch ranking: the encoder as two towers, every reply of a batch against every context of it.
#
# Context and reply are encoded separately, so that a batch of n places gives n * n pairs for the price of 2n short
# texts; encoded together, n texts give n pairs. It teaches topic quickly and cheaply, and does not train the head:
# the next stage does. Loss and scale are those of Henderson et al. 2017, "Efficient Natural Language Response
# Suggestion for Smart Reply", with the cosine times 20 of Reimers and Gurevych 2020 (sentence-transformers).


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
        return EncoderTowers(self.model.network.encoder)

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


# Distillation into an encoder: it learns the scores that a teacher gave to replies, several to each context.
#
# Up to four losses are added up:
#
# - the squared error from the teacher's score, and that within each context;
# - *ranking*: where the teacher scored no reply to a context, the cross-entropy of the true one among them;
# - *in batch*, for a network with towers: each context, whole and by its last turn, has to be nearer to its true reply
# than to the replies to other contexts of the batch;
# - *anchor*, for a network with towers: the squared difference of all cosines in the batch from those of other
# towers, so that what these know is not lost.


@dataclass(frozen=True, kw_only=True)
class LossWeights:
    """The weight of each further loss relative to the squared error."""

    ranking: float = 0.5
    in_batch: float = 0.0
    anchor: float = 0.0


@dataclass(frozen=True, eq=False)
class DistillStage(TargetScores):
    """Replies with a teacher's scores, NaN where it gave none; a row is a context with all its replies."""

    name: ClassVar[str] = "distillation"
    figure: ClassVar[str] = "correlation with the teacher"
    stream: ClassVar[int] = 8

    true: NDArray[np.bool_] | None = None
    """Which of the pairs have the true reply of their context; needed for ranking and in-batch loss."""
    anchor: TowerVectors | None = None
    """Vectors of the rows' contexts and of all pairs' replies."""
    losses: LossWeights = field(default_factory=LossWeights)

    def loss(self, forward: Forward, rows: Sequence[int], epoch: int) -> Tensor:  # noqa: ARG002 - nothing is drawn
        """The weighted sum of all losses for which data is available."""
        read, weights = self.read(forward, rows), self.losses
        wanted = torch.as_tensor(self.wanted[read.numbers], dtype=read.scores.dtype, device=read.scores.device)
        scored = ~wanted.isnan()
        loss = squared_error_with_contexts(torch.where(scored, read.scores - wanted.nan_to_num(), 0), read.sizes)
        true = torch.zeros_like(scored)
        if self.true is not None:
            true = torch.as_tensor(self.true[read.numbers], device=scored.device)
        if weights.ranking and bool((true & ~scored).any()):
            loss = loss + weights.ranking * ranking_loss(read.scores, read.sizes, true & ~scored)
        if read.vectors is None:
            return loss
        if weights.in_batch:
            loss = loss + weights.in_batch * tower_in_batch_loss(read.vectors, read.sizes, true)
        if weights.anchor and self.anchor is not None:
            contexts, last_turns, replies = self.anchor
            then = TowerVectors(contexts[list(rows)], last_turns[list(rows)], replies[read.numbers])
            loss = loss + weights.anchor * anchor_loss(read.vectors, then)
        return loss


def ranking_loss(scores: Tensor, sizes: Tensor, true: Tensor) -> Tensor:
    """The cross-entropy of the true replies among the replies to their contexts, as a mean over contexts.

    (replies,), (contexts,), (replies,) -> ()
    """
    there = torch.arange(int(sizes.max()), device=sizes.device) < sizes[:, None]  # (contexts, most)
    logits = torch.full(there.shape, -torch.inf, dtype=scores.dtype, device=scores.device)
    logits[there] = torch.logit((scores - LOWEST) / (HIGHEST - LOWEST), eps=1e-6)
    return -(logits.log_softmax(1)[there] * true).sum() / len(sizes)


def tower_in_batch_loss(vectors: TowerVectors, sizes: Tensor, true: Tensor) -> Tensor:
    """The cross-entropy of each context's true reply among it and all replies to the batch's other contexts.

    Its own replies that are not true are left out: they may fit as well, or be an echo.
    """
    places = torch.arange(len(sizes), device=sizes.device)
    own = torch.repeat_interleave(places, sizes) == places[:, None]  # (contexts, replies)
    loss = torch.zeros((), device=sizes.device)
    for contexts in (vectors.contexts, vectors.last_turns):
        logits = (SCALE * contexts @ vectors.replies.T).masked_fill(own & ~true, -torch.inf)
        loss = loss - logits.log_softmax(1).masked_fill(~(own & true), 0).sum() / len(sizes)
    return loss


def anchor_loss(vectors: TowerVectors, then: TowerVectors) -> Tensor:
    """The mean squared difference of the batch's cosines from what they were, of whole contexts and of last turns."""
    before = TowerVectors(*(each.to(vectors.replies.device) for each in then))
    whole = vectors.contexts @ vectors.replies.T - before.contexts @ before.replies.T
    last = vectors.last_turns @ vectors.replies.T - before.last_turns @ before.replies.T
    return (whole**2).mean() + (last**2).mean()

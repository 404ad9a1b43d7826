"""How it is trained: its language model, its network, and the stages."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from rejoinder.arrays import Floats, Vectors
from rejoinder.data.contexts import context_groups, digest_of, rows_of_contexts
from rejoinder.errors import CallError
from rejoinder.evaluators.calibration import HIGHEST, LOWEST, observed_scale, on_our_scale
from rejoinder.evaluators.static.reading import (
    BEFORE,
    COUNTS,
    LAST,
    OWN,
    RAREST,
    REPLY,
    STRETCHES,
    WordIds,
    count_columns,
    word_numbers,
)
from rejoinder.evaluators.static.static import COSINES, PRODUCTS, TINY, StaticNetwork
from rejoinder.learning.checkpoints import Checkpoints, seeded
from rejoinder.learning.data import TrainingData, held_out, labels, shuffled
from rejoinder.learning.loop import run_stage
from rejoinder.learning.schedules import Schedule
from rejoinder.learning.torch_parts import in_batch_loss, negatives_of, squared_error_with_contexts
from rejoinder.metrics.batch import BATCH
from rejoinder.models.ngram import SPECIAL, NgramCounts, NgramLevel, NgramModel, prune, with_special
from rejoinder.models.smoothing import kneser_ney
from rejoinder.stats.correlation import product_moment
from rejoinder.text.vectors import WordVectors, load_vectors
from rejoinder.types import Dialogue, Example, JudgedExample, Scores

if TYPE_CHECKING:
    from rejoinder.evaluators.static.static import Static

# From dialogues and scored replies to a language model and a network.
#
# Word pairs are counted, word vectors learn which reply answers which turn, then word vectors and MLP learn the scores.


HELD_OUT, MOST_HELD_OUT, FEWEST_TO_HOLD_OUT = 0.1, 500, 50
"""The share of contexts to validate on, their largest number, and below how many contexts none are held out."""
PLACES = 512
"""Turns per step of the first stage."""
REPLIES = 512
"""Replies per step of the second stage, about: contexts are kept whole."""
MATCHING_RATE, SCORE_RATE = 1e-3, 2e-3


def learned_static(evaluator: Static, data: TrainingData) -> tuple[NgramModel, StaticNetwork]:
    """The language model and the network."""
    vectors = load_vectors(evaluator.vectors, quiet=data.run.quiet)
    judged = (*data.judged, *data.valid)
    scale = evaluator.scale or observed_scale(judged, evaluator.dimension)
    learn, valid = split(data)
    known = language_model(vectors, _spoken(data), evaluator.prune)
    network = TrainableNetwork.start(vectors, known, evaluator.hidden, data.seed)
    checkpoints = Checkpoints.of(data.run, digest_of([evaluator.parameters, data.digest, data.seed]))
    match_replies(network, known, data, evaluator.passes, checkpoints)
    replies = StaticTargets.of(learn, evaluator.dimension, scale, known)
    aside = StaticTargets.of(valid, evaluator.dimension, scale, known) if valid else None
    network.standardise(replies.reading, replies.counts)
    stage = ScoreStage(network, replies, aside, data.seed)
    batch = max(1, round(REPLIES * len(stage) / len(replies)))  # contexts
    schedule = _schedule(SCORE_RATE, batch, evaluator.epochs)
    run_stage(stage, stage, schedule, data.seed, data.run, checkpoints)
    return known, network.finished()


def match_replies(
    network: TrainableNetwork,
    known: NgramModel,
    data: TrainingData,
    passes: int,
    checkpoints: Checkpoints | None = None,
) -> None:
    """Train word vectors, word weights and bridge, in place, on the dialogues."""
    places = draw_places(data.dialogues, data.seed)
    if len(places) < 2 or not passes:
        return
    stage = MatchingStage(StaticTowers(network), places, known, data.seed)
    run_stage(stage, stage, _schedule(MATCHING_RATE, PLACES, passes), data.seed, data.run, checkpoints)


def language_model(vectors: WordVectors, texts: Sequence[str], pruning: float) -> NgramModel:
    """Bigrams of the words that have a vector, counted in texts; in the precision that it is saved in."""
    words = with_special(vectors.words)
    bare = NgramModel(words, ())
    counts = NgramCounts.of(words, word_numbers(texts, bare), order=2)
    model = kneser_ney(counts)
    return _rounded(prune(model, pruning) if pruning > 0 else model)


def split(data: TrainingData) -> tuple[Sequence[JudgedExample], Sequence[JudgedExample]]:
    """Examples to learn from, and to validate on: the split `valid`, or else some contexts."""
    if data.valid:
        return data.judged, data.valid
    groups = context_groups([item.example for item in data.judged])
    held = held_out(groups, HELD_OUT, [data.seed, 12], fewest=FEWEST_TO_HOLD_OUT, most=MOST_HELD_OUT)
    return list(compress(data.judged, ~held)), list(compress(data.judged, held))


def _schedule(rate: float, batch: int, epochs: int) -> Schedule:
    return Schedule(
        learning_rate=rate,
        batch=batch,
        epochs=epochs,
        patience=epochs,  # all epochs are run
        warm_up=0.0,
        clip=math.inf,
        weight_decay=0.0,
        fused=True,
        cpu=True,
    )


def _rounded(model: NgramModel) -> NgramModel:
    """The same model in half precision, without infinite numbers."""

    def half(values: Floats) -> Floats:
        return np.clip(values, -2 * RAREST, 0.0).astype(np.float16).astype(np.float64)

    return NgramModel(
        model.words, tuple(NgramLevel(level.keys, half(level.log_prob), half(level.back_off)) for level in model.levels)
    )


def _spoken(data: TrainingData) -> list[str]:
    """The dialogues' turns; without dialogues, each different turn of the judged contexts."""
    turns = [turn for dialogue in data.dialogues for turn in dialogue.turns]
    return turns or list(dict.fromkeys(turn for item in data.judged for turn in item.example.context))


# The network in torch, where it is trained; `StaticNetwork` computes the same in numpy.


DROPOUT = 0.1
COMMON = 1e-3
"""A word's weight starts as COMMON / (COMMON + p), p being its share of all words (Arora et al. 2017)."""


class TrainableNetwork(nn.Module):
    """Word vectors, word weights, bridge and MLP."""

    shift: Tensor
    scale: Tensor
    centre: Tensor

    def __init__(self, vectors: Vectors, weights: Vectors, hidden: int) -> None:
        super().__init__()
        dims = vectors.shape[1]
        self.vectors = nn.Parameter(torch.from_numpy(vectors))
        self.weights = nn.Parameter(torch.from_numpy(weights))
        for table in (self.vectors, self.weights):
            table.register_hook(_none_for_special)  # type: ignore[no-untyped-call]
        self.bridge = nn.Parameter(torch.eye(dims))
        inputs = PRODUCTS * dims + COSINES + len(COUNTS)
        self.hidden, self.out = nn.Linear(inputs, hidden), nn.Linear(hidden, 1)
        for name, size in (("shift", len(COUNTS)), ("scale", len(COUNTS)), ("centre", dims)):
            self.register_buffer(name, torch.zeros(size))

    @classmethod
    def start(cls, vectors: WordVectors, known: NgramModel, hidden: int, seed: int) -> TrainableNetwork:
        """Before training: from word vectors and from the word frequencies of a language model."""
        return seeded(seed, lambda: cls(_start_vectors(vectors), _start_weights(known), hidden))

    def standardise(self, reading: WordIds, counts: Vectors) -> None:
        """Take the mean and deviation of the counts, and the mean reply vector, from the training replies."""
        self.shift = torch.from_numpy(counts.mean(axis=0))
        self.scale = torch.from_numpy(np.maximum(counts.std(axis=0), 0.01).astype(np.float32))
        with torch.no_grad():
            some = reading.take(np.arange(min(len(reading), BATCH)))
            self.centre = nn.functional.normalize(nn.functional.normalize(self.means(some)[0]).mean(0), dim=0)

    def forward(self, reading: WordIds, counts: Vectors) -> Tensor:
        """Scores from 1 to 5. (examples,)"""
        reply, last, before = self.means(reading)
        r, to_last, to_before = (unit(mean) for mean in (reply, last, before))
        m = unit(r @ self.bridge)
        products = (m * to_last, m * to_before, r * to_last)
        numbers = [product.sum(1) for product in products]
        numbers += [reply.norm(dim=1), r @ self.centre]
        scaled = (torch.from_numpy(counts) - self.shift) / self.scale
        inputs = torch.cat([r, to_last, *products, torch.stack(numbers, 1), scaled], 1)
        units = nn.functional.dropout(torch.relu(self.hidden(inputs)), DROPOUT, self.training)
        return LOWEST + (HIGHEST - LOWEST) * torch.sigmoid(self.out(units)[:, 0])

    def means(self, reading: WordIds) -> tuple[Tensor, Tensor, Tensor]:
        """Weighted mean word vectors of the reply, the last turn, and all turns before it. Each (examples, dims)"""
        words, starts = torch.from_numpy(reading.words), torch.from_numpy(reading.offsets[:-1])
        weights = self.weights.exp()
        sums = nn.functional.embedding_bag(
            words, self.vectors, starts, mode="sum", per_sample_weights=weights[words]
        ).reshape(len(reading), STRETCHES, -1)
        total = nn.functional.embedding_bag(words, weights[:, None], starts, mode="sum").reshape(-1, STRETCHES, 1)

        def mean(*parts: int) -> Tensor:
            return sums[:, list(parts)].sum(1) / total[:, list(parts)].sum(1).clamp(min=TINY)

        return mean(REPLY), mean(LAST), mean(BEFORE, OWN)

    def finished(self) -> StaticNetwork:
        """The same network in numpy, with int8 word vectors."""
        arrays = {name: tensor.detach().numpy().copy() for name, tensor in self.state_dict().items()}
        rest = {name: arrays[name] for name in ("bridge", "centre", "shift", "scale")}
        rest |= {"hidden": arrays["hidden.weight"].T.copy(), "hidden_bias": arrays["hidden.bias"]}
        rest |= {"out": arrays["out.weight"].T.copy(), "out_bias": arrays["out.bias"]}
        return StaticNetwork.of_table(arrays["vectors"], arrays["weights"], rest)


class StaticTowers(nn.Module):
    """The unit vectors by which replies are matched with turns."""

    def __init__(self, network: TrainableNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, reading: WordIds) -> tuple[Tensor, Tensor, Tensor]:
        """Replies through the bridge, last turns, and all turns before. Each (examples, dims)"""
        reply, last, before = self.network.means(reading)
        return unit(unit(reply) @ self.network.bridge), unit(last), unit(before)


def unit(vectors: Tensor) -> Tensor:
    """Each row at length 1; a row of zeros stays one."""
    return nn.functional.normalize(vectors, eps=TINY)


def _none_for_special(gradient: Tensor) -> Tensor:
    """No gradient for marks and unknown words, which stay without a vector."""
    kept = gradient.clone()
    kept[: len(SPECIAL)] = 0
    return kept


def _start_vectors(vectors: WordVectors) -> Vectors:
    """The vectors, scaled to a mean length of 1, after zeros for marks and unknown words."""
    matrix = np.asarray(vectors.matrix, np.float32)
    matrix = matrix / max(float(np.linalg.norm(matrix, axis=1).mean()), TINY)
    return np.concatenate([np.zeros((len(SPECIAL), matrix.shape[1]), np.float32), matrix])


def _start_weights(known: NgramModel) -> Vectors:
    """The logarithm of each word's weight."""
    share = 10.0 ** known.levels[0].log_prob
    weights = np.log(COMMON / (COMMON + share)).astype(np.float32)
    weights[: len(SPECIAL)] = np.log(TINY)
    return weights


# The two training stages: which reply answers which turn, learned from dialogues; then squared error on scores.
#
# A mean of word vectors is so cheap that the first stage goes several times through all turns of many dialogues.


TABLE_RATE = 0.25
"""Learning rate of word vectors and word weights, as a factor on that of the other weights."""
MOST_TURNS = 4
"""Turns of a context that are read in the first stage."""
MOST_PLACES = 500_000
"""The largest number of turns of the first stage, drawn at random: an epoch takes about a minute at most."""
_SHUFFLE_PLACES, _SHUFFLE_CONTEXTS = 13, 11  # streams of random numbers that nothing else of a fit uses


@dataclass(frozen=True, eq=False)
class MatchingStage:
    """Which reply answers which turn: in-batch ranking, as of an encoder's two towers (`encoder/stages.py`)."""

    name: ClassVar[str] = "matching"
    figure: ClassVar[str] = ""

    towers: StaticTowers
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
        replies, last_turns, before = forward(WordIds.of(chosen, self.known))
        allowed = negatives_of([example.response for example in chosen])
        return in_batch_loss(last_turns, replies, allowed) + in_batch_loss(before, replies, allowed) / 2

    def validate(self) -> float | None:
        """Nothing is held out."""
        return None


@dataclass(frozen=True, eq=False)
class StaticTargets:
    """Replies with the scores to learn, or to validate on."""

    reading: WordIds
    counts: Vectors
    wanted: Scores
    """The scores, from 1 to 5."""
    contexts: list[list[int]]
    """The rows of each context."""

    @classmethod
    def of(
        cls, judged: Sequence[JudgedExample], dimension: str | None, scale: tuple[float, float], known: NgramModel
    ) -> StaticTargets:
        """Of judged examples; CallError if none has a context and a reply."""
        examples, human = labels(judged, dimension)
        usable = [row for row, example in enumerate(examples) if example.context and example.response.strip()]
        if not usable:
            raise CallError("no judged example has both a context and a reply: expected at least one")
        chosen = [examples[row] for row in usable]
        parts = [WordIds.of(chosen[at : at + BATCH], known) for at in range(0, len(chosen), BATCH)]
        counts = np.concatenate([count_columns(part, known) for part in parts])
        return cls(WordIds.joined(parts), counts, on_our_scale(human[usable], scale), rows_of_contexts(chosen))

    def __len__(self) -> int:
        return len(self.wanted)


@dataclass(frozen=True, eq=False)
class ScoreStage:
    """Squared error on scores; a row is a context with all of its replies."""

    name: ClassVar[str] = "scores"
    figure: ClassVar[str] = "correlation"

    network: TrainableNetwork
    replies: StaticTargets
    held_out: StaticTargets | None
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

"""From dialogues and ratings to a trained s_U: what it starts from, the pairs, and the stages."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from rejoinder.arrays import Floats, Ints
from rejoinder.data.contexts import context_groups, digest_of
from rejoinder.data.dialogues import ReplyInContext, pair_of
from rejoinder.data.negatives import places_of
from rejoinder.errors import CallError, NeedsError
from rejoinder.evaluators.calibration import HIGHEST, LOWEST, observed_scale, on_our_scale
from rejoinder.evaluators.ruber.network import (
    FIRST_WORD,
    UNKNOWN,
    PairInput,
    PairNetwork,
    PairScorer,
    PairShape,
    TextReader,
    TokenReader,
    WordReader,
)
from rejoinder.evaluators.ruber.unref import AUTO, HIERARCHICAL, LABEL_BATCH, NONE, NetworkEvaluator
from rejoinder.learning.checkpoints import Checkpoints, seeded
from rejoinder.learning.data import TrainingData, held_out, labels, shuffled
from rejoinder.learning.loop import Forward, run_stage
from rejoinder.learning.schedules import Schedule
from rejoinder.models.text_encoder import TextEncoder
from rejoinder.registry import load_reply_model
from rejoinder.replies.neural_training import Hred
from rejoinder.stats.correlation import product_moment
from rejoinder.text.vectors import WordVectors
from rejoinder.text.vocabulary import Vocabulary
from rejoinder.types import Scores

# From dialogues and ratings to a trained s_U: the training pairs, and the order of the stages.


HELD_OUT, MOST_HELD_OUT, FEWEST_TO_HOLD_OUT = 0.1, 1000, 50
"""The share of dialogues or judged contexts to validate on, the largest number of pairs, and below how many dialogues
or contexts none are held out."""
PATIENCE, LABEL_PATIENCE = 3, 8
CLIP = 5.0
"""GRUs have occasional very large gradients."""


def learned_scorer(evaluator: NetworkEvaluator, data: TrainingData, vectors: WordVectors | None) -> PairScorer:
    """s_U after the ranking stage and, if there are judged examples, the regression stage.

    Word embeddings start from `vectors`; None for a pretrained encoder.
    """
    human = RatedReplies.of(evaluator, data) if data.judged else None  # problems with them are reported at once
    scorer = start_scorer(evaluator, data, vectors)
    places = places_of(data.dialogues)
    if len({place.response for place in places}) < 2:
        raise NeedsError(
            f"{evaluator.name} tells true replies from random ones: expected at least two different replies"
        )
    numbers = {id(dialogue): number for number, dialogue in enumerate(data.dialogues)}
    learn, valid = _split([numbers[id(place.dialogue)] for place in places], data.seed)
    pairs = scorer.input([pair_of(place) for place in places], quiet=data.run.quiet)
    stage = RuberRankingStage(
        scorer.network,
        pairs,
        learn,
        valid[:MOST_HELD_OUT],
        data.seed,
        negatives=evaluator.negatives,
        margin=evaluator.margin,
    )
    schedule = _schedule(evaluator.learning_rate, evaluator.batch, evaluator.epochs, PATIENCE)
    key = digest_of([evaluator.name, evaluator.parameters, data.digest, data.seed])
    checkpoints = Checkpoints.of(data.run, key)
    run_stage(stage, stage, schedule, data.seed, data.run, checkpoints)
    return scorer if human is None else _tuned(evaluator, scorer, human, data, checkpoints)


def tuned_scorer(evaluator: NetworkEvaluator, scorer: PairScorer, data: TrainingData) -> PairScorer:
    """A copy of s_U, trained on ratings; the split `valid`, or else some contexts, are held out."""
    fit = evaluator.fitted
    key = digest_of([evaluator.name, evaluator.parameters, fit.data, fit.seed, data.digest, data.seed])
    human = RatedReplies.of(evaluator, data)
    return _tuned(evaluator, scorer, human, data, Checkpoints.of(data.run, key))


@dataclass(frozen=True, eq=False)
class RatedReplies:
    """Replies with ratings: some to learn from, some held out."""

    pairs: list[ReplyInContext]
    scores: Scores
    """From 0 to 1."""
    learn: Ints
    held_out: Ints

    @classmethod
    def of(cls, evaluator: NetworkEvaluator, data: TrainingData) -> RatedReplies:
        """Scores on the dimension that the evaluator learns; NeedsError if there are none to learn from."""
        judged = (*data.judged, *data.valid)
        dimension = None if evaluator.dimension == AUTO else evaluator.dimension
        scale = evaluator.scale or observed_scale(judged, dimension)
        examples, human = labels(judged, dimension)
        usable = [row for row, example in enumerate(examples) if example.context and example.response.strip()]
        chosen = [examples[row] for row in usable]
        if data.valid:
            aside = {id(item.example) for item in data.valid}
            held = np.array([id(example) in aside for example in chosen], np.bool_)
            learn, valid = np.flatnonzero(~held), np.flatnonzero(held)
        else:
            learn, valid = _split(context_groups(chosen), data.seed)
        if not len(learn):
            raise NeedsError(f"{evaluator.name} learns from judged examples with a context and a reply: expected one")
        shares: Scores = (on_our_scale(human[usable], scale) - LOWEST) / (HIGHEST - LOWEST)
        return cls([pair_of(example) for example in chosen], shares, learn, valid)


def _tuned(
    evaluator: NetworkEvaluator,
    scorer: PairScorer,
    human: RatedReplies,
    data: TrainingData,
    checkpoints: Checkpoints | None,
) -> PairScorer:
    other = replace(scorer, network=deepcopy(scorer.network))
    pairs = other.input(human.pairs, quiet=data.run.quiet)
    stage = RuberRegressionStage(other.network, pairs, human.learn, human.held_out, data.seed, human=human.scores)
    schedule = _schedule(evaluator.label_rate, LABEL_BATCH, evaluator.label_epochs, LABEL_PATIENCE)
    run_stage(stage, stage, schedule, data.seed, data.run, checkpoints)
    return other


def _schedule(rate: float, batch: int, epochs: int, patience: int) -> Schedule:
    return Schedule(
        learning_rate=rate,
        batch=batch,
        epochs=epochs,
        patience=patience,
        warm_up=0.0,
        validate_first=True,
        clip=CLIP,
        weight_decay=0.0,
        fused=True,
        cpu=True,
    )


def _split(groups: Sequence[int] | Ints, seed: int) -> tuple[Ints, Ints]:
    """Rows to learn from, and held-out rows in random order; no group is in both."""
    held = held_out(groups, HELD_OUT, [seed, 5], fewest=FEWEST_TO_HOLD_OUT)
    return np.flatnonzero(~held), np.random.default_rng([seed, 6]).permutation(np.flatnonzero(held))


# The two training stages of s_U: ranking true replies above random ones, and regression on ratings.
#
# Random replies are those of the other pairs in the batch, which is drawn at random: each text is read once and serves
# both as a true and as a random reply.


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
class RuberRankingStage(_PairStage):
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
class RuberRegressionStage(_PairStage):
    """Squared error on ratings."""

    name: ClassVar[str] = "regression"
    figure: ClassVar[str] = "correlation"

    human: Floats
    """The rating of every pair, from 0 to 1."""

    def loss(self, forward: Forward, rows: Sequence[int], epoch: int) -> Tensor:  # noqa: ARG002 - labels never change
        """The mean squared error."""
        pairs = self.learn[list(rows)]
        scores = forward(**self._tensors(pairs))[:, 0]
        return torch.nn.functional.mse_loss(scores, torch.from_numpy(self.human[pairs]).float())

    def validate(self) -> float | None:
        """Pearson's correlation with the ratings; -1 if all scores are equal."""
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


# The network of s_U before training, and the reader of its texts.
#
# A GRU's word embeddings start from word vectors. Or all GRUs start from those of a trained HRED (Zhao et al. 2020,
# appendix B). HRED reads words in both directions, as s_U does, and turns in one: so the word embeddings and the GRU
# over words are copied whole; of the GRU over turns, the forward direction is copied, while the backward direction
# and the speaker embedding are new, with input weights of 0 for speakers.


EMBEDDING_SIZE = 0.5
"""Root mean square of the numbers in word embeddings at the start."""
_GRU_WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def start_scorer(evaluator: NetworkEvaluator, data: TrainingData, vectors: WordVectors | None) -> PairScorer:
    """An untrained network and the reader of its texts; `vectors` is None for a pretrained encoder."""
    network, reader = seeded(data.seed, lambda: _started(evaluator, data, vectors))
    return PairScorer(network, reader, evaluator.turns_read)


def _started(
    evaluator: NetworkEvaluator, data: TrainingData, vectors: WordVectors | None
) -> tuple[PairNetwork, TextReader]:
    same: dict[str, Any] = {name: getattr(evaluator, name) for name in ("speaker", "units", "dropout")}
    same["hierarchical"] = evaluator.encoder == HIERARCHICAL
    if evaluator.start != NONE:
        return from_hred(load_reply_model(evaluator.start), max_length=evaluator.max_length, **same)
    same |= {"hidden": evaluator.hidden, "context_hidden": evaluator.hidden}
    if vectors is None:
        encoder = TextEncoder.start(evaluator.encoder, evaluator.max_length)
        return PairNetwork(PairShape(dims=encoder.width, **same)), encoder
    turns = [turn for dialogue in data.dialogues for turn in dialogue.turns]
    words, _ = evaluator.frequent_words(turns, evaluator.vocabulary)
    shape = PairShape(words=len(words) + FIRST_WORD, dims=vectors.dims, layers=evaluator.layers, **same)
    network = PairNetwork(shape)
    _copy_vectors(network, words, vectors)
    return network, WordReader(words, evaluator.text, evaluator.max_length)


def from_hred(
    model: Any, *, hierarchical: bool, speaker: int, units: int, dropout: float, max_length: int
) -> tuple[PairNetwork, TokenReader]:
    """A network with the sizes and weights of a trained HRED's encoder, and a reader with its tokens."""
    hred, vocabulary = _hred_of(model)
    shape = PairShape(
        words=len(vocabulary),
        dims=hred.reader.gru.input_size,
        hidden=hred.reader.gru.hidden_size,
        layers=hred.reader.gru.num_layers,
        hierarchical=hierarchical,
        context_hidden=hred.context.hidden,
        speaker=speaker,
        units=units,
        dropout=dropout,
    )
    network = PairNetwork(shape)
    with torch.no_grad():
        if network.utterance is not None:
            network.utterance.embedding.weight.copy_(hred.decoder.words.weight)
            network.utterance.gru.load_state_dict(hred.reader.gru.state_dict())
        if network.dialogue is not None:
            _copy_forward(network.dialogue.gru, hred.context.gru)
    return network, TokenReader(vocabulary, max_length)


def _hred_of(model: Any) -> tuple[Hred, Vocabulary]:
    """The network and the tokens of a trained reply model; CallError if it is not an HRED."""
    network, vocabulary = getattr(model, "network_", None), getattr(model, "vocabulary_", None)
    if not isinstance(network, Hred) or not isinstance(vocabulary, Vocabulary):
        raise CallError(f"RUBER's GRUs can start from a hred, not from the reply model {model.name}")
    return network, vocabulary


def _copy_forward(gru: nn.GRU, start: nn.Module) -> None:
    """Copy a one-way GRU into the forward direction of another, whose additional inputs get weights of 0."""
    for name in (f"{weight}_l{layer}" for layer in range(gru.num_layers) for weight in _GRU_WEIGHTS):
        weight, found = getattr(gru, name), getattr(start, name)
        if name.startswith("weight_ih"):
            weight.zero_()
            weight[:, : found.shape[1]] = found
        else:
            weight.copy_(found)


def _copy_vectors(network: PairNetwork, words: Sequence[str], vectors: WordVectors) -> None:
    """Start word embeddings from word vectors, all scaled by one factor; unknown words start from their mean."""
    if network.utterance is None:
        return
    place = vectors.lookup(words)
    known = np.flatnonzero(place >= 0)
    found = torch.from_numpy(np.asarray(vectors.matrix[place[known]], np.float32))
    # The vectors of a small corpus are close to 0, which would make a GRU slow to learn differences between words.
    found *= EMBEDDING_SIZE / found.square().mean().sqrt().clamp(min=1e-6)
    with torch.no_grad():
        table = network.utterance.embedding.weight
        table[torch.from_numpy(known + FIRST_WORD)] = found
        table[UNKNOWN] = found.mean(dim=0) if len(known) else 0.0

"""From dialogues and scored replies to a language model and a network.

Word pairs are counted, word vectors learn which reply answers which turn, then word vectors and MLP learn the scores.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from rejoinder.arrays import Floats
from rejoinder.data.contexts import context_groups
from rejoinder.data.digests import digest_of
from rejoinder.evaluators.scale import observed_scale
from rejoinder.evaluators.static.network import StaticNetwork
from rejoinder.evaluators.static.reading import RAREST, word_numbers
from rejoinder.evaluators.static.stages import MatchingStage, ScoredReplies, ScoreStage, draw_places
from rejoinder.evaluators.static.trainable import Towers, TrainableNetwork
from rejoinder.language_models.ngram import Counts, NgramModel, kneser_ney, prune
from rejoinder.language_models.ngram.model import Level, with_special
from rejoinder.learning.checkpoints import Checkpoints
from rejoinder.learning.data import TrainingData
from rejoinder.learning.loop import train
from rejoinder.learning.schedules import Schedule
from rejoinder.learning.splits import held_out
from rejoinder.text.vectors import WordVectors, load_vectors
from rejoinder.types import JudgedExample

if TYPE_CHECKING:
    from rejoinder.evaluators.static.static import Static

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
    replies = ScoredReplies.of(learn, evaluator.dimension, scale, known)
    aside = ScoredReplies.of(valid, evaluator.dimension, scale, known) if valid else None
    network.standardise(replies.reading, replies.counts)
    stage = ScoreStage(network, replies, aside, data.seed)
    batch = max(1, round(REPLIES * len(stage) / len(replies)))  # contexts
    schedule = _schedule(SCORE_RATE, batch, evaluator.epochs)
    train(stage, stage, schedule, data.seed, data.run, checkpoints)
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
    stage = MatchingStage(Towers(network), places, known, data.seed)
    train(stage, stage, _schedule(MATCHING_RATE, PLACES, passes), data.seed, data.run, checkpoints)


def language_model(vectors: WordVectors, texts: Sequence[str], pruning: float) -> NgramModel:
    """Bigrams of the words that have a vector, counted in texts; in the precision that it is saved in."""
    words = with_special(vectors.words)
    bare = NgramModel(words, ())
    counts = Counts.of(words, word_numbers(texts, bare), order=2)
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
        model.words, tuple(Level(level.keys, half(level.log_prob), half(level.back_off)) for level in model.levels)
    )


def _spoken(data: TrainingData) -> list[str]:
    """The dialogues' turns; without dialogues, each different turn of the judged contexts."""
    turns = [turn for dialogue in data.dialogues for turn in dialogue.turns]
    return turns or list(dict.fromkeys(turn for item in data.judged for turn in item.example.context))

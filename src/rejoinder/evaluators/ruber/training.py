"""From dialogues and judged replies to RUBER's s_U: what is learned from, what is kept aside, what it starts from."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from rejoinder.arrays import Ints
from rejoinder.data.contexts import context_groups
from rejoinder.data.negatives import places_of
from rejoinder.data.pairs import Pair, pair_of
from rejoinder.encoders.text_encoder import TextEncoder
from rejoinder.errors import NeedsError
from rejoinder.evaluators.ruber.hred_start import started
from rejoinder.evaluators.ruber.network import PairNetwork, PairShape
from rejoinder.evaluators.ruber.pieces import PieceReader
from rejoinder.evaluators.ruber.scorer import PairScorer
from rejoinder.evaluators.ruber.stages import Pairs, Ranking, Schedule, rank, regress
from rejoinder.evaluators.ruber.unref import AUTO, HIERARCHICAL, NONE, NetworkEvaluator
from rejoinder.evaluators.ruber.words import FIRST_WORD, UNKNOWN, WordReader
from rejoinder.evaluators.scale import HIGHEST, LOWEST, observed_scale, on_our_scale
from rejoinder.learning.data import TrainingData, labels
from rejoinder.registry import load_reply_model
from rejoinder.text.vectors import WordVectors
from rejoinder.types import Scores

HELD_OUT, MOST_HELD_OUT, FEWEST_TO_HOLD_OUT = 0.1, 1000, 50
"""The share of dialogues or judged contexts that training is validated on, how many pairs at most, and from how many
dialogues or contexts on."""
PATIENCE = 3
EMBEDDING_SIZE = 0.5
"""Root mean square of the numbers in word embeddings, to begin with."""
LABEL_BATCH, LABEL_PATIENCE = 30, 8
"""The batch is roberta-eval's."""


def learned_scorer(evaluator: NetworkEvaluator, data: TrainingData, vectors: WordVectors | None) -> PairScorer:
    """s_U after the ranking stage and, where there are judged examples, the one on human scores.

    `vectors` are those that word embeddings start from; None for a pretrained encoder.
    """
    human = HumanScores.of(evaluator, data) if data.judged else None  # what is wrong with them is said at once
    scorer = _start(evaluator, data, vectors)
    places = places_of(data.dialogues)
    if len({place.response for place in places}) < 2:
        raise NeedsError(
            f"{evaluator.name} tells true replies from random ones: expected at least two different replies"
        )
    numbers = {id(dialogue): number for number, dialogue in enumerate(data.dialogues)}
    learn, held_out = _split([numbers[id(place.dialogue)] for place in places], data.seed)
    table = scorer.table([pair_of(place) for place in places])
    quiet = data.run.quiet
    pairs = Pairs(table, scorer.input(table.texts, quiet=quiet), learn, held_out[:MOST_HELD_OUT])
    schedule = Schedule(
        epochs=evaluator.epochs, patience=PATIENCE, batch=evaluator.batch, learning_rate=evaluator.learning_rate
    )
    how = Ranking(negatives=evaluator.negatives, margin=evaluator.margin)
    rank(scorer.network, pairs, how, schedule, data.seed, quiet=quiet)
    return scorer if human is None else _tuned(evaluator, scorer, human, data)


def tuned_scorer(evaluator: NetworkEvaluator, scorer: PairScorer, data: TrainingData) -> PairScorer:
    """A copy of s_U that was trained on human scores; contexts are kept aside, or the split `valid` is."""
    return _tuned(evaluator, scorer, HumanScores.of(evaluator, data), data)


@dataclass(frozen=True, eq=False)
class HumanScores:
    """Replies that people rated: some to learn from, some kept aside."""

    pairs: list[Pair]
    shares: Scores
    """Their ratings, from 0 to 1."""
    learn: Ints
    held_out: Ints

    @classmethod
    def of(cls, evaluator: NetworkEvaluator, data: TrainingData) -> HumanScores:
        """Those on the dimension that the evaluator learns; NeedsError where there are none to learn from."""
        judged = (*data.judged, *data.valid)
        dimension = None if evaluator.dimension == AUTO else evaluator.dimension
        scale = evaluator.scale or observed_scale(judged, dimension)
        examples, human = labels(judged, dimension)
        usable = [row for row, example in enumerate(examples) if example.context and example.response.strip()]
        chosen = [examples[row] for row in usable]
        if data.valid:
            aside = {id(item.example) for item in data.valid}
            held = np.array([id(example) in aside for example in chosen], np.bool_)
            learn, held_out = np.flatnonzero(~held), np.flatnonzero(held)
        else:
            learn, held_out = _split(context_groups(chosen), data.seed)
        if not len(learn):
            raise NeedsError(f"{evaluator.name} learns from judged examples with a context and a reply: expected one")
        shares: Scores = (on_our_scale(human[usable], scale) - LOWEST) / (HIGHEST - LOWEST)
        return cls([pair_of(example) for example in chosen], shares, learn, held_out)


def _tuned(evaluator: NetworkEvaluator, scorer: PairScorer, human: HumanScores, data: TrainingData) -> PairScorer:
    other = replace(scorer, network=deepcopy(scorer.network))
    table = other.table(human.pairs)
    schedule = Schedule(
        epochs=evaluator.label_epochs,
        patience=LABEL_PATIENCE,
        batch=LABEL_BATCH,
        learning_rate=evaluator.label_rate,
    )
    pairs = Pairs(table, other.input(table.texts), human.learn, human.held_out)
    regress(other.network, pairs, human.shares, schedule, data.seed, quiet=data.run.quiet)
    return other


def _start(evaluator: NetworkEvaluator, data: TrainingData, vectors: WordVectors | None) -> PairScorer:
    """The network before it has learned anything, and what makes its input."""
    same: dict[str, Any] = {name: getattr(evaluator, name) for name in ("speaker", "units", "dropout")}
    same["hierarchical"] = evaluator.encoder == HIERARCHICAL
    reader: WordReader | PieceReader | TextEncoder
    with torch.random.fork_rng():
        torch.manual_seed(data.seed)
        if evaluator.start != NONE:
            network, reader = started(load_reply_model(evaluator.start), max_length=evaluator.max_length, **same)
        elif vectors is None:
            reader = TextEncoder.start(evaluator.encoder, evaluator.max_length)
            network = PairNetwork(PairShape(dims=reader.width, **same))
        else:
            turns = [turn for dialogue in data.dialogues for turn in dialogue.turns]
            words, _ = evaluator.frequent_words(turns, evaluator.vocabulary)
            reader = WordReader(words, evaluator.text, evaluator.max_length)
            same |= {"hidden": evaluator.hidden, "context_hidden": evaluator.hidden, "layers": evaluator.layers}
            network = PairNetwork(PairShape(words=len(words) + FIRST_WORD, dims=vectors.dims, **same))
            _take_vectors(network, words, vectors)
    return PairScorer(network, reader, evaluator.turns_read)


def _take_vectors(network: PairNetwork, words: Sequence[str], vectors: WordVectors) -> None:
    """Let word embeddings start from word vectors, all made longer alike, and unknown words from their mean."""
    if network.utterance is None:
        return
    place = vectors.lookup(words)
    known = np.flatnonzero(place >= 0)
    found = torch.from_numpy(np.asarray(vectors.matrix[place[known]], np.float32))
    # Those of a small corpus are next to nothing, and a GRU would be slow to tell one word from another.
    found *= EMBEDDING_SIZE / found.square().mean().sqrt().clamp(min=1e-6)
    with torch.no_grad():
        table = network.utterance.embedding.weight
        table[torch.from_numpy(known + FIRST_WORD)] = found
        table[UNKNOWN] = found.mean(dim=0) if len(known) else 0.0


def _split(group_of: Sequence[int] | Ints, seed: int) -> tuple[Ints, Ints]:
    """Rows to learn from, and rows of some groups that are kept aside, in random order: none of few groups."""
    groups = np.array(group_of, np.int64)
    count = int(groups.max(initial=-1)) + 1
    rng = np.random.default_rng([seed, 5])
    aside = rng.permutation(count)[: round(count * HELD_OUT)] if count >= FEWEST_TO_HOLD_OUT else np.empty(0, np.int64)
    held = np.isin(groups, aside)
    return np.flatnonzero(~held), rng.permutation(np.flatnonzero(held))

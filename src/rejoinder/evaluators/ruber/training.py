"""From dialogues and human scores to a trained s_U: the training pairs, and the order of the stages."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np

from rejoinder.arrays import Ints
from rejoinder.data.contexts import context_groups
from rejoinder.data.digests import digest_of
from rejoinder.data.negatives import places_of
from rejoinder.data.pairs import Pair, pair_of
from rejoinder.errors import NeedsError
from rejoinder.evaluators.ruber.scorer import PairScorer
from rejoinder.evaluators.ruber.stages import RankingStage, RegressionStage
from rejoinder.evaluators.ruber.start import start_scorer
from rejoinder.evaluators.ruber.unref import AUTO, LABEL_BATCH, NetworkEvaluator
from rejoinder.evaluators.scale import HIGHEST, LOWEST, observed_scale, on_our_scale
from rejoinder.learning.checkpoints import Checkpoints
from rejoinder.learning.data import TrainingData, labels
from rejoinder.learning.loop import train
from rejoinder.learning.schedules import Schedule
from rejoinder.learning.splits import held_out
from rejoinder.text.vectors import WordVectors
from rejoinder.types import Scores

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
    human = HumanScores.of(evaluator, data) if data.judged else None  # problems with them are reported at once
    scorer = start_scorer(evaluator, data, vectors)
    places = places_of(data.dialogues)
    if len({place.response for place in places}) < 2:
        raise NeedsError(
            f"{evaluator.name} tells true replies from random ones: expected at least two different replies"
        )
    numbers = {id(dialogue): number for number, dialogue in enumerate(data.dialogues)}
    learn, valid = _split([numbers[id(place.dialogue)] for place in places], data.seed)
    pairs = scorer.input([pair_of(place) for place in places], quiet=data.run.quiet)
    stage = RankingStage(
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
    train(stage, stage, schedule, data.seed, data.run, checkpoints)
    return scorer if human is None else _tuned(evaluator, scorer, human, data, checkpoints)


def tuned_scorer(evaluator: NetworkEvaluator, scorer: PairScorer, data: TrainingData) -> PairScorer:
    """A copy of s_U, trained on human scores; the split `valid`, or else some contexts, are held out."""
    fit = evaluator.fitted
    key = digest_of([evaluator.name, evaluator.parameters, fit.data, fit.seed, data.digest, data.seed])
    human = HumanScores.of(evaluator, data)
    return _tuned(evaluator, scorer, human, data, Checkpoints.of(data.run, key))


@dataclass(frozen=True, eq=False)
class HumanScores:
    """Replies with human scores: some to learn from, some held out."""

    pairs: list[Pair]
    scores: Scores
    """From 0 to 1."""
    learn: Ints
    held_out: Ints

    @classmethod
    def of(cls, evaluator: NetworkEvaluator, data: TrainingData) -> HumanScores:
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
    human: HumanScores,
    data: TrainingData,
    checkpoints: Checkpoints | None,
) -> PairScorer:
    other = replace(scorer, network=deepcopy(scorer.network))
    pairs = other.input(human.pairs, quiet=data.run.quiet)
    stage = RegressionStage(other.network, pairs, human.learn, human.held_out, data.seed, human=human.scores)
    schedule = _schedule(evaluator.label_rate, LABEL_BATCH, evaluator.label_epochs, LABEL_PATIENCE)
    train(stage, stage, schedule, data.seed, data.run, checkpoints)
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

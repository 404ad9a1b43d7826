"""How the encoder evaluator is trained: the model to start from, the stages in order, and what each is validated on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from rejoinder.arrays import Ints
from rejoinder.data.contexts import context_groups, digest_of
from rejoinder.data.dialogues import ReplyInContext, pair_of
from rejoinder.data.negatives import Place, places_of
from rejoinder.errors import CallError
from rejoinder.evaluators.calibration import observed_scale, on_our_scale
from rejoinder.evaluators.encoder.head_stage import HeadsStage
from rejoinder.evaluators.encoder.heads import column_names
from rejoinder.evaluators.encoder.model import PRESETS, EncoderPreset
from rejoinder.evaluators.encoder.networks import BranchEncoder
from rejoinder.evaluators.encoder.replay import WORSE, candidates_of, replay_of, source_of_negatives
from rejoinder.evaluators.encoder.stages import EncoderRankingStage, EncoderRegressionStage, InBatchStage, by_context
from rejoinder.evaluators.encoder.torch_model import TorchModel
from rejoinder.learning.checkpoints import Checkpoints, interpolated, plain_state
from rejoinder.learning.data import TrainingData, held_out, labels
from rejoinder.learning.loop import Stage, run_stage
from rejoinder.learning.schedules import Schedule
from rejoinder.types import JudgedExample, Scores

if TYPE_CHECKING:
    from rejoinder.evaluators.encoder.encoder import Encoder

HELD_OUT = 0.1
"""The share of dialogues, and of judged contexts where no split `valid` is given, that training is validated on."""
MOST_HELD_OUT = 500
"""Places of dialogues that are validated on at most."""
FEWEST_TO_HOLD_OUT = 50
"""With fewer dialogues or judged contexts nothing is held out, and the last weights are taken."""

STANDARDISED_ON = 200
"""Contexts on whose replies the features of a network with towers are standardised."""


def learned_model(evaluator: Encoder, data: TrainingData) -> TorchModel:
    """The evaluator's model after all stages for which data is available."""
    preset = PRESETS[evaluator.preset]
    model = start_model(evaluator, data.seed)
    tasks = evaluator.head_data
    digests = tuple(task.digest for task in tasks)
    named = [evaluator.parameters, data.digest, data.seed, *([digests] if digests else [])]
    checkpoints = Checkpoints.of(data.run, digest_of(named))

    def learn(stage: Stage, schedule: Schedule, steps: int | None) -> None:
        limited = replace(schedule, most_steps=schedule.most_steps if steps is None else steps)
        run_stage(model, stage, limited, data.seed, data.run, checkpoints)

    if data.dialogues:
        in_batch_steps = preset.in_batch_steps if evaluator.in_batch_steps is None else evaluator.in_batch_steps
        if in_batch_steps:
            learn(in_batch_stage(model, data), preset.in_batch, in_batch_steps)
            standardise_features(model, data)
        if evaluator.steps != 0:
            learn(ranking_stage(model, preset, data), preset.ranking, evaluator.steps)
    if tasks:
        names = column_names(task.head for task in tasks)
        model = model.with_heads(names, digests, data.seed, whole_replies=evaluator.whole_replies)
        learn(HeadsStage(model, tasks, data.seed), preset.heads, evaluator.head_steps)
    if data.judged:
        before = plain_state(model.network)
        learn(regression_stage(model, evaluator, data), preset.regression, evaluator.label_steps)
        if evaluator.label_share is not None:
            after = plain_state(model.network)
            model.network.load_state_dict(interpolated(before, after, evaluator.label_share))
    return model


def in_batch_stage(model: TorchModel, data: TrainingData) -> InBatchStage:
    """In-batch ranking on the dialogues."""
    return InBatchStage(model, *_places(data), data.seed)


def standardise_features(model: TorchModel, data: TrainingData) -> None:
    """Standardise the features of a network with towers over replies of many kinds; other networks have none.

    For after in-batch ranking, which changes all cosines.
    """
    network = model.network
    if isinstance(network, BranchEncoder):
        candidates = candidates_of(data.dialogues, STANDARDISED_ON, data.seed, WORSE)
        network.standardise(model.features([pair_of(example) for example in candidates]))


def ranking_stage(model: TorchModel, preset: EncoderPreset, data: TrainingData) -> EncoderRankingStage:
    """Ranking on the dialogues."""
    places, rows, validated = _places(data)
    source = source_of_negatives(places, preset.mixture, data.seed)
    return EncoderRankingStage(model, source, rows, validated, data.seed, preset.negatives, preset.margin)


def _places(data: TrainingData) -> tuple[list[Place], Ints, Ints]:
    """All places, the numbers of those to learn from, and of those to validate on, which are in other dialogues."""
    places = places_of(data.dialogues)
    aside = held_out(np.arange(len(data.dialogues)), HELD_OUT, [data.seed, 5], fewest=FEWEST_TO_HOLD_OUT)
    chosen = {id(dialogue) for dialogue in compress(data.dialogues, aside)}
    held = np.array([id(place.dialogue) in chosen for place in places], bool)
    validated = np.random.default_rng([data.seed, 4]).permutation(np.flatnonzero(held))[:MOST_HELD_OUT]
    return places, np.flatnonzero(~held), np.sort(validated)


def regression_stage(model: TorchModel, evaluator: Encoder, data: TrainingData) -> EncoderRegressionStage:
    """Squared error on the judged examples, validated on those of the split `valid` or on some held-out contexts."""
    learn, valid = data.judged, data.valid
    if not valid:
        group_of = context_groups([item.example for item in learn])
        aside = held_out(group_of, HELD_OUT, [data.seed, 5], fewest=FEWEST_TO_HOLD_OUT)
        learn, valid = tuple(compress(learn, ~aside)), tuple(compress(learn, aside))
    scale = evaluator.scale or observed_scale([*learn, *valid], evaluator.dimension)
    pairs, wanted = _labelled(learn, evaluator.dimension, scale)
    if evaluator.replay:
        if not data.dialogues:
            raise CallError(f"{evaluator.name}: replay uses replies of dialogues: expected at least one dialogue")
        replay = replay_of(model, data.dialogues, evaluator.replay, data.seed)
        pairs, wanted = [*pairs, *replay.pairs], np.concatenate([wanted, replay.wanted])
    validated, validated_scores = _labelled(valid, evaluator.dimension, scale) if valid else ([], np.empty(0))
    numbers = range(len(pairs))
    return EncoderRegressionStage(
        model,
        [*pairs, *validated],
        np.concatenate([wanted, validated_scores]),
        by_context(pairs, [numbers]) if model.settings.towers else [[number] for number in numbers],
        range(len(pairs), len(pairs) + len(validated)),
        data.seed,
    )


def start_model(evaluator: Encoder, seed: int) -> TorchModel:
    """The model that training starts from: one that was saved, or a pretrained encoder with a new head."""
    folder = evaluator.saved_start
    if folder is None:
        return TorchModel.start(
            evaluator.encoder,
            max_length=evaluator.max_length,
            max_response=evaluator.max_response,
            speaker_marks=evaluator.speaker_marks,
            pooling=evaluator.pooling or PRESETS[evaluator.preset].pooling,
            towers=evaluator.towers,
            whole_replies=evaluator.whole_replies,
            seed=seed,
        )
    model = type(evaluator).load(folder, precision="torch").model_
    for name in ("max_length", "max_response", "speaker_marks", "pooling", "towers"):
        before, now = getattr(model.settings, name), getattr(evaluator, name)
        if now is not None and before != now:
            raise CallError(f"{folder} was trained with {name}={before}: it cannot be trained further with {now}")
    if not isinstance(model, TorchModel):
        raise CallError(f"{folder} holds no weights that can be trained")
    return model


def _labelled(
    judged: Sequence[JudgedExample], dimension: str | None, scale: tuple[float, float]
) -> tuple[list[ReplyInContext], Scores]:
    examples, human = labels(judged, dimension)
    usable = [place for place, example in enumerate(examples) if example.context and example.response.strip()]
    if not usable:
        raise CallError("no judged example has both a context and a reply: expected at least one")
    return [pair_of(examples[place]) for place in usable], on_our_scale(human[usable], scale)

"""How the encoder evaluator is trained: what is kept aside, which negatives, which stage after which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from rejoinder.data.contexts import context_groups
from rejoinder.data.digests import digest_of
from rejoinder.data.negatives import Negatives, Place, near_neighbours, places_of
from rejoinder.data.pairs import Pair, pair_of
from rejoinder.errors import CallError
from rejoinder.evaluators.encoder.in_batch import InBatchStage
from rejoinder.evaluators.encoder.presets import PRESETS, Preset
from rejoinder.evaluators.encoder.stages import RankingStage, RegressionStage
from rejoinder.evaluators.encoder.torch_model import TorchModel
from rejoinder.evaluators.scale import observed_scale, on_our_scale
from rejoinder.learning.checkpoints import Checkpoints
from rejoinder.learning.data import TrainingData, labels
from rejoinder.learning.loop import train
from rejoinder.learning.run import is_main_process
from rejoinder.metrics.batch import TextOptions, encode
from rejoinder.text.vectors import load_vectors
from rejoinder.types import Example, JudgedExample, Scores

if TYPE_CHECKING:
    from rejoinder.evaluators.encoder.encoder import Encoder

HELD_OUT = 0.1
"""The share of dialogues, and of judged contexts where no split `valid` is given, that training is validated on."""
MOST_HELD_OUT = 500
"""Places of dialogues that are validated on at most."""
FEWEST_TO_HOLD_OUT = 50
"""Dialogues or judged contexts below which nothing is kept aside, and the last weights are taken."""


def learned_model(evaluator: Encoder, data: TrainingData) -> TorchModel:
    """The evaluator's model after all stages that there are data for."""
    run = data.run
    preset = PRESETS[evaluator.preset]
    model = start_model(evaluator, data.seed)
    checkpoints = None
    if run.checkpoints is not None:
        checkpoints = Checkpoints(run.checkpoints, digest_of([evaluator.parameters, data.digest, data.seed]))
        if not run.resume and is_main_process():
            checkpoints.clear()
    in_batch_steps = preset.in_batch_steps if evaluator.in_batch_steps is None else evaluator.in_batch_steps
    ranking = replace(preset.ranking, most_steps=evaluator.steps or preset.ranking.most_steps)
    regression = replace(preset.regression, most_steps=evaluator.label_steps or preset.regression.most_steps)
    if data.dialogues:
        pairwise = ranking_stage(model, preset, data)
        if in_batch_steps:
            stage = InBatchStage(model, pairwise.source.places, pairwise.rows, pairwise.held_out, data.seed)
            train(model, stage, replace(preset.in_batch, most_steps=in_batch_steps), data.seed, run, checkpoints)
        train(model, pairwise, ranking, data.seed, run, checkpoints)
    if data.judged:
        train(model, regression_stage(model, evaluator, data), regression, data.seed, run, checkpoints)
    return model


def ranking_stage(model: TorchModel, preset: Preset, data: TrainingData) -> RankingStage:
    """Ranking on the dialogues, some of which are kept aside."""
    places = places_of(data.dialogues)
    neighbours = None
    if preset.mixture.neighbour and len(places) > 1:
        neighbours = near_neighbours(reply_vectors(places), seed=data.seed, most=5000)
    aside = _some(len(data.dialogues), data.seed)
    numbers = {id(data.dialogues[number]) for number in aside}
    held = np.array([id(place.dialogue) in numbers for place in places], bool)
    held_out = np.flatnonzero(held)
    rng = np.random.default_rng([data.seed, 4])
    return RankingStage(
        model,
        Negatives(places, preset.mixture, neighbours),
        np.flatnonzero(~held),
        np.sort(rng.permutation(held_out)[:MOST_HELD_OUT]),
        data.seed,
        preset.negatives,
        preset.margin,
    )


def regression_stage(model: TorchModel, evaluator: Encoder, data: TrainingData) -> RegressionStage:
    """Squared error on the judged examples, validated on those of the split `valid` or on some contexts."""
    learn, valid = data.judged, data.valid
    if not valid:
        group_of = context_groups([item.example for item in learn])
        held = np.isin(group_of, _some(int(group_of.max(initial=-1)) + 1, data.seed)).tolist()
        valid = tuple(compress(learn, held))
        learn = tuple(compress(learn, (not aside for aside in held)))
    scale = evaluator.scale or observed_scale([*learn, *valid], evaluator.dimension)
    pairs, human = _labelled(learn, evaluator.dimension, scale)
    held_out, held_out_human = _labelled(valid, evaluator.dimension, scale) if valid else ([], np.empty(0))
    return RegressionStage(model, pairs, human, held_out, held_out_human, data.seed)


def reply_vectors(places: Sequence[Place]) -> NDArray[np.float32]:
    """The mean word vector of each place's reply; zeros where no word is known. (places, dims)"""
    import polars as pl

    vectors = load_vectors(quiet=True)
    vocabulary, rows = encode(pl.Series([place.response for place in places], dtype=pl.String), TextOptions())
    known = vectors.lookup(vocabulary.to_list())
    table = np.where((known >= 0)[:, None], vectors.matrix[np.maximum(known, 0)], 0).astype(np.float32)
    counts = csr_matrix((np.ones(len(rows.values), np.float32), rows.values, rows.offsets), (len(rows), len(table)))
    totals: NDArray[np.float32] = counts @ table  # near_neighbours takes no notice of length: the sum will do
    return totals


def start_model(evaluator: Encoder, seed: int) -> TorchModel:
    """The model that training begins with: a trained one that was saved, or a pretrained encoder with a new head."""
    home = evaluator.saved_start
    if home is None:
        return TorchModel.start(
            evaluator.encoder,
            max_length=evaluator.max_length,
            max_response=evaluator.max_response,
            speaker_marks=evaluator.speaker_marks,
            pooling=evaluator.pooling or PRESETS[evaluator.preset].pooling,
            towers=evaluator.towers,
            seed=seed,
        )
    model = type(evaluator).load(home, precision="torch").model_
    for name in ("max_length", "max_response", "speaker_marks", "pooling", "towers"):
        before, now = getattr(model.settings, name), getattr(evaluator, name)
        if now is not None and before != now:
            raise CallError(f"{home} was trained with {name}={before}: it cannot learn on with {now}")
    if not isinstance(model, TorchModel):
        raise CallError(f"{home} holds no weights that can be trained")
    return model


def _labelled(
    judged: Sequence[JudgedExample], dimension: str | None, scale: tuple[float, float]
) -> tuple[list[Pair], Scores]:
    examples, human = labels(judged, dimension)
    usable = [place for place, example in enumerate(examples) if example.context and example.response.strip()]
    if not usable:
        raise CallError("no judged example has both a context and a reply: expected at least one")
    return [pair_of(examples[place]) for place in usable], on_our_scale(human[usable], scale)


def _pair(example: Example) -> Pair:
    return pair_of(example)


def _some(count: int, seed: int) -> NDArray[np.int64]:
    """The numbers of what is kept aside: none of few."""
    if count < FEWEST_TO_HOLD_OUT:
        return np.empty(0, np.int64)
    return np.random.default_rng([seed, 5]).permutation(count)[: round(count * HELD_OUT)]

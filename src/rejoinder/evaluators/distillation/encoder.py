"""A small encoder that says what one or several evaluators say: docs/guide/distillation.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rejoinder._version import __version__
from rejoinder.data.contexts import TrainedContexts, context_groups, rows_of_contexts
from rejoinder.data.digests import digest_of
from rejoinder.data.negatives import Negatives, near_neighbours, places_of
from rejoinder.errors import CallError
from rejoinder.evaluators.base import Evaluator, Fit
from rejoinder.evaluators.distillation.teacher_scores import teacher_scores
from rejoinder.evaluators.encoder.encoder import Encoder
from rejoinder.evaluators.ensemble import Ensemble
from rejoinder.evaluators.out_of_domain import Familiarity
from rejoinder.learning.data import TrainingData, examples_digest
from rejoinder.learning.extras import require_extra
from rejoinder.metrics.base import Metric
from rejoinder.registry import load
from rejoinder.types import Dialogue, Example, Scores

if TYPE_CHECKING:
    from rejoinder.evaluators.encoder.distill_stage import DistillStage
    from rejoinder.evaluators.encoder.torch_model import TorchModel
    from rejoinder.learning.run import TrainingRun

KINDS = ("random", "same_dialogue", "neighbour", "echo", "generic", "shuffled", "truncated", "repeated")
"""Of replies beside the true one; data/negatives.py says what each is."""
HELD_OUT = 0.1
MOST_HELD_OUT = 300
"""Contexts that the student is validated on at most."""


def teacher_of(teachers: Sequence[str], dialogues: Sequence[Dialogue], seed: int = 0) -> Metric:
    """The one that is named, if it scores from 1 to 5; else an ensemble of all, fitted on the dialogues."""
    if len(teachers) == 1:
        single: Metric = load(teachers[0])
        if single.range == Ensemble.raw_range:
            return single
    if not dialogues:
        raise CallError(
            "several teachers, or one that does not score from 1 to 5, need dialogues to be put on one scale"
        )
    return Ensemble(members=tuple(teachers)).fit(dialogues, seed=seed)


def candidates_of(dialogues: Sequence[Dialogue], contexts: int, seed: int = 0) -> list[Example]:
    """For that many contexts of the dialogues at most: the true reply, and one of each kind that can be made."""
    places = places_of(dialogues)
    if len(places) < 2:
        raise CallError("candidates are made of dialogues: expected two replies in them at least")
    from rejoinder.evaluators.encoder.training import reply_vectors

    source = Negatives(places, neighbours=near_neighbours(reply_vectors(places), seed=seed, most=5000))
    rng, found = np.random.default_rng([seed, 9]), []
    for number in np.sort(rng.permutation(len(places))[:contexts]).tolist():
        place = places[number]
        made = [("true", place.response), *((kind, source.of_kind(kind, number, rng)) for kind in KINDS)]
        texts = {text: kind for kind, text in reversed(made) if text is not None}
        found += [
            Example(f"{number}-{kind}", place.context, text, speakers=place.speakers, context_id=str(number))
            for text, kind in texts.items()
        ]
    return found


def distill(
    student: Encoder,
    teacher: Metric,
    dialogues: Sequence[Dialogue] = (),
    candidates: Sequence[Example] = (),
    *,
    contexts: int = 5000,
    seed: int = 0,
    run: TrainingRun | None = None,
    scores_file: Path | None = None,
) -> Encoder:
    """The student, trained to give replies the teacher's scores: those given, or such as are made of the dialogues."""
    require_extra("train", "distillation")
    from rejoinder.evaluators.encoder.presets import DISTILLATION
    from rejoinder.evaluators.encoder.training import start_model
    from rejoinder.learning.checkpoints import Checkpoints
    from rejoinder.learning.loop import train
    from rejoinder.learning.run import TrainingRun, is_main_process

    training = run or TrainingRun()
    given = list(candidates) or candidates_of(dialogues, contexts, seed)
    given = [example for example in given if example.context and example.response.strip()]
    scores = teacher_scores(teacher, given, scores_file, quiet=training.quiet)
    known = np.flatnonzero(~np.isnan(scores))
    if len(known) < 2:
        raise CallError("the teacher can score none of the replies: expected two at least")
    examples, wanted = [given[number] for number in known], scores[known]
    model = start_model(student, seed)
    stage = _stage(model, examples, wanted, seed)
    data = digest_of([teacher.signature, examples_digest(examples)])
    checkpoints = None
    if training.checkpoints is not None:
        checkpoints = Checkpoints(training.checkpoints, digest_of([student.parameters, data, seed]))
        if not training.resume and is_main_process():
            checkpoints.clear()
    train(model, stage, replace(DISTILLATION, most_steps=student.steps), seed, training, checkpoints)
    seen = TrainedContexts.of(examples) | TrainedContexts.within(dialogues)
    if isinstance(teacher, Evaluator):
        seen |= teacher.trained_contexts
    familiarity = Familiarity.of(TrainingData(tuple(dialogues), seed=seed))
    fit = Fit(seed, data, len(dialogues), 0, __version__, seen, familiarity=familiarity)
    student._remember({"model_": model}, fit)
    return student


def _stage(model: TorchModel, examples: Sequence[Example], wanted: Scores, seed: int) -> DistillStage:
    """All replies to a context together; some contexts are kept aside."""
    from rejoinder.data.pairs import pair_of
    from rejoinder.evaluators.encoder.distill_stage import DistillStage

    contexts = rows_of_contexts(examples)
    # Kept aside in whole groups: two contexts that differ may still end in the same turns.
    group_of = context_groups(examples)
    groups = int(group_of.max(initial=-1)) + 1
    aside = np.random.default_rng([seed, 10]).permutation(groups)[: min(MOST_HELD_OUT, round(groups * HELD_OUT))]
    held = np.isin(group_of, aside)
    return DistillStage(
        model,
        [pair_of(example) for example in examples],
        wanted,
        [numbers for numbers in contexts if not held[numbers[0]]],
        [number for numbers in contexts if held[numbers[0]] for number in numbers],
        seed,
    )

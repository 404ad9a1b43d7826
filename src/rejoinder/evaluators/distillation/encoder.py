"""A small encoder that learns the scores of one or several evaluators: docs/guide/distillation.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rejoinder._version import __version__
from rejoinder.data.contexts import TrainedContexts, context_groups, rows_of_contexts
from rejoinder.data.digests import digest_of
from rejoinder.data.pairs import pair_of
from rejoinder.defaults import CANDIDATE_CONTEXTS
from rejoinder.errors import CallError
from rejoinder.evaluators.base import Evaluator, Fit
from rejoinder.evaluators.distillation.teacher_scores import teacher_scores
from rejoinder.evaluators.encoder.encoder import Encoder
from rejoinder.evaluators.ensemble import Ensemble
from rejoinder.evaluators.judge.judge import Judge
from rejoinder.evaluators.out_of_domain import Familiarity
from rejoinder.learning.candidates import TRUE, WORSE, candidates_of, kind_of
from rejoinder.learning.data import TrainingData, examples_digest
from rejoinder.learning.extras import require_extra
from rejoinder.learning.run import TrainingRun
from rejoinder.learning.splits import held_out
from rejoinder.metrics.base import Metric
from rejoinder.registry import load
from rejoinder.types import Dialogue, Example, Scores

if TYPE_CHECKING:
    from rejoinder.evaluators.distillation.stage import DistillStage, LossWeights
    from rejoinder.evaluators.encoder.torch_model import TorchModel
    from rejoinder.learning.schedules import Schedule

HELD_OUT = 0.1
MOST_HELD_OUT = 300
"""Contexts that the student is validated on at most."""


def teacher_of(teachers: Sequence[str], dialogues: Sequence[Dialogue], seed: int = 0) -> Metric:
    """The teacher that is named, if it scores from 1 to 5; otherwise an ensemble of all, fitted on the dialogues."""
    if len(teachers) == 1:
        single = load(teachers[0])
        if not isinstance(single, Metric):
            raise CallError(f"{teachers[0]} is a {single.kind}: expected a metric or an evaluator")
        if single.range == Ensemble.raw_range:
            return single
    if not dialogues:
        raise CallError(
            "several teachers, or one that does not score from 1 to 5, need dialogues to be put on one scale"
        )
    return Ensemble(members=tuple(teachers)).fit(dialogues, seed=seed)


def distill(
    student: Encoder,
    teacher: Metric,
    dialogues: Sequence[Dialogue] = (),
    candidates: Sequence[Example] = (),
    *,
    contexts: int = CANDIDATE_CONTEXTS,
    ranked: int = 0,
    losses: LossWeights | None = None,
    anchors: Sequence[str] = (),
    head_rate: float = 1.0,
    schedule: Schedule | None = None,
    seed: int = 0,
    run: TrainingRun | None = None,
    scores_file: Path | None = None,
) -> Encoder:
    """The student, trained on the teacher's scores of the candidates, or of replies made from the dialogues.

    `ranked` adds contexts of the dialogues whose replies the teacher does not score: the true one should rank first.
    `anchors` are encoders, by name or folder, whose cosines a student with towers keeps near. `head_rate` is the
    multiple of the learning rate at which the head learns. `scores_file` keeps the teacher's scores, so that a run that
    was interrupted does not compute them again.
    """
    require_extra("train", "distillation")
    from rejoinder.evaluators.encoder.presets import DISTILLATION
    from rejoinder.evaluators.encoder.training import start_model
    from rejoinder.learning.checkpoints import Checkpoints
    from rejoinder.learning.loop import train

    run = run or TrainingRun()
    examples, wanted = scored_candidates(teacher, dialogues, candidates, contexts, seed, run, scores_file)
    if ranked:
        more = candidates_of(dialogues, ranked, seed + 1, WORSE)
        examples, wanted = [*examples, *more], np.concatenate([wanted, np.full(len(more), np.nan)])
    model = start_model(student, seed)
    towers = [start_model(Encoder(**student.parameters | {"encoder": anchor}), seed) for anchor in anchors]
    stage = replace(distill_stage(model, examples, wanted, seed, losses, towers), head_rate=head_rate)
    data = digest_of([teacher.signature, examples_digest(examples)])
    planned = schedule or replace(DISTILLATION, most_steps=student.steps or None)
    settings = [student.parameters, data, seed, repr(losses), list(anchors), head_rate, repr(planned)]
    train(model, stage, planned, seed, run, Checkpoints.of(run, digest_of(settings)))
    seen = TrainedContexts.of(examples) | TrainedContexts.within(dialogues) | student.inherited_contexts()
    if isinstance(teacher, Evaluator | Judge):
        seen |= teacher.trained_contexts
    familiarity = Familiarity.of(TrainingData(tuple(dialogues), seed=seed))
    fit = Fit(seed, data, len(dialogues), 0, __version__, seen, familiarity=familiarity)
    student._remember({"model_": model}, fit)
    return student


def scored_candidates(
    teacher: Metric,
    dialogues: Sequence[Dialogue],
    candidates: Sequence[Example],
    contexts: int,
    seed: int,
    run: TrainingRun,
    scores_file: Path | None,
) -> tuple[list[Example], Scores]:
    """The candidates, or replies made from the dialogues, that the teacher can score, and their scores."""
    given = list(candidates) or candidates_of(dialogues, contexts, seed)
    given = [example for example in given if example.context and example.response.strip()]
    scores = teacher_scores(teacher, given, scores_file, resume=run.resume, quiet=run.quiet)
    known = np.flatnonzero(~np.isnan(scores))
    if len(known) < 2:
        raise CallError("the teacher can score none of the replies: expected at least two")
    return [given[number] for number in known], scores[known]


def distill_stage(
    model: TorchModel,
    examples: Sequence[Example],
    wanted: Scores,
    seed: int,
    losses: LossWeights | None = None,
    anchors: Sequence[TorchModel] = (),
) -> DistillStage:
    """All replies to a context together; some of the contexts that have scores are held out."""
    from rejoinder.evaluators.distillation.stage import DistillStage, LossWeights
    from rejoinder.evaluators.encoder.scored_replies import by_context
    from rejoinder.evaluators.encoder.towers import tower_vectors

    contexts, pairs = rows_of_contexts(examples), [pair_of(example) for example in examples]
    # Held out in whole groups: two contexts that differ may still end in the same turns.
    held = held_out(context_groups(examples), HELD_OUT, [seed, 10], most=MOST_HELD_OUT)
    learned = [numbers for numbers in contexts if not held[numbers[0]]]
    if model.settings.towers:
        learned = by_context(pairs, learned)
    anchor = None
    if anchors:
        read = [pairs[numbers[0]].context for numbers in learned]
        anchor = tower_vectors(anchors, read, [pair.response for pair in pairs])
    return DistillStage(
        model,
        pairs,
        wanted,
        learned,
        [number for numbers in contexts if held[numbers[0]] for number in numbers if not np.isnan(wanted[number])],
        seed,
        true=np.array([kind_of(example) == TRUE for example in examples], bool),
        anchor=anchor,
        losses=losses or LossWeights(),
    )

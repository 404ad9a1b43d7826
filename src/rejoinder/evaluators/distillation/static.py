"""A static evaluator that learns the scores of another evaluator: docs/reference/default-fast.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rejoinder.defaults import CANDIDATE_CONTEXTS
from rejoinder.evaluators.base import Evaluator
from rejoinder.evaluators.distillation.encoder import scored_candidates
from rejoinder.evaluators.judge.judge import Judge
from rejoinder.evaluators.static.static import Static
from rejoinder.learning.extras import require_extra
from rejoinder.learning.run import TrainingRun
from rejoinder.metrics.base import Metric
from rejoinder.types import Dialogue, Example, JudgedExample

TEACHER = "teacher"
"""The name of the dimension of a teacher's scores."""


def distill_static(
    student: Static,
    teacher: Metric,
    dialogues: Sequence[Dialogue] = (),
    candidates: Sequence[Example] = (),
    *,
    contexts: int = CANDIDATE_CONTEXTS,
    seed: int = 0,
    run: TrainingRun | None = None,
    scores_file: Path | None = None,
) -> Static:
    """A student with the same parameters, fitted to the teacher's scores of the candidates, or of replies made from
    the dialogues."""
    require_extra("train", "distillation")
    run = run or TrainingRun()
    examples, scores = scored_candidates(teacher, dialogues, candidates, contexts, seed, run, scores_file)
    rows = [
        JudgedExample(example, {TEACHER: (score,)}) for example, score in zip(examples, scores.tolist(), strict=True)
    ]
    taught = type(student)(**student.parameters | {"dimension": TEACHER, "scale": teacher.range})
    taught.fit(dialogues, rows, seed=seed, run=run)
    if isinstance(teacher, Evaluator | Judge):
        seen = taught.trained_contexts | teacher.trained_contexts
        taught = taught._with(replace(taught.fitted, contexts=seen))
    return taught

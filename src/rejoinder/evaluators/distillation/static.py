"""A static evaluator that says what another evaluator says: docs/reference/default-fast.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from rejoinder.errors import CallError
from rejoinder.evaluators.base import Evaluator
from rejoinder.evaluators.distillation.teacher_scores import teacher_scores
from rejoinder.evaluators.static.static import Static
from rejoinder.learning.extras import require_extra
from rejoinder.learning.run import TrainingRun
from rejoinder.metrics.base import Metric
from rejoinder.types import Dialogue, Example, JudgedExample

TEACHER = "teacher"
"""What the dimension of a teacher's scores is called."""


def distill_static(
    student: Static,
    teacher: Metric,
    dialogues: Sequence[Dialogue] = (),
    candidates: Sequence[Example] = (),
    *,
    contexts: int = 5000,
    seed: int = 0,
    run: TrainingRun | None = None,
    scores_file: Path | None = None,
) -> Static:
    """One with the student's parameters, fitted to the teacher's scores of the candidates, or of such as are made."""
    require_extra("train", "distillation")
    from rejoinder.evaluators.distillation.encoder import candidates_of

    given = list(candidates) or candidates_of(dialogues, contexts, seed)
    run = run or TrainingRun()
    scores = teacher_scores(teacher, given, scores_file, quiet=run.quiet)
    rows = [
        JudgedExample(example, {TEACHER: (score,)})
        for example, score in zip(given, scores.tolist(), strict=True)
        if not np.isnan(score)
    ]
    if not rows:
        raise CallError("the teacher can score none of the replies: expected one at least")
    taught = type(student)(**student.parameters | {"dimension": TEACHER, "scale": teacher.range})
    taught.fit(dialogues, rows, seed=seed, run=run)
    if isinstance(teacher, Evaluator):
        seen = taught.trained_contexts | teacher.trained_contexts
        taught = taught._with(replace(taught.fitted, contexts=seen))
    return taught

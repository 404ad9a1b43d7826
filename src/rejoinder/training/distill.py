"""A small evaluator that learns the scores of larger ones: docs/guide/distillation.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rejoinder.arguments import checked, fitting, one_or_more, whole
from rejoinder.data.corpora import CorpusReader
from rejoinder.data.record import Fields
from rejoinder.data.source import OnError
from rejoinder.defaults import CANDIDATE_CONTEXTS
from rejoinder.errors import CallError, UnknownNameError
from rejoinder.evaluators.distillation.encoder import distill as distill_encoder
from rejoinder.evaluators.distillation.encoder import teacher_of
from rejoinder.evaluators.distillation.static import distill_static
from rejoinder.evaluators.distillation.teacher_scores import check_scores_file
from rejoinder.evaluators.scale import HIGHEST, LOWEST
from rejoinder.learning.data import labels
from rejoinder.learning.extras import require_extra
from rejoinder.learning.run import TrainingRun, is_main_process, training_run
from rejoinder.metrics.base import Metric
from rejoinder.output.named import named_files, paths_of
from rejoinder.output.targets import output_path
from rejoinder.training.input import TrainingInput, warn_of_skipped
from rejoinder.training.output import (
    build_model,
    finish_run,
    finished_model,
    reserved_folder,
    run_into,
    save_trained,
    training_record,
)
from rejoinder.training.student_check import StudentCheck, check_student, divide
from rejoinder.types import Dialogue

STUDENTS = ("encoder", "static")
"""Evaluators that can be trained on another's scores."""


@checked(contexts=whole(1), run=training_run)
def distill(
    teachers: str | Path | Metric | Sequence[str | Path],
    dialogues: Any = (),
    *,
    candidates: Any = (),
    judged: Any = (),
    dimension: str | None = None,
    student: str = "static",
    contexts: int = CANDIDATE_CONTEXTS,
    seed: int = 0,
    run: TrainingRun | None = None,
    output: str | Path | None = None,
    fields: Fields | None = None,
    on_error: OnError = "raise",
    on_read: Callable[[TrainingInput], None] = warn_of_skipped,
    on_check: Callable[[StudentCheck], None] = lambda check: None,  # noqa: ARG005 - nothing to do with it
    on_finished: Callable[[], None] = lambda: None,
    **parameters: Any,
) -> Any:
    """Train a student to predict the scores of its teachers, and save it if `output` names a folder.

    `teachers` are evaluators and metrics, by name or folder; several are averaged. The `student` is a "static"
    evaluator or an "encoder" (which needs `encoder=NAME_OR_FOLDER`), with the `parameters` of `train`. It learns from
    the `candidates`, replies with their contexts; without them, from replies that are made for at most `contexts`
    places of the dialogues. Both are files or objects in memory, as in `train`; `fields` maps our
    field names to those of the candidates.

    A tenth of the dialogues or candidates is set aside to measure how far the student agrees with its teacher; with
    `judged` replies, also how far it agrees with people (on one `dimension`). `on_check` is called with the result,
    and the student's folder has it in MODEL_CARD.md.

    With an `output`, checkpoints and the teachers' scores are kept next to it until the student is saved, and
    `run=TrainingRun(resume=True)` continues from them. `on_finished` is called if an earlier run has saved the same
    student there and the run is resumed: it is then loaded, and an error if it is of other data or settings.
    """
    if not isinstance(student, str) or student not in STUDENTS:
        raise UnknownNameError("student", student, STUDENTS)
    model = build_model(student, parameters)
    target = None if output is None else output_path(output)
    training = run_into(target, run)
    require_extra("train", "distillation")
    saved = None if target is None or not is_main_process() else teacher_scores_beside(target)
    reads = [
        *paths_of(dialogues),
        *paths_of(candidates),
        *paths_of(judged),
        *named_files(paths_of(teachers), parameters),
    ]
    with reserved_folder(target, model.kind, beside=[] if saved is None else [saved], reads=reads):
        if saved is not None:
            check_scores_file(saved)
        model.find_pretrained()
        given = _read(dialogues, candidates, judged, dimension, CorpusReader(on_error, fields))
        settings = {
            "teachers": teachers.signature if isinstance(teachers, Metric) else list(map(str, _listed(teachers))),
            "contexts": contexts,
            "dimension": dimension,
        }
        record = training_record(model, given, seed, training, **settings)
        if (finished := finished_model(target, training, record, saved)) is not None:
            on_finished()
            return finished
        on_read(given)
        parts = divide(given.dialogues, given.candidates, contexts, seed)
        teacher = _teacher(teachers, parts.dialogues, seed)
        learn: Any = distill_static if student == "static" else distill_encoder
        how = {"contexts": parts.contexts, "seed": seed, "scores_file": saved, "run": training}
        fitted = learn(model, teacher, parts.dialogues, parts.candidates, **how)
        if not is_main_process():
            return fitted
        if target is not None:
            save_trained(fitted, target)
        check = check_student(fitted, teacher, parts.held, given.judged or (), dimension, seed)
        if target is not None and saved is not None:
            check.save(target)
            finish_run(fitted, target, training, record)
            saved.unlink(missing_ok=True)
    on_check(check)
    return fitted


def _read(dialogues: Any, candidates: Any, judged: Any, dimension: str | None, reader: CorpusReader) -> TrainingInput:
    """Read everything; an error where there is nothing to learn from, or the judged replies lack the dimension."""
    given = TrainingInput(
        dialogues=reader.dialogues(dialogues),
        candidates=reader.examples(candidates),
        judged=reader.judged(judged),
        skipped=tuple(reader.skipped),
    )
    if not given.dialogues and not given.candidates:
        raise CallError("nothing to learn from: expected dialogues, candidates or both")
    if given.judged:
        labels(given.judged, dimension)
    elif dimension is not None:
        raise CallError("a dimension is for human scores: expected judged replies")
    return given


def teacher_scores_beside(output: Path) -> Path:
    """Where the teachers' scores are kept while a student is trained that will be saved in `output`."""
    return output.parent / f"{output.name}.teacher.jsonl"


def _teacher(teachers: str | Path | Metric | Sequence[str | Path], dialogues: list[Dialogue], seed: int) -> Metric:
    if isinstance(teachers, Metric):
        if teachers.range != (LOWEST, HIGHEST):
            raise CallError(f"{teachers.name} does not score from 1 to 5: expected a teacher by its name or folder")
        return teachers
    names = _listed(teachers)
    if not names:
        raise CallError("no teacher is named: expected at least one")
    return teacher_of([str(name) for name in names], dialogues, seed)


def _listed(teachers: str | Path | Sequence[str | Path]) -> list[str]:
    """The names of the teachers."""
    names: list[str] = fitting("teachers", teachers, one_or_more("names or folders of evaluators and metrics"))
    return names

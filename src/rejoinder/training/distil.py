"""A small evaluator that learns the scores of larger ones: docs/guide/distillation.md."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from rejoinder._version import __version__
from rejoinder.data.contexts import TrainedContexts, context_groups, digest_of, rows_of_contexts
from rejoinder.data.dialogues import CorpusReader, pair_of
from rejoinder.data.records import Fields
from rejoinder.errors import CallError, UnknownNameError
from rejoinder.evaluators.base import Evaluator, EvaluatorFit
from rejoinder.evaluators.bounds import Bounds
from rejoinder.evaluators.calibration import HIGHEST, LOWEST
from rejoinder.evaluators.encoder.encoder import Encoder
from rejoinder.evaluators.encoder.replay import TRUE, WORSE, candidate_kind, candidates_of
from rejoinder.evaluators.ensemble import Ensemble
from rejoinder.evaluators.familiarity import Familiarity
from rejoinder.evaluators.static.static import Static
from rejoinder.folders.outputs import START_OVER, named_files, output_path, paths_of, write_text
from rejoinder.folders.sources import require_extra
from rejoinder.judge.judge import Judge
from rejoinder.learning.data import TrainingData, examples_digest, held_out, labels
from rejoinder.learning.run import TrainingRun, is_main_process, training_run
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import Batch
from rejoinder.options import (
    CANDIDATE_CONTEXTS,
    FIELDS_OPTION,
    RUN_PARTS,
    OnError,
    Option,
    Seed,
    fitting,
    function,
    one_or_more,
    path,
    text,
    verb,
    whole,
)
from rejoinder.progress import bar
from rejoinder.registry import load
from rejoinder.show.text import counted, interval_text
from rejoinder.stats.correlation_intervals import bootstrap_correlations
from rejoinder.stats.intervals import Interval
from rejoinder.training.train import (
    TrainingInput,
    build_model,
    finish_run,
    finished_model,
    reserved_folder,
    run_into,
    save_trained,
    training_record,
    warn_of_skipped,
)
from rejoinder.types import Dialogue, Example, JudgedExample, Scores

if TYPE_CHECKING:
    from rejoinder.evaluators.encoder.stages import DistillStage, LossWeights
    from rejoinder.evaluators.encoder.torch_model import TorchModel
    from rejoinder.learning.schedules import Schedule

STUDENTS = ("encoder", "static")
"""Evaluators that can be trained on another's scores."""


_DATA = "data (at least one of the two kinds)"
_ENCODER = "an encoder as student"


@verb
def distil(
    teachers: Annotated[
        str | Path | Metric | Sequence[str | Path],
        Option(
            "the folder of an evaluator, or the name of a metric; several are averaged",
            metavar="TEACHER",
            many="+",
            read=list,
        ),
    ],
    dialogues: Annotated[
        Any,
        Option(
            "dialogues to make replies from; may be repeated",
            name="--dialogues",
            metavar="FILE",
            many="repeat",
            group=_DATA,
            read=list,
        ),
    ] = (),
    *,
    candidates: Annotated[
        Any,
        Option(
            "replies with their contexts, to learn from instead; may be repeated",
            metavar="FILE",
            many="repeat",
            group=_DATA,
            read=list,
        ),
    ] = (),
    judged: Annotated[
        Any,
        Option(
            "replies with ratings, to measure how far the student agrees with people; may be repeated",
            metavar="FILE",
            many="repeat",
            group=_DATA,
            read=list,
        ),
    ] = (),
    dimension: Annotated[
        str | None, Option("the dimension that was rated (default: overall)", text, metavar="NAME", group=_DATA)
    ] = None,
    student: Annotated[
        str | None,
        Option(
            "the kind of evaluator that is trained",
            parts=(
                Option(
                    "the student uses word vectors and word counts, as default-fast does",
                    name="--static",
                    takes=bool,
                    alternative="student",
                    required=True,
                ),
            ),
            read="training.distil:static_student",
        ),
    ] = None,
    contexts: Annotated[
        int,
        Option("make replies for at most N contexts of the dialogues", whole(1), metavar="N", group=_DATA),
    ] = CANDIDATE_CONTEXTS,
    seed: Seed = 0,
    run: Annotated[
        TrainingRun | None,
        Option("how the run is carried out", training_run, parts=RUN_PARTS, read="learning.run:run_given"),
    ] = None,
    output: Annotated[
        str | Path | None,
        Option("folder to save the model in", path, short="-o", metavar="FOLDER", required=True),
    ] = None,
    fields: Annotated[Fields | None, FIELDS_OPTION] = None,
    on_error: OnError = "raise",
    on_read: Annotated[
        Callable[[TrainingInput], None], Option("called with what was read", function, shown=False)
    ] = warn_of_skipped,
    on_check: Annotated[
        Callable[[StudentCheck], None], Option("called with how far the student agrees", function, shown=False)
    ] = lambda check: None,  # noqa: ARG005 - nothing to do with it
    on_finished: Annotated[
        Callable[[], None], Option("called where an earlier run has saved the same student", function, shown=False)
    ] = lambda: None,
    **parameters: Annotated[
        Any,
        Option(
            "the student's parameters",
            parts=(
                Option(
                    "the student is this pretrained encoder, fine-tuned",
                    name="--encoder",
                    metavar="NAME_OR_FOLDER",
                    alternative="student",
                    required=True,
                ),
                Option(
                    "training steps at most (default: three passes over the replies)",
                    name="--steps",
                    metavar="N",
                    takes=int,
                    group=_ENCODER,
                ),
                Option(
                    "tokens of context and reply together (default: as in `rejoinder train encoder`)",
                    name="--max-length",
                    metavar="N",
                    takes=int,
                    group=_ENCODER,
                ),
            ),
            read="training.distil:student_parameters",
        ),
    ],
) -> Any:
    """Train a student to predict the scores of its teachers, and save it if `output` names a folder.

    `teachers` are evaluators and metrics, by name or folder; several are averaged. The `student` is a "static"
    evaluator or an "encoder" (the default with `encoder=NAME_OR_FOLDER`), with the `parameters` of `train`. It learns
    from the `candidates`, replies with their contexts; without them, from replies that are made for at most `contexts`
    places of the dialogues. Both are files or objects in memory, as in `train`; `fields` maps our field names to those
    of the candidates.

    A tenth of the dialogues or candidates is set aside to measure how far the student agrees with its teacher; with
    `judged` replies, also how far it agrees with people (on one `dimension`). `on_check` is called with the result,
    and the student's folder has it in MODEL_CARD.md.

    With an `output`, checkpoints and the teachers' scores are kept next to it until the student is saved, and
    `run=TrainingRun(resume=True)` continues from them. `on_finished` is called if an earlier run has saved the same
    student there and the run is resumed: it is then loaded, and an error if it is of other data or settings.
    """
    if student is None:
        student = "encoder" if "encoder" in parameters else "static"
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


def static_student(chosen: bool) -> str | None:
    """The student that --static means."""
    return "static" if chosen else None


def student_parameters(encoder: str | None, steps: Any, max_length: Any) -> dict[str, Any]:
    """The student's parameters of a command line, as far as they were given."""
    given = {"encoder": encoder, "steps": steps, "max_length": max_length}
    return {name: value for name, value in given.items() if value is not None}


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
        raise CallError("a dimension is for ratings: expected judged replies")
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


# How far a distilled student agrees with its teacher, on replies that it did not learn from, and with people.
#
# A tenth of the dialogues (or of the contexts of the candidates) is set aside before training. The teacher scores
# replies to their contexts as well; the student never sees these scores, nor the dialogues.


CARD = "MODEL_CARD.md"
SHARE = 0.1
FEWEST = 50
"""Dialogues, or contexts of candidates, from which on some are set aside."""
MOST = 300
"""Contexts that are set aside at most."""
_FEWEST_REPLIES = 10


@dataclass(frozen=True)
class DividedReplies:
    """What the student learns from, and replies that it is checked on."""

    dialogues: list[Dialogue]
    candidates: list[Example]
    contexts: int
    held: list[Example]


@dataclass(frozen=True)
class StudentTrust:
    """Correlations of the student's scores with those of somebody else."""

    who: str
    replies: int
    contexts: int
    pearson: Interval
    spearman: Interval

    def __str__(self) -> str:
        return (
            f"agreement with {self.who}: Spearman {interval_text(self.spearman, 2)}, Pearson "
            f"{interval_text(self.pearson, 2)} ({counted(self.replies, 'reply', 'replies')} to "
            f"{counted(self.contexts, 'context')} that it did not learn from)"
        )


@dataclass(frozen=True)
class StudentCheck:
    """A student's agreement with its teacher, and with people where there are judged replies."""

    student: str
    teacher: str
    found: tuple[StudentTrust, ...]
    missing: tuple[str, ...] = ()
    """Why an agreement could not be measured."""

    def __str__(self) -> str:
        return "\n".join([*map(str, self.found), *self.missing])

    def card(self) -> str:
        """A model card in Markdown."""
        lines = [f"- {line}" for line in str(self).splitlines()]
        return "\n".join(
            [
                "# Distilled evaluator",
                "",
                f"Student: `{self.student}`",
                "",
                f"Teacher: `{self.teacher}`",
                "",
                f"Made with rejoinder {__version__}. 95 % intervals resample contexts.",
                "",
                *lines,
                "",
                "Agreement with the teacher says nothing about people; `rejoinder trust` measures that.",
                "",
            ]
        )

    def save(self, folder: Path) -> None:
        """Write the card into the student's folder."""
        (folder / CARD).write_text(self.card(), encoding="utf-8")


def divide(dialogues: Sequence[Dialogue], candidates: Sequence[Example], contexts: int, seed: int) -> DividedReplies:
    """Set some dialogues, or contexts of the candidates, aside; nothing where there are few."""
    if candidates:
        held = held_out(context_groups(candidates), SHARE, [seed, 11], fewest=FEWEST, most=MOST)
        sides = [[one for one, out in zip(candidates, held, strict=True) if out == side] for side in (False, True)]
        return DividedReplies(list(dialogues), sides[0], contexts, sides[1])
    aside = held_out(np.arange(len(dialogues)), SHARE, [seed, 11], fewest=FEWEST, most=MOST)
    if not aside.any():
        return DividedReplies(list(dialogues), [], contexts, [])
    for_check = min(MOST, max(1, round(SHARE * contexts)))
    made = candidates_of([one for one, out in zip(dialogues, aside, strict=True) if out], for_check, seed)
    learned = [one for one, out in zip(dialogues, aside, strict=True) if not out]
    return DividedReplies(learned, [], max(1, contexts - for_check), made)


def check_student(
    student: Evaluator,
    teacher: Metric,
    held: Sequence[Example],
    judged: Sequence[JudgedExample],
    dimension: str | None,
    seed: int,
) -> StudentCheck:
    """The student's agreement with the teacher on `held`, and with people on `judged`."""
    found, missing = [], []
    scored = [example for example in held if example.context and example.response.strip()]
    if scored:
        found.append(_agreement("the teacher", student, scored, teacher.score_batch(Batch(scored)), seed))
    else:
        missing.append(f"agreement with the teacher was not measured: that needs {FEWEST} dialogues or contexts")
    if judged:
        examples, human = labels(judged, dimension)
        unseen = np.flatnonzero(~student.trained_contexts.holds(examples))
        if unseen.size < len(examples):
            missing.append(f"{len(examples) - unseen.size} judged replies were left out: it learned their contexts")
        rated = [examples[row] for row in unseen]
        found.append(_agreement("people", student, rated, human[unseen], seed))
    usable = tuple(one for one in found if one is not None)
    if len(usable) < len(found):
        missing.append(f"agreement was not measured where fewer than {_FEWEST_REPLIES} replies have both scores")
    return StudentCheck(student.signature, teacher.signature, usable, tuple(missing))


def _agreement(
    who: str, student: Evaluator, examples: Sequence[Example], scores: Scores, seed: int
) -> StudentTrust | None:
    """Correlations over the replies that both score; None where they are few."""
    if not examples:
        return None
    own = student.score_batch(Batch(examples))
    known = ~np.isnan(own) & ~np.isnan(scores)
    if known.sum() < _FEWEST_REPLIES:
        return None
    contexts = context_groups(examples)[known]
    found = bootstrap_correlations(own[known], scores[known], contexts, seed=seed)
    return StudentTrust(who, int(known.sum()), len(np.unique(contexts)), found["pearson"][0], found["spearman"][0])


# A small encoder that learns the scores of one or several evaluators: docs/guide/distillation.md.


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


def distill_encoder(
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
    from rejoinder.evaluators.encoder.model import DISTILLATION
    from rejoinder.evaluators.encoder.training import start_model
    from rejoinder.learning.checkpoints import Checkpoints
    from rejoinder.learning.loop import run_stage

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
    run_stage(model, stage, planned, seed, run, Checkpoints.of(run, digest_of(settings)))
    seen = TrainedContexts.of(examples) | TrainedContexts.within(dialogues) | student.inherited_contexts()
    if isinstance(teacher, Evaluator | Judge):
        seen |= teacher.trained_contexts
    text = TrainingData(tuple(dialogues), seed=seed)
    familiarity = Familiarity.of(text)
    bounds = Bounds.of(text, familiarity)
    fit = EvaluatorFit(seed, data, len(dialogues), 0, __version__, seen, familiarity=familiarity, bounds=bounds)
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
    from rejoinder.evaluators.encoder.stages import DistillStage, LossWeights, by_context
    from rejoinder.evaluators.encoder.torch_model import tower_vectors

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
        true=np.array([candidate_kind(example) == TRUE for example in examples], bool),
        anchor=anchor,
        losses=losses or LossWeights(),
    )


# A static evaluator that learns the scores of another evaluator: docs/reference/default-fast.md.


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


# A teacher's scores in a file that grows as they are computed, so that an interrupted run can be resumed.
#
# The first line says whose scores of which replies they are; each further line is a JSON list of the scores of the next
# replies, null where the teacher could not score.


AT_ONCE = 512
_BEGINNING = b'{"key": "'


def teacher_scores(
    teacher: Metric, examples: Sequence[Example], file: Path | None, *, resume: bool = False, quiet: bool = True
) -> Scores:
    """One score per reply; those in the file are not computed again.

    Scores of anything else in it are replaced; where a run is resumed, they are a CallError.
    """
    key = digest_of([teacher.signature, examples_digest(examples)])
    found = [] if file is None else _kept(file, key, resume=resume)
    faster = ("a faster teacher", "fewer contexts or candidates")
    done = len(found)
    with bar(
        "scoring with the teacher", total=len(examples), unit="replies", quiet=quiet, done=done, faster=faster
    ) as moving:
        for start in range(len(found), len(examples), AT_ONCE):
            scores = teacher.score_batch(Batch(examples[start : start + AT_ONCE])).tolist()
            found += scores
            if file is not None:
                with file.open("a", encoding="utf-8", newline="\n") as lines:
                    lines.write(json.dumps([None if np.isnan(score) else score for score in scores]) + "\n")
            moving.update(len(scores))
    return np.array(found, np.float64)


def check_scores_file(file: Path) -> None:
    """Raise a CallError if there is a file of this name that holds no scores of a teacher."""
    if not os.path.lexists(file):
        return
    beginning = b""
    if file.is_file() and not file.is_symlink():
        with file.open("rb") as lines:
            beginning = lines.read(len(_BEGINNING))
    if beginning != _BEGINNING:
        raise CallError(f"{file} holds no scores of a teacher, but would be needed for them: expected another name")


def _kept(file: Path, key: str, *, resume: bool) -> list[float]:
    """The scores that the file holds for this key, and the file with nothing else in it."""
    head, found = json.dumps({"key": key}), []
    lines = file.read_text(encoding="utf-8").split("\n") if file.is_file() else []
    if resume and lines and lines[0] != head:
        raise CallError(f"{file} belongs to another run (scores of another teacher or of other replies): {START_OVER}")
    whole = [head]
    for line in lines[1:-1] if lines[:1] == [head] else []:  # what follows the last line break was cut off
        whole.append(line)
        found += [np.nan if score is None else float(score) for score in json.loads(line)]
    write_text(file, "\n".join(whole) + "\n")
    return found

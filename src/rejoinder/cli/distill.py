"""`rejoinder distill TEACHER... --encoder SMALL --dialogues FILE -o student/`; --static in place of --encoder."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from rejoinder.cli.options import add_on_error, positive, say, say_skipped
from rejoinder.cli.training_data import (
    add_dialogues,
    add_fine_tuning,
    add_output,
    add_running,
    check_output,
    checkpoints_of,
    dialogues_of_files,
    fine_tuning_run,
    say_model,
)

if TYPE_CHECKING:
    from rejoinder.metrics.base import Metric
    from rejoinder.types import Dialogue, Example


_ENCODER_ONLY = {"steps": None, "max_length": 128, "mixed_precision": "no"}
"""Options that a static student has no use for -> what they are when nobody gives them."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument(
        "teachers",
        nargs="+",
        metavar="TEACHER",
        help="folder of an evaluator, or name of a metric; several are averaged",
    )
    student = parser.add_mutually_exclusive_group(required=True)
    student.add_argument(
        "--encoder", metavar="NAME_OR_FOLDER", help="the student is this pretrained encoder, trained further"
    )
    student.add_argument(
        "--static", action="store_true", help="the student reads word vectors and counts, as default-fast does"
    )
    data = parser.add_argument_group("data (at least one of both kinds)")
    add_dialogues(data, "dialogues to make replies of", required=False)
    data.add_argument(
        "--candidates",
        action="append",
        default=[],
        metavar="FILE",
        help="replies with their contexts, to learn from in place of those made of the dialogues; repeats",
    )
    data.add_argument(
        "--contexts", type=positive, default=5000, help="contexts of the dialogues at most (default: 5000)"
    )
    add_on_error(data)
    add_output(parser)
    training = parser.add_argument_group("training of an encoder")
    training.add_argument("--steps", type=positive, help="steps at most (default: three times through the replies)")
    add_fine_tuning(training)
    add_running(parser)


def run(arguments: argparse.Namespace) -> int:
    """Score by the teacher, train, save."""
    from rejoinder.errors import CallError
    from rejoinder.learning.extras import require_extra

    if not arguments.dialogues and not arguments.candidates:
        raise CallError("nothing to learn from: expected --dialogues, --candidates or both")
    for name, unset in _ENCODER_ONLY.items():
        if arguments.static and getattr(arguments, name) != unset:
            raise CallError(f"--{name.replace('_', '-')} is about an encoder: expected it without --static")
    output = Path(arguments.output)
    check_output(output)
    require_extra("train", "distillation")
    from rejoinder.evaluators.distillation.encoder import teacher_of
    from rejoinder.learning.run import is_main_process

    arguments.quiet |= not is_main_process()
    dialogues = dialogues_of_files(arguments.dialogues, arguments)
    candidates = _candidates(arguments)
    say(f"{len(dialogues)} dialogues, {len(candidates)} candidates", arguments)
    teacher = teacher_of(arguments.teachers, dialogues, arguments.seed)
    learn = _static_student if arguments.static else _encoder_student
    scores = output.parent / f"{output.name}.teacher.jsonl"
    try:
        learn(arguments, teacher, dialogues, candidates, scores if is_main_process() else None)
    except KeyboardInterrupt:
        again = "the same command" if arguments.static else "--resume"
        say(f"the teacher's scores are in {scores}; {again} goes on from there", arguments)
        raise
    if is_main_process():
        scores.unlink(missing_ok=True)
        say_model(output, arguments)
    return 0


def _encoder_student(
    arguments: argparse.Namespace,
    teacher: Metric,
    dialogues: Sequence[Dialogue],
    candidates: Sequence[Example],
    scores: Path | None,
) -> None:
    """Train an encoder, and export it."""
    import shutil

    from rejoinder.evaluators.distillation.encoder import distill
    from rejoinder.evaluators.encoder.encoder import Encoder
    from rejoinder.learning.run import is_main_process

    student = Encoder(
        encoder=arguments.encoder,
        max_length=arguments.max_length,
        max_response=min(64, max(1, arguments.max_length // 2)),
        steps=arguments.steps,
    )
    output = Path(arguments.output)
    checkpoints = checkpoints_of(output)
    run = fine_tuning_run(checkpoints, arguments)
    settings = {"contexts": arguments.contexts, "seed": arguments.seed}
    distill(student, teacher, dialogues, candidates, **settings, run=run, scores_file=scores)
    if is_main_process():
        student.export(output, trainable=True)
        shutil.rmtree(checkpoints, ignore_errors=True)


def _static_student(
    arguments: argparse.Namespace,
    teacher: Metric,
    dialogues: Sequence[Dialogue],
    candidates: Sequence[Example],
    scores: Path | None,
) -> None:
    """Train word vectors under a small network, and save them."""
    from rejoinder.evaluators.distillation.static import distill_static
    from rejoinder.evaluators.static.static import Static

    settings = {"contexts": arguments.contexts, "seed": arguments.seed}
    distill_static(Static(), teacher, dialogues, candidates, **settings, scores_file=scores).save(arguments.output)


def _candidates(arguments: argparse.Namespace) -> list[Example]:
    """The replies of all files; NeedsError where files were given that have none."""
    from rejoinder.data.source import Source
    from rejoinder.errors import NeedsError

    found: list[Example] = []
    for path in arguments.candidates:
        with closing(Source(path, None, arguments.on_error)) as source:
            found += source
            say_skipped([str(error) for error in source.skipped.values()], arguments)
    if arguments.candidates and not found:
        raise NeedsError(f"{', '.join(arguments.candidates)}: expected at least one reply, found none")
    return found

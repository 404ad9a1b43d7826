"""`rejoinder distill TEACHER... --encoder SMALL --dialogues FILE -o student/`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
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
    from rejoinder.types import Example


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument(
        "teachers",
        nargs="+",
        metavar="TEACHER",
        help="folder of an evaluator, or name of a metric; several are averaged",
    )
    parser.add_argument(
        "--encoder", required=True, metavar="NAME_OR_FOLDER", help="the pretrained encoder that the student starts from"
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
    training = parser.add_argument_group("training")
    training.add_argument("--steps", type=positive, help="steps at most (default: three times through the replies)")
    add_fine_tuning(training)
    add_running(parser)


def run(arguments: argparse.Namespace) -> int:
    """Score by the teacher, train, export."""
    import shutil

    from rejoinder.errors import CallError
    from rejoinder.evaluators.encoder import Encoder, require_training

    if not arguments.dialogues and not arguments.candidates:
        raise CallError("nothing to learn from: expected --dialogues, --candidates or both")
    output = Path(arguments.output)
    check_output(output)
    student = Encoder(
        encoder=arguments.encoder,
        max_length=arguments.max_length,
        max_response=min(64, max(1, arguments.max_length // 2)),
        steps=arguments.steps,
    )
    require_training("distillation")
    from rejoinder.evaluators.distillation import distill, teacher_of
    from rejoinder.models.training import is_main_process

    arguments.quiet |= not is_main_process()
    dialogues = dialogues_of_files(arguments.dialogues, arguments)
    candidates = list(_candidates(arguments))
    say(f"{len(dialogues)} dialogues, {len(candidates)} candidates", arguments)
    checkpoints = checkpoints_of(output)
    scores = output.parent / f"{output.name}.teacher.jsonl"
    teacher = teacher_of(arguments.teachers, dialogues, arguments.seed)
    try:
        distill(
            student,
            teacher,
            dialogues,
            candidates,
            contexts=arguments.contexts,
            seed=arguments.seed,
            run=fine_tuning_run(checkpoints, arguments),
            scores_file=scores if is_main_process() else None,
        )
    except KeyboardInterrupt:
        say(f"the teacher's scores are in {scores}; --resume goes on from there", arguments)
        raise
    if not is_main_process():
        return 0
    student.export(output, trainable=True)
    shutil.rmtree(checkpoints, ignore_errors=True)
    scores.unlink(missing_ok=True)
    say_model(output, arguments)
    return 0


def _candidates(arguments: argparse.Namespace) -> Iterator[Example]:
    from rejoinder.data.source import Source

    for path in arguments.candidates:
        with closing(Source(path, None, arguments.on_error)) as source:
            yield from source
            say_skipped([str(error) for error in source.skipped.values()], arguments)

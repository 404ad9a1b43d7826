"""`rejoinder distill TEACHER... --encoder SMALL --dialogues FILE -o student/`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from rejoinder.cli.options import positive, say, say_skipped
from rejoinder.cli.training_data import add_on_error, add_output, add_running, check_output, dialogues_of

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
    data.add_argument(
        "--dialogues", action="append", default=[], metavar="FILE", help="dialogues to make replies of; repeats"
    )
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
    training.add_argument(
        "--max-length", type=positive, default=128, help="tokens of context and reply together (default: 128)"
    )
    training.add_argument(
        "--mixed-precision",
        choices=("no", "bf16", "fp16"),
        default="no",
        help="numbers of half the size where the device has them (default: no)",
    )
    training.add_argument("--resume", action="store_true", help="go on where an interrupted run into -o stopped")
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
    from rejoinder.models.training import TrainingRun, is_main_process

    arguments.quiet |= not is_main_process()
    dialogues = [dialogue for path in arguments.dialogues for dialogue in dialogues_of(path, arguments)]
    candidates = list(_candidates(arguments))
    say(f"{len(dialogues)} dialogues, {len(candidates)} candidates", arguments)
    checkpoints = output.parent / f"{output.name}.checkpoints"
    scores = output.parent / f"{output.name}.teacher.jsonl"
    training = TrainingRun(
        checkpoints=checkpoints,
        resume=arguments.resume,
        mixed_precision=arguments.mixed_precision,
        quiet=arguments.quiet,
    )
    teacher = teacher_of(arguments.teachers, dialogues, arguments.seed)
    try:
        distill(
            student,
            teacher,
            dialogues,
            candidates,
            contexts=arguments.contexts,
            seed=arguments.seed,
            run=training,
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
    say(f"model: {output} (rejoinder score REPLIES -m {output})", arguments)
    return 0


def _candidates(arguments: argparse.Namespace) -> Iterator[Example]:
    from rejoinder.data.source import Source

    for path in arguments.candidates:
        with closing(Source(path, None, arguments.on_error)) as source:
            yield from source
            say_skipped([str(error) for error in source.skipped.values()], arguments)

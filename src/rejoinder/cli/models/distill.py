"""`rejoinder distill TEACHER... --encoder SMALL --dialogues FILE -o student/`; --static in place of --encoder."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.cli.options import add_on_error, positive, say, say_skipped
from rejoinder.cli.train.data import add_files
from rejoinder.cli.train.running import add_output, add_running, faster_ways, run_of, say_finished, say_model
from rejoinder.options import CANDIDATE_CONTEXTS

if TYPE_CHECKING:
    from rejoinder.training.distil import StudentCheck
    from rejoinder.training.train import TrainingInput

_ENCODER_PARAMETERS = ("steps", "max_length")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument(
        "teachers",
        nargs="+",
        metavar="TEACHER",
        help="the folder of an evaluator, or the name of a metric; several are averaged",
    )
    student = parser.add_mutually_exclusive_group(required=True)
    student.add_argument(
        "--encoder", metavar="NAME_OR_FOLDER", help="the student is this pretrained encoder, fine-tuned"
    )
    student.add_argument(
        "--static", action="store_true", help="the student uses word vectors and word counts, as default-fast does"
    )
    data = parser.add_argument_group("data (at least one of the two kinds)")
    add_files(data, "--dialogues", purpose="dialogues to make replies from")
    add_files(data, "--candidates", purpose="replies with their contexts, to learn from instead")
    add_files(data, "--judged", purpose="replies with human scores, to measure how far the student agrees with people")
    data.add_argument("--dimension", metavar="NAME", help="the dimension that was rated (default: overall)")
    data.add_argument(
        "--contexts",
        type=positive,
        default=CANDIDATE_CONTEXTS,
        metavar="N",
        help="make replies for at most N contexts of the dialogues (default: %(default)s)",
    )
    add_on_error(data)
    add_output(parser)
    training = parser.add_argument_group("an encoder as student")
    training.add_argument(
        "--steps", type=positive, metavar="N", help="training steps at most (default: three passes over the replies)"
    )
    training.add_argument(
        "--max-length",
        type=positive,
        metavar="N",
        help="tokens of context and reply together (default: as in `rejoinder train encoder`)",
    )
    add_running(parser)


def run(arguments: argparse.Namespace) -> int:
    """Score replies with the teachers, train the student on the scores, save it."""
    from rejoinder.folders.outputs import output_path
    from rejoinder.training.distil import distill, teacher_scores_beside

    output, finished = output_path(arguments.output), list[Path]()
    try:
        student = distill(
            arguments.teachers,
            arguments.dialogues,
            candidates=arguments.candidates,
            judged=arguments.judged,
            dimension=arguments.dimension,
            student="static" if arguments.static else "encoder",
            contexts=arguments.contexts,
            seed=arguments.seed,
            run=run_of(
                arguments,
                faster_ways(("contexts",) if arguments.static else ("contexts", "steps"), {}, arguments.minutes),
            ),
            output=output,
            on_error=arguments.on_error,
            on_read=partial(_say_read, arguments),
            on_check=partial(_say_check, arguments),
            on_finished=lambda: finished.append(output),
            **_parameters(arguments),
        )
    except KeyboardInterrupt:
        scores = teacher_scores_beside(output)
        if scores.exists():
            say(f"the teacher's scores are in {scores}: run the same command with --resume to continue", arguments)
        raise
    if finished:
        say_finished(output, arguments)
    else:
        say_model(student.kind, output, arguments)
    return 0


def _parameters(arguments: argparse.Namespace) -> dict[str, Any]:
    """The student's parameters; CallError for encoder parameters if the student is not an encoder."""
    from rejoinder.errors import CallError

    given = {name: value for name in _ENCODER_PARAMETERS if (value := getattr(arguments, name)) is not None}
    if not arguments.static:
        return {"encoder": arguments.encoder, **given}
    for name in given:
        raise CallError(f"--{name.replace('_', '-')} is for an encoder: expected it without --static")
    return {}


def _say_check(arguments: argparse.Namespace, check: StudentCheck) -> None:
    for line in str(check).splitlines():
        say(line, arguments)


def _say_read(arguments: argparse.Namespace, given: TrainingInput) -> None:
    say_skipped(given.skipped, arguments)
    say(f"{len(given.dialogues)} dialogues, {len(given.candidates)} candidates", arguments)

"""Options of every command that trains: where the model goes, and how the run is carried out."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rejoinder.cli.options import add_seed, say
from rejoinder.learning.run import PRECISIONS, TrainingRun, is_main_process

_USES = {
    "evaluator": "rejoinder score REPLIES -m {output}",
    "sentence encoder": "rejoinder train adem --encoder {output} --judged FILE -o MODEL",
    "reply model": "rejoinder generate CONTEXTS --model {output} -o replies.jsonl",
}
"""Kind of model -> the command that uses it."""


def add_output(parser: argparse.ArgumentParser) -> None:
    """Where the model goes."""
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER", help="folder to save the model in")


def add_running(parser: argparse.ArgumentParser, *, trains_in_steps: bool = True) -> None:
    """How the run is carried out and shown; a time limit and a precision only for what is trained step by step."""
    group = parser.add_argument_group("training run")
    resuming = (
        "resume an interrupted run from the checkpoints next to the output folder; a finished one is left as it is; "
        "an error if its data or settings are not those of this run"
    )
    if not trains_in_steps:
        resuming = "has no effect: this model is fitted in one step, and starts again"
    group.add_argument("--resume", action="store_true", help=resuming)
    if trains_in_steps:
        group.add_argument(
            "--minutes",
            type=float,
            metavar="N",
            help="time limit for each training stage; the best weights so far are kept (default: no limit)",
        )
        group.add_argument(
            "--mixed-precision",
            choices=PRECISIONS,
            default=TrainingRun.mixed_precision,
            help="train with 16-bit numbers where the device supports them (default: %(default)s)",
        )
    add_seed(parser)
    parser.add_argument("--quiet", action="store_true", help="show neither progress nor remarks")


_SHORTER = ("in_batch_steps", "steps", "label_steps", "epochs", "label_epochs", "contexts")
"""Parameters of which a smaller value makes training faster."""


def faster_ways(
    parameters: Iterable[str], given: Mapping[str, Any], minutes: float | None, *, trains_in_steps: bool = True
) -> tuple[str, ...]:
    """What would make training with these parameters faster, as options."""
    known = set(parameters)
    shorter = [f"--{name.replace('_', '-')}" for name in _SHORTER if name in known]
    return (
        *(["without --preset paper"] if given.get("preset") == "paper" else []),
        *([f"fewer {' or '.join(shorter)}"] if shorter else []),
        *(["a shorter --minutes" if minutes else "a time limit, --minutes N"] if trains_in_steps else []),
    )


def run_of(arguments: argparse.Namespace, faster: tuple[str, ...] = ()) -> TrainingRun:
    """The training run that the options describe; only one of several processes shows anything."""
    arguments.quiet |= not is_main_process()
    # A model that is fitted in one step has no options for the others.
    given = {name: getattr(arguments, name) for name in ("minutes", "mixed_precision") if name in arguments}
    if "member_scores" in arguments:
        given["member_scores"] = Path(arguments.member_scores or f"{arguments.output.rstrip('/')}.scores")
    return TrainingRun(resume=arguments.resume, quiet=arguments.quiet, faster=faster, **given)


@contextmanager
def resumable(output: Path, arguments: argparse.Namespace) -> Iterator[None]:
    """If the training in the block is interrupted, print how to resume it."""
    from rejoinder.training.train import checkpoints_beside

    try:
        yield
    except KeyboardInterrupt:
        checkpoints = checkpoints_beside(output)
        if checkpoints.exists():
            say(f"checkpoints are in {checkpoints}: run the same command with --resume to continue", arguments)
        raise


def say_finished(output: Path, arguments: argparse.Namespace) -> None:
    """That an earlier run has saved the same model."""
    say(f"{output} is finished: there is nothing left to do", arguments)


def say_model(kind: str, output: Path, arguments: argparse.Namespace) -> None:
    """Where the model is, and how to use it."""
    say(f"model: {output} ({_USES[kind].format(output=output)})", arguments)

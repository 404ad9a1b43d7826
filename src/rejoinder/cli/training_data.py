"""What the verbs below `rejoinder train` share: where the model goes, and the data that it learns from."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.cli.options import add_seed, positive, say, say_skipped

if TYPE_CHECKING:
    from rejoinder.learning.run import TrainingRun
    from rejoinder.types import Dialogue, JudgedExample


def add_dialogues(group: Any, purpose: str, *, required: bool = True) -> None:
    """Dialogues, which may be asked for."""
    default: list[str] | None = None if required else []
    group.add_argument(
        "--dialogues", action="append", required=required, default=default, metavar="FILE", help=f"{purpose}; repeats"
    )


def add_judged(group: Any) -> None:
    """Replies with human scores, and which of the scores."""
    group.add_argument(
        "--judged", action="append", default=[], metavar="FILE", help="replies with human scores; repeats"
    )
    group.add_argument("--dimension", help="which human scores to learn (default: the only one, or the overall one)")


def add_fine_tuning(group: Any) -> None:
    """How a pretrained encoder is trained further."""
    group.add_argument(
        "--max-length", type=positive, default=128, help="tokens of context and reply together (default: 128)"
    )
    group.add_argument(
        "--mixed-precision",
        choices=("no", "bf16", "fp16"),
        default="no",
        help="numbers of half the size where the device has them (default: no)",
    )
    group.add_argument("--resume", action="store_true", help="go on where an interrupted run into -o stopped")


def add_output(parser: argparse.ArgumentParser) -> None:
    """Where the model goes."""
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER", help="where the model goes")


def add_running(parser: argparse.ArgumentParser) -> None:
    """How the work is done and shown."""
    add_seed(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress bar, no remarks")


def check_output(output: Path, kind: str = "evaluator") -> None:
    """Raise a CallError before hours of training rather than after."""
    from rejoinder.errors import CallError
    from rejoinder.model_folder import read_config

    if not output.parent.is_dir():
        raise CallError(f"{output.parent} does not exist: expected a folder to make {output.name} in")
    if output.is_dir() and any(output.iterdir()):
        read_config(output, kind)  # only a folder that holds a model of ours is replaced
    elif output.exists() and not output.is_dir():
        raise CallError(f"{output} is a file: expected a folder")


def checkpoints_of(output: Path) -> Path:
    """Where training keeps how far it came: beside the model's folder."""
    return output.parent / f"{output.name}.checkpoints"


def fine_tuning_run(checkpoints: Path, arguments: argparse.Namespace) -> TrainingRun:
    """Training as the options of `add_fine_tuning` say."""
    from rejoinder.learning.run import TrainingRun

    return TrainingRun(
        checkpoints=checkpoints,
        resume=arguments.resume,
        mixed_precision=arguments.mixed_precision,
        quiet=arguments.quiet,
    )


@contextmanager
def interruptible(checkpoints: Path, arguments: argparse.Namespace) -> Iterator[None]:
    """Training within it says how to go on when a person stops it."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoints.exists():
            say(f"how far it came is in {checkpoints}; --resume goes on from there", arguments)
        raise


def say_model(output: Path, arguments: argparse.Namespace) -> None:
    """Where the evaluator is, and how to use it."""
    say(f"model: {output} (rejoinder score REPLIES -m {output})", arguments)


def dialogues_of_files(paths: Sequence[str], arguments: argparse.Namespace) -> list[Dialogue]:
    """The dialogues of all these files; NeedsError where files were given that have none: what they were given for
    would be left out without a word."""
    from rejoinder.errors import NeedsError

    found = [dialogue for path in paths for dialogue in dialogues_of(path, arguments)]
    if paths and not found:
        raise NeedsError(f"{', '.join(paths)}: expected at least one dialogue, found none")
    return found


def dialogues_of(path: str, arguments: argparse.Namespace) -> Iterator[Dialogue]:
    """The dialogues of a file; what was left out is said afterwards."""
    from rejoinder.data.dialogues import DialogueSource

    source = DialogueSource(path, arguments.on_error)
    yield from source
    say_skipped([str(error) for error in source.skipped.values()], arguments)


def judged_of(arguments: argparse.Namespace) -> Iterator[JudgedExample]:
    """The judged examples of all files that --judged names."""
    from rejoinder.data.judged import JudgedSource

    for path in arguments.judged:
        with closing(JudgedSource(path, None, arguments.on_error)) as source:
            yield from source.judged()
            say_skipped([str(error) for error in source.skipped.values()], arguments)


def judged_to_learn_from(arguments: argparse.Namespace) -> list[JudgedExample]:
    """The same, for what learns without human scores as well; NeedsError where --judged has none to learn from.

    Such a model would be saved without a word, as if there had been no --judged.
    """
    from rejoinder.errors import NeedsError
    from rejoinder.learning.data import TrainingData

    judged = list(judged_of(arguments))
    if arguments.judged and not TrainingData.of((), judged).judged:
        raise NeedsError(
            f"{arguments.evaluator} learns from the judged examples of --judged: expected at least one to fit it on "
            "(those of the splits valid and test do not count)"
        )
    return judged

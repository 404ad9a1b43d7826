"""What the verbs below `rejoinder train` share: where the model goes, and the data that it learns from."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.cli.options import say_skipped, seed

if TYPE_CHECKING:
    from rejoinder.types import Dialogue, JudgedExample


def add_judged(group: Any) -> None:
    """Replies with human scores, and which of the scores."""
    group.add_argument(
        "--judged", action="append", default=[], metavar="FILE", help="replies with human scores; repeats"
    )
    group.add_argument("--dimension", help="which human scores to learn (default: the only one, or the overall one)")


def add_on_error(group: Any) -> None:
    """What happens at bad input."""
    group.add_argument(
        "--on-error",
        choices=("raise", "skip"),
        default="raise",
        help="stop at input that cannot be read (default), or leave it out and say so",
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    """Where the model goes."""
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER", help="where the model goes")


def add_running(parser: argparse.ArgumentParser) -> None:
    """How the work is done and shown."""
    parser.add_argument("--seed", type=seed, default=0, help="seed of all that is random (default: 0)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar, no remarks")


def check_output(output: Path, kind: str = "evaluator") -> None:
    """Raise a CallError before hours of training rather than after."""
    from rejoinder.errors import CallError
    from rejoinder.models.saving import read_config

    if not output.parent.is_dir():
        raise CallError(f"{output.parent} does not exist: expected a folder to make {output.name} in")
    if output.is_dir() and any(output.iterdir()):
        read_config(output, kind)  # only a folder that holds a model of ours is replaced
    elif output.exists() and not output.is_dir():
        raise CallError(f"{output} is a file: expected a folder")


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

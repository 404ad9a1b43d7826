"""`rejoinder train r-tfidf --dialogues FILE -o model/`, and the same for every other reply model."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rejoinder.cli.options import add_on_error, say
from rejoinder.cli.training_data import (
    add_dialogues,
    add_output,
    add_running,
    check_output,
    checkpoints_of,
    dialogues_of_files,
    interruptible,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The model's options; its parameters are named in docs/reference/reply-models.md."""
    data = parser.add_argument_group("data")
    add_dialogues(data, "dialogues to learn from")
    data.add_argument(
        "--valid", action="append", default=[], metavar="FILE", help="dialogues to decide by when to stop; repeats"
    )
    add_on_error(data)
    add_output(parser)
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a parameter of the model (docs/reference/reply-models.md): --set turns=2; repeats",
    )
    parser.add_argument("--resume", action="store_true", help="go on where an interrupted run into -o stopped")
    add_running(parser)


def run(arguments: argparse.Namespace) -> int:
    """Learn and save."""
    import shutil

    from rejoinder.registry import build_reply_model

    output, name = Path(arguments.output), arguments.evaluator
    check_output(output, "reply model")
    model = build_reply_model(name, _parameters(name, arguments.set))
    dialogues, valid = (dialogues_of_files(paths, arguments) for paths in (arguments.dialogues, arguments.valid))
    say(f"{len(dialogues)} dialogues" + (f", {len(valid)} to validate on" if valid else ""), arguments)
    checkpoints = checkpoints_of(output)
    with interruptible(checkpoints, arguments):
        model.fit(dialogues, valid=valid, seed=arguments.seed, run=_run(model, checkpoints, arguments))
    model.save(output)
    shutil.rmtree(checkpoints, ignore_errors=True)
    say(f"model: {output} (rejoinder generate CONTEXTS --model {output} -o replies.jsonl)", arguments)
    return 0


def _parameters(name: str, given: list[str]) -> dict[str, Any]:
    """From ['turns=2', ...]."""
    from rejoinder.errors import CallError
    from rejoinder.specs import parse_spec

    parameters: dict[str, Any] = {}
    for pair in given:
        found = parse_spec(f"{name}({pair})")[1]
        if parameters.keys() & found.keys():
            raise CallError(f"--set gives {next(iter(found))!r} twice")
        parameters |= found
    return parameters


def _run(model: Any, checkpoints: Path, arguments: argparse.Namespace) -> Any:
    """How training runs, where a model needs torch; those that count words need nothing of it."""
    from rejoinder.errors import MissingExtraError

    if not model.extra:
        return None
    try:
        from rejoinder.learning.run import TrainingRun
    except ImportError as error:
        raise MissingExtraError(f"training {model.name}", model.extra) from error
    return TrainingRun(checkpoints=checkpoints, resume=arguments.resume, quiet=arguments.quiet)

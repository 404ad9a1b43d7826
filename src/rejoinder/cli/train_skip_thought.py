"""`rejoinder train skip-thought --dialogues FILE --minutes 20 -o model/`."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any

from rejoinder.cli.options import add_on_error, positive, say
from rejoinder.cli.training_data import (
    add_dialogues,
    add_output,
    add_running,
    check_output,
    checkpoints_of,
    dialogues_of_files,
)

_OPTIONS: dict[str, tuple[Any, str]] = {
    "minutes": (float, "training ends by then, with the best weights so far (default: when the epochs are over)"),
    "epochs": (positive, "passes over the dialogues at most (default: 10)"),
    "batch": (positive, "dialogues that are learned from at once (default: 16)"),
    "learning_rate": (float, "how large the steps are at their largest (default: 0.001)"),
    "vocabulary": (positive, "byte pairs at most (default: 8000)"),
    "embedding": (positive, "numbers of a token's vector (default: 256)"),
    "hidden": (positive, "numbers of an utterance's vector (default: 320)"),
    "longest": (positive, "tokens of an utterance that are read (default: 60)"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    data = parser.add_argument_group("data")
    add_dialogues(data, "dialogues to learn from")
    add_on_error(data)
    add_output(parser)
    training = parser.add_argument_group("training")
    for name, (kind, purpose) in _OPTIONS.items():
        training.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar="N", help=purpose)
    training.add_argument("--resume", action="store_true", help="go on where an interrupted run into -o stopped")
    add_running(parser)


def run(arguments: argparse.Namespace) -> int:
    """Learn and save."""
    from rejoinder.evaluators.skip_thought import SkipThought
    from rejoinder.learning.extras import require_extra

    output = Path(arguments.output)
    check_output(output)
    given = {name: getattr(arguments, name) for name in _OPTIONS}
    evaluator = SkipThought(**{name: value for name, value in given.items() if value is not None})
    dialogues = dialogues_of_files(arguments.dialogues, arguments)
    say(f"{len(dialogues)} dialogues", arguments)
    require_extra("train", "training skip-thought")
    from rejoinder.learning.run import TrainingRun

    checkpoints = checkpoints_of(output)
    running = TrainingRun(checkpoints=checkpoints, resume=arguments.resume, quiet=arguments.quiet)
    evaluator.fit(dialogues, seed=arguments.seed, run=running)
    evaluator.save(output)
    shutil.rmtree(checkpoints, ignore_errors=True)
    say(f"model: {output} (rejoinder score REPLIES -m {output}; its vectors: --encoder {output})", arguments)
    return 0

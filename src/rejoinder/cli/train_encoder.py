"""`rejoinder train encoder --encoder NAME --dialogues FILE -o model/`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rejoinder.cli.options import add_on_error, add_scale, positive, say
from rejoinder.cli.training_data import (
    add_dialogues,
    add_fine_tuning,
    add_judged,
    add_output,
    add_running,
    check_output,
    checkpoints_of,
    dialogues_of_files,
    fine_tuning_run,
    interruptible,
    judged_to_learn_from,
    say_model,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument(
        "--encoder",
        required=True,
        metavar="NAME_OR_FOLDER",
        help="a pretrained encoder by its Hugging Face name or folder; or a model of ours, which then learns on",
    )
    data = parser.add_argument_group("data (at least one of both kinds)")
    add_dialogues(data, "dialogues without labels", required=False)
    add_judged(data)
    add_scale(data)
    add_on_error(data)
    add_output(parser)
    _add_training(parser.add_argument_group("training"))
    add_running(parser)


def _add_training(group: Any) -> None:
    group.add_argument(
        "--preset",
        choices=("cpu", "paper"),
        default="cpu",
        help="sized for a few cores (default), or as roberta-eval was trained",
    )
    group.add_argument(
        "--in-batch-steps",
        type=int,
        metavar="STEPS",
        help="steps as two towers with the other replies of a batch as negatives, before all else; 0 for none "
        "(default: the preset's)",
    )
    group.add_argument("--steps", type=positive, help="steps on dialogues at most (default: the preset's)")
    group.add_argument("--label-steps", type=positive, help="steps on human scores at most (default: the preset's)")
    add_fine_tuning(group)


def run(arguments: argparse.Namespace) -> int:
    """Train, save, export."""
    import shutil

    from rejoinder.errors import CallError
    from rejoinder.evaluators.encoder.encoder import Encoder
    from rejoinder.learning.extras import require_extra

    if not arguments.dialogues and not arguments.judged:
        raise CallError("nothing to learn from: expected --dialogues, --judged or both")
    output = Path(arguments.output)
    check_output(output)
    evaluator = Encoder(
        encoder=arguments.encoder,
        preset=arguments.preset,
        max_length=arguments.max_length,
        max_response=min(64, max(1, arguments.max_length // 2)),
        in_batch_steps=arguments.in_batch_steps,
        steps=arguments.steps,
        label_steps=arguments.label_steps,
        dimension=arguments.dimension,
        scale=tuple(arguments.scale) if arguments.scale else None,
    )
    require_extra("train", "training an encoder")
    from rejoinder.learning.run import is_main_process

    arguments.quiet |= not is_main_process()
    dialogues = dialogues_of_files(arguments.dialogues, arguments)
    judged = judged_to_learn_from(arguments)
    say(f"{len(dialogues)} dialogues, {len(judged)} judged replies", arguments)
    checkpoints = checkpoints_of(output)
    with interruptible(checkpoints, arguments):
        evaluator.fit(dialogues, judged, seed=arguments.seed, run=fine_tuning_run(checkpoints, arguments))
    if not is_main_process():
        return 0
    evaluator.export(output, trainable=True)
    shutil.rmtree(checkpoints, ignore_errors=True)
    say_model(output, arguments)
    return 0

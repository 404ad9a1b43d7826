"""`rejoinder train encoder --encoder NAME --dialogues FILE -o model/`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rejoinder.cli.options import positive, say
from rejoinder.cli.training_data import (
    add_judged,
    add_on_error,
    add_output,
    add_running,
    check_output,
    dialogues_of,
    judged_of,
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
    data.add_argument(
        "--dialogues", action="append", default=[], metavar="FILE", help="dialogues without labels; repeats"
    )
    add_judged(data)
    data.add_argument(
        "--scale",
        nargs=2,
        type=float,
        metavar=("LOWEST", "HIGHEST"),
        help="the scores that people could give (default: the lowest and highest that they gave)",
    )
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


def run(arguments: argparse.Namespace) -> int:
    """Train, save, export."""
    import shutil

    from rejoinder.errors import CallError
    from rejoinder.evaluators.encoder import Encoder, require_training

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
    require_training()
    from rejoinder.models.training import TrainingRun, is_main_process

    arguments.quiet |= not is_main_process()
    dialogues = [dialogue for path in arguments.dialogues for dialogue in dialogues_of(path, arguments)]
    judged = list(judged_of(arguments))
    say(f"{len(dialogues)} dialogues, {len(judged)} judged replies", arguments)
    checkpoints = output.parent / f"{output.name}.checkpoints"
    training = TrainingRun(
        checkpoints=checkpoints,
        resume=arguments.resume,
        mixed_precision=arguments.mixed_precision,
        quiet=arguments.quiet,
    )
    try:
        evaluator.fit(dialogues, judged, seed=arguments.seed, run=training)
    except KeyboardInterrupt:
        if checkpoints.exists():
            say(f"how far it came is in {checkpoints}; --resume goes on from there", arguments)
        raise
    if not is_main_process():
        return 0
    evaluator.export(output, trainable=True)
    shutil.rmtree(checkpoints, ignore_errors=True)
    say(f"model: {output} (rejoinder score REPLIES -m {output})", arguments)
    return 0

"""`rejoinder train encoder --encoder NAME --dialogues FILE -o model/`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.cli.options import positive, say, say_skipped, seed

if TYPE_CHECKING:
    from rejoinder.types import Dialogue, JudgedExample


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument("evaluator", choices=("encoder",), help="what to train")
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
    data.add_argument(
        "--judged", action="append", default=[], metavar="FILE", help="replies with human scores; repeats"
    )
    data.add_argument("--dimension", help="which human scores to learn (default: the only one, or the overall one)")
    data.add_argument(
        "--scale",
        nargs=2,
        type=float,
        metavar=("LOWEST", "HIGHEST"),
        help="the scores that people could give (default: the lowest and highest that they gave)",
    )
    data.add_argument(
        "--on-error",
        choices=("raise", "skip"),
        default="raise",
        help="stop at input that cannot be read (default), or leave it out and say so",
    )
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER", help="where the model goes")
    _add_training(parser.add_argument_group("training"))
    parser.add_argument("--seed", type=seed, default=0, help="seed of all that is random (default: 0)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar, no remarks")


def _add_training(group: Any) -> None:
    group.add_argument(
        "--preset",
        choices=("cpu", "paper"),
        default="cpu",
        help="sized for a few cores (default), or as roberta-eval was trained",
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
    _check_output(output)
    evaluator = Encoder(
        encoder=arguments.encoder,
        preset=arguments.preset,
        max_length=arguments.max_length,
        max_response=min(64, max(1, arguments.max_length // 2)),
        steps=arguments.steps,
        label_steps=arguments.label_steps,
        dimension=arguments.dimension,
        scale=tuple(arguments.scale) if arguments.scale else None,
    )
    require_training()
    from rejoinder.models.training import TrainingRun, is_main_process

    arguments.quiet |= not is_main_process()
    dialogues, judged = list(_dialogues(arguments)), list(_judged(arguments))
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


def _check_output(output: Path) -> None:
    """Raise a CallError before hours of training rather than after."""
    from rejoinder.errors import CallError
    from rejoinder.evaluators.saving import read_config

    if not output.parent.is_dir():
        raise CallError(f"{output.parent} does not exist: expected a folder to make {output.name} in")
    if output.is_dir() and any(output.iterdir()):
        read_config(output)  # only a folder that holds an evaluator is replaced
    elif output.exists() and not output.is_dir():
        raise CallError(f"{output} is a file: expected a folder")


def _dialogues(arguments: argparse.Namespace) -> Iterator[Dialogue]:
    from rejoinder.data.dialogues import DialogueSource

    for path in arguments.dialogues:
        source = DialogueSource(path, arguments.on_error)
        yield from source
        say_skipped([str(error) for error in source.skipped.values()], arguments)


def _judged(arguments: argparse.Namespace) -> Iterator[JudgedExample]:
    from rejoinder.data.judged import JudgedSource

    for path in arguments.judged:
        with closing(JudgedSource(path, None, arguments.on_error)) as source:
            yield from source.judged()
            say_skipped([str(error) for error in source.skipped.values()], arguments)

"""`rejoinder train adem --encoder vhred/ --judged FILE -o model/`, and its variants; `human-likeness`; `tweet2vec`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rejoinder.cli.options import add_on_error, add_scale, positive, say
from rejoinder.cli.training_data import (
    add_dialogues,
    add_judged,
    add_output,
    add_running,
    check_output,
    dialogues_of_files,
    judged_of,
    say_model,
)

_ADEM = ("adem", "c-adem", "r-adem")
_DOT = ("encoder-dot", "vhred-dot", "t2v-dot")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the verb that the parser is for."""
    name = parser.prog.split()[-1]
    group = parser.add_argument_group("data")
    if name != "tweet2vec":
        parser.add_argument(
            "--encoder",
            required=True,
            metavar="FOLDER",
            help="what makes vectors: the folder of a reply model with an encoder, of tweet2vec or of stored vectors, "
            "or a pretrained encoder by its Hugging Face name or folder",
        )
        parser.add_argument(
            "--max-length", type=positive, default=128, help="tokens a pretrained encoder reads (default: 128)"
        )
    if name in _ADEM:
        add_judged(group)
        add_scale(group)
        _add_learning(parser.add_argument_group("learning"))
    elif name in _DOT:
        parser.add_argument(
            "--against",
            choices=("both", "context", "references"),
            default="both",
            help="what a reply is compared with (default: both)",
        )
    elif name == "human-likeness":
        group.add_argument(
            "--pool", action="append", required=True, metavar="FILE", help="replies whose system is named; repeats"
        )
        group.add_argument(
            "--human",
            action="append",
            default=[],
            metavar="SYSTEM",
            help="a system whose replies people gave (default: true, human, ground-truth); repeats",
        )
    else:
        add_dialogues(group, "dialogues to learn from")
        _add_network(parser.add_argument_group("network"))
    add_on_error(group)
    add_output(parser)
    add_running(parser)


def _add_learning(group: Any) -> None:
    group.add_argument(
        "--components",
        type=positive,
        help="principal components of the vectors (default: chosen among 7, 20 and 50 on the training data)",
    )
    group.add_argument("--gamma", type=float, help="strength of the penalty (default: chosen on the training data)")
    group.add_argument(
        "--towards",
        choices=("zero", "identity"),
        help="what the penalty draws the matrices to (default: chosen on the training data)",
    )
    group.add_argument(
        "--solver",
        choices=("exact", "sgd"),
        default="exact",
        help="find the least loss (default), or descend in mini-batches and stop early, as the paper does",
    )
    group.add_argument("--learning-rate", type=float, default=0.01, help="of sgd (default: 0.01)")
    group.add_argument("--batch", type=positive, default=16, help="of sgd (default: 16)")
    group.add_argument("--epochs", type=positive, default=200, help="of sgd, at most (default: 200)")
    group.add_argument("--refs", choices=("max", "mean"), default="max", help="of several references (default: max)")
    group.add_argument("--debias", action="store_true", help="take the trend with the length of replies out")


def _add_network(group: Any) -> None:
    for option, default, purpose in (
        ("--hidden", 128, "units that read in each direction"),
        ("--width", 256, "numbers of a vector"),
        ("--longest", 120, "characters that are read of a text"),
        ("--steps", 2000, "batches that are learned from"),
        ("--batch", 128, "turns that each is told from"),
    ):
        group.add_argument(option, type=positive, default=default, help=f"{purpose} (default: {default})")


def run(arguments: argparse.Namespace) -> int:
    """Learn and save."""
    name: str = arguments.evaluator
    runs: dict[str, Callable[[argparse.Namespace, Path], None]] = {
        "human-likeness": _train_likeness,
        "tweet2vec": _train_characters,
        **dict.fromkeys(_ADEM, _train_adem),
        **dict.fromkeys(_DOT, _make_dot),
    }
    output = Path(arguments.output)
    check_output(output, "sentence encoder" if name == "tweet2vec" else "evaluator")
    runs[name](arguments, output)
    return 0


def _train_adem(arguments: argparse.Namespace, output: Path) -> None:
    from rejoinder.errors import NeedsError

    if not arguments.judged:
        raise NeedsError(f"{arguments.evaluator} learns from human scores: expected --judged")
    names = "encoder max_length components gamma towards solver learning_rate batch epochs refs debias dimension"
    scale = tuple(arguments.scale) if arguments.scale else None
    evaluator = _class_of(arguments)(**{name: getattr(arguments, name) for name in names.split()}, scale=scale)
    judged = list(judged_of(arguments))
    say(f"{len(judged)} judged replies", arguments)
    evaluator.fit((), judged, seed=arguments.seed)
    evaluator.save(output)
    say(str(evaluator.setting_), arguments)
    say_model(output, arguments)


def _make_dot(arguments: argparse.Namespace, output: Path) -> None:
    options = {name: getattr(arguments, name) for name in ("encoder", "max_length", "against")}
    _class_of(arguments)(**options).fit().save(output)
    say_model(output, arguments)


def _train_likeness(arguments: argparse.Namespace, output: Path) -> None:
    from contextlib import closing

    from rejoinder.cli.options import say_skipped
    from rejoinder.data.source import Source
    from rejoinder.evaluators.adem.human_likeness import HUMAN, HumanLikeness, pooled, systems_of

    human = tuple(arguments.human) or HUMAN
    evaluator = HumanLikeness(encoder=arguments.encoder, max_length=arguments.max_length, human=human)
    examples = []
    for path in arguments.pool:
        with closing(Source(path, None, arguments.on_error)) as source:
            examples += list(source)
            say_skipped([str(error) for error in source.skipped.values()], arguments)
    by_people, by_models = systems_of(examples, human)
    say(f"{by_people} replies of people, {by_models} of models", arguments)
    evaluator.fit((), pooled(examples), seed=arguments.seed).save(output)
    say_model(output, arguments)


def _train_characters(arguments: argparse.Namespace, output: Path) -> None:
    from rejoinder.learning.extras import require_extra

    require_extra("train", "training tweet2vec")
    from rejoinder.encoders.tweet2vec.encoder import Tweet2Vec
    from rejoinder.learning.run import TrainingRun

    encoder = Tweet2Vec(**{name: getattr(arguments, name) for name in ("hidden", "width", "longest", "steps", "batch")})
    dialogues = dialogues_of_files(arguments.dialogues, arguments)
    say(f"{len(dialogues)} dialogues", arguments)
    encoder.fit(dialogues, seed=arguments.seed, run=TrainingRun(quiet=arguments.quiet)).save(output)
    say(f"encoder: {output} (rejoinder train adem --encoder {output} --judged FILE -o MODEL)", arguments)


def _class_of(arguments: argparse.Namespace) -> Any:
    from rejoinder.registry import evaluator_class

    return evaluator_class(arguments.evaluator)

"""`rejoinder train NAME ...`: one implementation for everything that can be trained.

Data, output and run options are the same everywhere; the others are the parameters of the class behind the name.

names      what can be trained
data       options for the training data
options    options made from the fields of a dataclass
additions  options and messages of single methods
running    options for the output and the run
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from rejoinder.cli.lazy_parser import LazyParser, sentence
from rejoinder.cli.options import files_read, say
from rejoinder.cli.train.names import overview
from rejoinder.registry import TRAINABLE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One verb for everything that can be trained."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = overview()
    verbs = parser.add_subparsers(
        dest="name", metavar="NAME", required=True, parser_class=LazyParser, help="what to train: see below"
    )
    for purposes in TRAINABLE.values():
        for name, purpose in purposes.items():
            verbs.add_parser(name, description=sentence(purpose), fill=partial(_fill, name))


def _fill(name: str, parser: argparse.ArgumentParser) -> None:
    """The options of one verb."""
    from rejoinder.cli.train.additions import ADDITIONS
    from rejoinder.cli.train.data import add_data
    from rejoinder.cli.train.options import add_parameters
    from rejoinder.cli.train.running import add_output, add_running
    from rejoinder.registry import trainable_class

    cls = trainable_class(name)
    add_data(parser, cls)
    add_output(parser)
    is_reply_model = cls.kind == "reply model"
    add_parameters(parser, cls, may_be_set=is_reply_model)
    if is_reply_model:
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="KEY=VALUE",
            help="a parameter by its name in Python, --set learning_rate=0.01 for --learning-rate 0.01; "
            "may be repeated",
        )
    if name in ADDITIONS:
        ADDITIONS[name].add_options(parser)
    add_running(parser, trains_in_steps=cls.trains_in_steps)


def run(arguments: argparse.Namespace) -> int:
    """Train and save the named model."""
    from rejoinder.cli.train.additions import ADDITIONS, extra_outputs
    from rejoinder.cli.train.data import say_read
    from rejoinder.cli.train.options import parameters_of
    from rejoinder.cli.train.running import faster_ways, resumable, run_of, say_finished, say_model
    from rejoinder.folders.outputs import output_path, reserved
    from rejoinder.folders.sources import require_extra
    from rejoinder.registry import trainable_class
    from rejoinder.training.train import train

    name, output = arguments.name, output_path(arguments.output)
    addition, parameters = ADDITIONS.get(name), _parameters(arguments)
    cls = trainable_class(name)
    finished: list[Path] = []
    options = [parameter.name for parameter in parameters_of(cls)]
    minutes = getattr(arguments, "minutes", None)
    training = run_of(arguments, faster_ways(options, parameters, minutes, trains_in_steps=cls.trains_in_steps))
    if addition is not None:
        addition.check(arguments, parameters)
    if cls.trains_in_steps:
        require_extra("train", f"training {name}")
    with reserved(*extra_outputs(arguments), reads=files_read(arguments)), resumable(output, arguments):
        model = train(
            name,
            getattr(arguments, "dialogues", ()),
            getattr(arguments, "judged", None) or None,
            valid=getattr(arguments, "valid", ()),
            seed=arguments.seed,
            run=training,
            output=output,
            on_error=arguments.on_error,
            on_read=partial(say_read, arguments, parameters),
            on_finished=lambda: finished.append(output),
            **parameters,
        )
        if finished:
            say_finished(output, arguments)
            return 0
        for remark in () if addition is None else addition.remarks(model, arguments):
            say(remark, arguments)
    say_model(model.kind, output, arguments)
    return 0


def _parameters(arguments: argparse.Namespace) -> dict[str, Any]:
    """The parameters that were given as options, and with --set."""
    from rejoinder.cli.train.options import given_parameters
    from rejoinder.errors import CallError
    from rejoinder.specs import parse_spec

    parameters = given_parameters(arguments)
    for pair in getattr(arguments, "set", ()):
        found = parse_spec(f"{arguments.name}({pair})")[1]
        if parameters.keys() & found.keys():
            raise CallError(f"{next(iter(found))!r} is given twice")
        parameters |= found
    return parameters

"""`rejoinder train hred --dialogues FILE --valid FILE --minutes 40 -o model/`: reply models that write."""

from __future__ import annotations

import argparse

from rejoinder.cli import train_reply_model

_OPTIONS = {
    "minutes": (float, "training ends by then, with the best weights so far (default: when the epochs are over)"),
    "epochs": (int, "passes over the dialogues at most"),
    "batch": (int, "dialogues that are learned from at once"),
    "learning_rate": (float, "how large the steps are at their largest"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What every reply model takes, and how long this one trains."""
    train_reply_model.add_arguments(parser)
    training = parser.add_argument_group("training")
    for name, (kind, purpose) in _OPTIONS.items():
        training.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar="N", help=purpose)


def run(arguments: argparse.Namespace) -> int:
    """Learn and save; an option is a parameter that has a name of its own."""
    given = {name: getattr(arguments, name) for name in _OPTIONS}
    arguments.set = [*arguments.set, *(f"{name}={value}" for name, value in given.items() if value is not None)]
    return train_reply_model.run(arguments)

"""Options for the data that a model is trained on, and messages about the data that were read."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rejoinder.cli.options import add_on_error, say, say_skipped

if TYPE_CHECKING:
    from rejoinder.training.train import TrainingInput


def add_files(group: Any, *names: str, purpose: str, required: bool = False) -> None:
    """An option that names files, and may be repeated."""
    dest = names[-1].removeprefix("--")
    metavar, help_text = "FILE", f"{purpose}; may be repeated"
    group.add_argument(
        *names, dest=dest, action="append", required=required, default=[], metavar=metavar, help=help_text
    )


def add_data(parser: argparse.ArgumentParser, cls: type[Any]) -> None:
    """The data that a class learns from."""
    group = parser.add_argument_group("data")
    is_evaluator = cls.kind == "evaluator"
    dialogues, labels = (cls.dialogues, cls.labels) if is_evaluator else ("needed", "unused")
    names, purpose = ["--dialogues"], "dialogues to learn from: .jsonl(.gz) with `turns`"
    if cls.reads_sentences:
        names.insert(0, "--text")
        purpose = "text to learn from: .txt(.gz) with one sentence per line, or .jsonl(.gz) with dialogues"
    if dialogues != "unused":
        add_files(group, *names, purpose=purpose, required=dialogues == "needed")
    if cls.learns_systems:
        add_files(group, "--pool", "--judged", purpose="replies that name the system that gave them", required=True)
    elif labels != "unused":
        add_files(group, "--judged", purpose="replies with human scores", required=labels == "needed")
    if not is_evaluator:
        add_files(group, "--valid", purpose="dialogues that decide when training stops")
    add_on_error(group)


def say_read(arguments: argparse.Namespace, parameters: Mapping[str, Any], given: TrainingInput) -> None:
    """Print how much training data there is, and what was left out."""
    say_skipped(given.skipped, arguments)
    counts = _counts(arguments.name, parameters, given)
    if counts:
        say(", ".join(counts), arguments)


def _counts(name: str, parameters: Mapping[str, Any], given: TrainingInput) -> list[str]:
    from rejoinder.registry import trainable_class

    cls = trainable_class(name)
    judged = given.judged or []
    if cls.learns_systems:
        from rejoinder.evaluators.adem.baselines import HUMAN, systems_of

        people, models = systems_of([item.example for item in judged], parameters.get("human", HUMAN))
        return [f"{people} replies by people", f"{models} by models"]
    if cls.reads_sentences:
        counts = {"sentences": sum(len(dialogue.turns) for dialogue in given.dialogues)}
    else:
        counts = {"dialogues": len(given.dialogues)}
    counts |= {"judged replies": len(judged), "validation dialogues": len(given.valid)}
    return [f"{count} {what}" for what, count in counts.items() if count]

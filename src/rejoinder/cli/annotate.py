"""`rejoinder annotate STEP`: each step is a method of an open study, but for `new`, which makes one."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rejoinder.cli.output import put, say
from rejoinder.cli.parameters import add_parameters, located
from rejoinder.cli.running import call_of
from rejoinder.options import described

_NEW, _OPEN = "people.opened:new_study", "people.opened:open_study"


@dataclass(frozen=True)
class AnnotateStep:
    """What a step is for, its function or method, and what it says at the end."""

    purpose: str
    place: str
    told: Callable[[Any, argparse.Namespace], Iterator[str]]


def _new(study: Any, _: argparse.Namespace) -> Iterator[str]:
    yield f"study: {study}: change its questions, then run: rejoinder annotate serve {study}"


def _links(links: list[str], _: argparse.Namespace) -> Iterator[str]:
    from rejoinder.show.text import one_line

    for link in links:
        put(one_line(link))
    yield from ()


def _export(export: Any, arguments: argparse.Namespace) -> Iterator[str]:
    if arguments.to == "judged":
        yield f"{export.records} records: {export.files[0]}"
    else:
        yield f"for {arguments.to}: {', '.join(map(str, export.files))}"


def _add(counts: tuple[int, int], _: argparse.Namespace) -> Iterator[str]:
    yield f"{counts[0]} new answers of {counts[1]}"


def _datasheet(path: Any, _: argparse.Namespace) -> Iterator[str]:
    yield f"datasheet: {path}: fill in what is marked with TO FILL IN"


STEPS: Mapping[str, AnnotateStep] = {
    "new": AnnotateStep("write a template of a study, to be edited by hand", _NEW, _new),
    "links": AnnotateStep("make personal links for raters", "people.opened:OpenStudy.links", _links),
    "serve": AnnotateStep("run the web server of a study", "people.opened:OpenStudy.serve", lambda *_: iter(())),
    "export": AnnotateStep(
        "write the ratings as a file of judged replies, or the study for another tool",
        "people.opened:OpenStudy.export",
        _export,
    ),
    "import": AnnotateStep("add answers that were given in another tool", "people.opened:OpenStudy.add", _add),
    "datasheet": AnnotateStep(
        "write a datasheet of the study, with the numbers of HEDS 3.0", "people.opened:OpenStudy.datasheet", _datasheet
    ),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The steps, each with its options."""
    steps = parser.add_subparsers(dest="step", metavar="STEP", required=True)
    for name, step in STEPS.items():
        below = steps.add_parser(name, help=step.purpose)
        if step.place != _NEW:
            add_parameters(below, described(_OPEN))
        add_parameters(below, described(step.place))
        below.add_argument("--quiet", action="store_true", help="show no notes")


def run(arguments: argparse.Namespace) -> int:
    """Run one step."""
    step = STEPS[arguments.step]
    positional, named = call_of(step.place, arguments)
    if step.place == _NEW:
        result = located(_NEW)(*positional, **named)
    else:
        given, options = call_of(_OPEN, arguments)
        method = step.place.rpartition(".")[2]
        result = getattr(located(_OPEN)(*given, **options), method)(*positional, **named)
    for line in step.told(result, arguments):
        say(line, arguments)
    return 0

"""Every verb calls one public function: its options are the parameters of the function, and the reverse."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rejoinder
from rejoinder.cli import build_parser
from rejoinder.cli.lazy_parser import LazyParser
from rejoinder.cli.parameters import located, option_names
from rejoinder.cli.running import Verb
from rejoinder.cli.verbs import VERB_GROUPS
from rejoinder.options import Parameter, Unknown, described

if TYPE_CHECKING:
    from running import Run

VERBS = {name: verb for verbs in VERB_GROUPS.values() for name, verb in verbs.items()}
NO_FUNCTION = {"demo", "completion", "reproduce"}
"""They are about the command line itself."""
TERMINAL = {"--help", "-h", "--json", "--latex", "--details", "--report", "--no-texts", "--quiet"}
"""What every verb may have besides the parameters: how its result is shown."""
CALLED = [name for name, verb in VERBS.items() if verb.place]


def below(parser: argparse.ArgumentParser) -> dict[str, LazyParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def parser_of(name: str) -> LazyParser:
    return below(build_parser())[name].filled()


def names_of(parameters: tuple[Parameter, ...]) -> Iterator[str]:
    """The options that the parameters should make, and the arguments without a name."""
    for each in parameters:
        option = each.option
        for part in (option.parts or (option,)) if option.shown else ():
            named = each.kind is inspect.Parameter.KEYWORD_ONLY or option.parts or option.name.startswith("--")
            yield from [*option_names(each, part), *part.old] if named else [each.name]


@pytest.mark.parametrize("name", CALLED)
def test_options_are_parameters_and_parameters_are_options(name: str) -> None:
    verb = VERBS[name]
    options = {text for action in parser_of(name)._actions for text in action.option_strings or [action.dest]}
    assert options - TERMINAL - own(verb) == set(names_of(described(verb.place)))


def own(verb: Verb) -> set[str]:
    """The options that only a terminal has, as the verb describes them."""
    parser = argparse.ArgumentParser(add_help=False)
    if verb.extra is not None:
        verb.extra(parser)
    if verb.costs is not None:
        parser.add_argument("--dry-run")
    return {text for action in parser._actions for text in action.option_strings}


@pytest.mark.parametrize("name", CALLED)
def test_the_source_is_read_as_python_has_it(name: str) -> None:
    """Names, kinds and defaults are those of the imported function; every parameter is described."""
    place = VERBS[name].place
    function = located(place)
    parameters = [each for key, each in inspect.signature(function).parameters.items() if key != "self"]
    read = described(place)
    assert [(each.name, each.kind) for each in read] == [(each.name, each.kind) for each in parameters]
    for found, expected in zip(read, parameters, strict=True):
        if found.option.shown:
            assert found.default == expected.default, found.name
            assert found.default is not Unknown, found.name
            assert all(part.help for part in found.option.parts or (found.option,)), found.name


@pytest.mark.parametrize("name", CALLED)
def test_the_function_is_public(name: str) -> None:
    function = located(VERBS[name].place)
    public: list[Any] = [getattr(rejoinder, each) for each in rejoinder.__all__]
    methods = [vars(each).values() for each in public if inspect.isclass(each)]
    assert any(function is each for each in [*public, *(method for group in methods for method in group)])


@pytest.mark.parametrize("name", CALLED)
def test_every_number_and_word_has_a_check(name: str) -> None:
    for each in described(VERBS[name].place):
        if each.option.shown and ({int, float, bool} & set(each.types) or each.choices):
            assert each.check is not None, each.name


def test_a_file_named_as_a_parameter_is_not_taken_for_it(run: Run, tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("")
    (tmp_path / "replies.jsonl").write_text('{"response": "yes"}\n')
    ran = run("history", "folder", "--add", "replies.jsonl", "--name", "1", "-m", "length")
    assert ran.err.startswith("rejoinder: folder is a file: expected a folder")

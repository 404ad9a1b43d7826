"""Writes docs/reference/cli.md from the command line's own parsers, and the tables of functions and arguments in
docs/reference/api.md from the same annotations: `python docs/make_cli_help.py`.

A test compares the files with `page()` and `api_page()`, so that they cannot become outdated. The layout is ours rather
than argparse's, which changes from one version of Python to the next.
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import rejoinder
from rejoinder.cli import VERBS, build_parser
from rejoinder.cli.lazy_parser import LazyParser
from rejoinder.options import Parameter, described
from rejoinder.registry import TRAINABLE

PAGE = Path(__file__).parent / "reference" / "cli.md"
API = PAGE.with_name("api.md")

HEAD = """\
# The command line

Every verb has `--help`. Results go to standard output; notes, progress and errors go to standard error.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | the program failed |
| 2 | the input or the call was wrong; one line says where, and what was expected |
| 3 | the work was done, and a check (`--fail-if`, `--fail-under`) failed |
| 4 | the work was done and no check failed, but one is not decided: its metric cannot judge these replies |
| 130 | interrupted; verbs that have `--resume` continue with it |

This page is generated from the parsers by `docs/make_cli_help.py`.
"""

TRAIN = """\
Every model has options of its own, which are its parameters in Python: `--learning-rate 0.01` is `learning_rate=0.01`.
All models have these:
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(line for verb in VERBS for line in _verb(verb))]).rstrip() + "\n"


def _verb(verb: str) -> Iterator[str]:
    parser = _parsers(build_parser())[verb].filled()
    yield f"## rejoinder {verb}"
    yield ""
    yield str(parser.description)
    yield ""
    below = _parsers(parser)
    if verb == "train":
        yield from _train(below)
    elif below:
        for name, each in below.items():
            yield f"### rejoinder {verb} {name}"
            yield ""
            purpose = _purpose(parser, name)
            yield f"{purpose[0].upper()}{purpose[1:]}."
            yield ""
            yield from _usage(f"rejoinder {verb} {name}", each.filled())
            yield from _table(each._actions)
    else:
        yield from _usage(f"rejoinder {verb}", parser)
        yield from _table(parser._actions)


def _train(parsers: Mapping[str, LazyParser]) -> Iterator[str]:
    """All models with their purposes, the options that all of them have, and then the options of each.

    Models with the same options share a table.
    """
    for group, purposes in TRAINABLE.items():
        yield f"| {group} | |"
        yield "|---|---|"
        for name, purpose in purposes.items():
            yield f"| `{name}` | {purpose} |"
        yield ""
    rows = {
        name: [_row(action) for action in parser.filled()._actions if _is_shown(action)]
        for name, parser in parsers.items()
    }
    common = [row for row in next(iter(rows.values())) if all(row in others for others in rows.values())]
    yield TRAIN
    yield from _usage("rejoinder train NAME")
    yield from _rows(common)
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, own in rows.items():
        alike.setdefault(tuple(row for row in own if row not in common), []).append(name)
    for own, names in alike.items():
        yield f"### rejoinder train {', '.join(names)}"
        yield ""
        yield from _rows(own)


def _usage(command: str, parser: argparse.ArgumentParser | None = None) -> Iterator[str]:
    actions = [] if parser is None else parser._actions
    positional = " ".join(_shown(action) for action in actions if not action.option_strings)
    yield "```"
    yield f"{command} {positional} [options]".replace("  ", " ")
    yield "```"
    yield ""


def _table(actions: list[argparse.Action]) -> Iterator[str]:
    yield from _rows([_row(action) for action in actions if _is_shown(action)])


def _rows(rows: list[str] | tuple[str, ...]) -> Iterator[str]:
    yield "| argument | meaning |"
    yield "|---|---|"
    yield from rows
    yield ""


def _is_shown(action: argparse.Action) -> bool:
    """Whether an option is in the help; former names of options are not."""
    return action.dest != "help" and action.help != argparse.SUPPRESS


def _row(action: argparse.Action) -> str:
    return f"| {_names(action)} | {_meaning(action)} |"


def _parsers(parser: argparse.ArgumentParser) -> dict[str, LazyParser]:
    """The parsers of the verbs below a parser."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _purpose(parser: argparse.ArgumentParser, name: str) -> str:
    """What a verb below a parser is for, as its help says."""
    (verbs,) = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    (purpose,) = [choice.help for choice in verbs._choices_actions if choice.dest == name]
    return str(purpose)


def _names(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{_shown(action)}`"
    value = "" if action.nargs == 0 else f" {_shown(action)}"
    return ", ".join(f"`{name}{value}`" for name in action.option_strings)


def _shown(action: argparse.Action) -> str:
    """What stands for the argument's value."""
    if action.choices:
        return "{" + ",".join(map(str, action.choices)) + "}"
    if isinstance(action.metavar, tuple):
        return " ".join(action.metavar)
    name = action.metavar or (action.dest.upper() if action.option_strings else action.dest)
    if action.nargs == "?":
        return f"[{name}]"
    return f"{name} [{name} ...]" if action.nargs in {"+", "*"} else name


def _meaning(action: argparse.Action) -> str:
    required = " (required)" if action.required and action.option_strings else ""
    return ((action.help or "") % vars(action)).replace("|", "\\|") + required


# The tables of docs/reference/api.md.


GUIDES = {
    "agree": "../guide/rater-agreement.md",
    "calibrate": "#calibration",
    "compare": "../guide/compare-two-versions.md",
    "convert": "data-format.md#converting",
    "distil": "#distillation",
    "experiment": "experiments.md",
    "generate": "#generating-replies",
    "judge_costs": "../guide/llm-judge.md",
    "plan": "../guide/plan-an-evaluation.md",
    "prefer": "../guide/pairwise-preferences.md",
    "read": "data-format.md#files-of-other-tools",
    "sample": "../guide/what-to-label-next.md",
    "train": "#training",
}
"""Function -> where there is more about it."""
MARKS = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def api_page() -> str:
    """The whole page, with the generated tables as they should be."""
    tables = {"functions": _functions, "arguments": _arguments}
    text = API.read_text(encoding="utf-8")
    return MARKS.sub(lambda mark: f"{mark[1]}{chr(10).join(tables[mark[2]]())}\n{mark[3]}", text)


def _public() -> dict[str, Callable[..., object]]:
    named = {name: getattr(rejoinder, name) for name in rejoinder.__all__}
    return {name: function for name, function in named.items() if inspect.isfunction(function)}


def _functions() -> Iterator[str]:
    """One row per public function: its call, what it returns and what it does."""
    yield "| name | returns | what it does |"
    yield "|---|---|---|"
    for name, function in _public().items():
        does = str(inspect.getdoc(function)).partition("\n")[0].replace("|", "\\|")
        more = f" ([more]({GUIDES[name]}))" if name in GUIDES else ""
        returns = str(inspect.signature(function).return_annotation).replace("|", "or").replace("Any", "-")
        yield f"| `{name}({', '.join(_written(each) for each in _parameters(function))})` | {returns} | {does}{more} |"


def _parameters(function: Callable[..., object]) -> tuple[Parameter, ...]:
    module = function.__module__.removeprefix("rejoinder.")
    return described(f"{module}:{function.__name__}")


def _written(parameter: Parameter) -> str:
    """A parameter as a call has it."""
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        return f"*{parameter.name}"
    if parameter.kind is inspect.Parameter.VAR_KEYWORD:
        return f"**{parameter.name}"
    return parameter.name if parameter.required else f"{parameter.name}="


def _arguments() -> Iterator[str]:
    """One row per meaning of an argument, with its default and the functions that have it."""
    having: dict[tuple[str, str, str], list[str]] = {}
    for name, function in _public().items():
        for each in _parameters(function):
            if each.option.help:
                default = "" if callable(each.default) else f"`{each.default!r}`"  # a class stands for no value
                having.setdefault((each.name, default, each.option.help), []).append(name)
    yield "| argument | default | meaning | in |"
    yield "|---|---|---|---|"
    for (name, default, told), names in sorted(having.items()):
        meaning = told.replace("; may be repeated", "").replace("|", "\\|")
        yield f"| {name} | {default} | {meaning} | {', '.join(names)} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    API.write_text(api_page(), encoding="utf-8")

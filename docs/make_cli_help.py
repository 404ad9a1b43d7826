"""Writes docs/reference/cli.md from the command line's own parsers: `python docs/make_cli_help.py`.

A test compares the file with `page()`, so it cannot fall behind. The layout is ours and not argparse's, which changes
from one version of Python to the next.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from rejoinder.cli import VERBS, build_parser

PAGE = Path(__file__).parent / "reference" / "cli.md"

HEAD = """\
# The command line

Every verb has `--help`. Results go to standard output, remarks, progress and errors to standard error.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | the program failed |
| 2 | the input or the call was wrong; one line says where and what was expected |
| 130 | interrupted; `score -o` goes on from there with `--resume` |

This page is made from the parsers by `docs/make_cli_help.py`.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(line for verb in VERBS for line in _verb(verb))]).rstrip() + "\n"


def _verb(verb: str) -> Iterator[str]:
    parser = parser_of(verb)
    yield f"## rejoinder {verb}"
    yield ""
    yield str(parser.description)
    yield ""
    below = _below(parser)
    if below:
        yield f"`rejoinder {verb}` has a verb of its own for {', '.join(f'`{name}`' for name in below)}."
        yield ""
        for name, subparser in below.items():
            yield f"### rejoinder {verb} {name}"
            yield ""
            yield str(subparser.description)
            yield ""
            yield from _usage(f"{verb} {name}", subparser)
    else:
        yield from _usage(verb, parser)


def _usage(verb: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    positional = " ".join(_shown(action) for action in parser._actions if not action.option_strings)
    yield "```"
    yield f"rejoinder {verb} {positional} [options]".replace("  ", " ")
    yield "```"
    yield ""
    yield "| argument | meaning |"
    yield "|---|---|"
    for action in parser._actions:
        if action.dest != "help":
            yield f"| {_names(action)} | {_meaning(action)} |"
    yield ""


def _below(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parsers of the verbs below a verb."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def parser_of(verb: str) -> argparse.ArgumentParser:
    """The parser of one verb."""
    for action in build_parser([verb])._actions:
        if isinstance(action, argparse._SubParsersAction):
            found: argparse.ArgumentParser = action.choices[verb]
            return found
    raise ValueError(f"the command line has no verb {verb!r}")


def _names(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{_shown(action)}`"
    value = "" if action.nargs == 0 else f" {_shown(action)}"
    return ", ".join(f"`{name}{value}`" for name in action.option_strings)


def _shown(action: argparse.Action) -> str:
    """What stands for the argument's value."""
    if action.choices:
        return "{" + ",".join(map(str, action.choices)) + "}"
    name = str(action.metavar or (action.dest.upper() if action.option_strings else action.dest))
    return f"{name} [{name} ...]" if action.nargs in {"+", "*"} else name


def _meaning(action: argparse.Action) -> str:
    return (action.help or "").replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

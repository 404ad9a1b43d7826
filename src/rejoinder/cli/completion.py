"""`rejoinder completion bash`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from rejoinder.cli.options import put

_SCRIPT = """\
_rejoinder() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" words=""
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{verbs}"
    else
        case "${{COMP_WORDS[1]}}" in
{cases}
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _rejoinder rejoinder"""
"""Where no word fits, the shell completes the names of files."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument(
        "shell", choices=("bash",), help='the shell; put eval "$(rejoinder completion bash)" into ~/.bashrc'
    )


def run(arguments: argparse.Namespace) -> int:
    """Print a script that completes verbs and options."""
    put({"bash": bash_script}[arguments.shell]())
    return 0


def bash_script() -> str:
    """The script for bash."""
    from rejoinder.cli import VERBS, build_parser

    parsers = next(
        action.choices for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction)
    )
    cases = [f'            {verb}) words="{" ".join(_words(parsers[verb].filled()))}" ;;' for verb in VERBS]
    return _SCRIPT.format(verbs=" ".join(VERBS), cases="\n".join(cases))


def _words(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The options of a verb, and the words that its arguments may be."""
    for action in parser._actions:
        yield from (option for option in action.option_strings if option.startswith("--"))
        if not action.option_strings and action.choices:
            yield from map(str, action.choices)

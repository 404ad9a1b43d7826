"""`rejoinder reproduce adem-table-5 --data FOLDER` prints the command that makes the table; the verb goes after 0.2."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from rejoinder.cli.output import put


class _Given(argparse.Action):
    """Keeps an argument as it was given."""

    def __call__(self, _: object, namespace: argparse.Namespace, values: Any, option: str | None = None) -> None:
        values = values if isinstance(values, list) else [values]
        namespace.given = [*namespace.given, *([option] if option else []), *values]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the other command."""
    page, passed = "a page, or a paper's table such as adem-table-5", "passed on"
    parser.add_argument("given", action=_Given, nargs="*", default=[], metavar="NAME", help=page)
    more = parser.add_argument_group("options of `python -m papers`, which explains them with --help")
    for name in ("--list", "--quiet"):
        more.add_argument(name, action=_Given, nargs=0, dest="given", help=passed)
    for names in (["--data"], ["-o", "--output"], ["--models"], ["--cache"], ["--set"]):
        more.add_argument(*names, action=_Given, dest="given", metavar="VALUE", help=passed)
    more.add_argument("--sections", action=_Given, nargs="+", dest="given", metavar="SECTION", help=passed)


def run(arguments: argparse.Namespace) -> int:
    """Print the command to use instead, with the same arguments."""
    command = shlex.join(["python", "-m", "papers", *arguments.given])
    put(f"The tables of the papers are made in a checkout of the repository:\n\n    {command}")
    return 0

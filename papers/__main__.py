"""`python -m papers adem-table-5 --data FOLDER`, in the root of a checkout: a page or table of docs/results.

Exit codes and messages are those of `rejoinder`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from rejoinder.__main__ import guarded
from rejoinder.cli import exit_code, notes_of_readers
from rejoinder.cli.lazy_parser import LazyParser
from rejoinder.cli.output import put, say
from rejoinder.errors import CallError


def build_parser() -> argparse.ArgumentParser:
    """The parser of all options."""
    parser = LazyParser(
        prog="papers",
        usage="python -m papers NAME --data FOLDER [options]",
        description="Makes a table or figure of the papers again, with our results next to theirs.",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="a page, or a paper's table such as adem-table-5")
    parser.add_argument("--list", action="store_true", help="list all pages, tables and figures, and make nothing")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="the folder with judged/ and dialogues/")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="PAGE.md",
        help="the file to write; figures are saved next to it (default: print the page without them)",
    )
    parser.add_argument(
        "--models",
        type=Path,
        default=Path("models-cache"),
        metavar="FOLDER",
        help="folder with the models (default: %(default)s)",
    )
    parser.add_argument(
        "--cache", type=Path, metavar="FOLDER", help="cache folder (default: reproduction/ in the models' folder)"
    )
    parser.add_argument("--sections", nargs="+", metavar="SECTION", help="only these sections of the page")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="settings",
        help="a setting of the page; may be repeated",
    )
    parser.add_argument("--quiet", action="store_true", help="no notes")
    return parser


def main(arguments: Sequence[str] | None = None, *, interrupted: Callable[[], bool] = lambda: False) -> int:
    """Make one page, or list all of them, and return the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    return exit_code("papers", partial(_run, given), interrupted)


def _run(given: Sequence[str]) -> int:
    arguments = build_parser().parse_args(given)
    with notes_of_readers(arguments):
        if arguments.list:
            _list()
        else:
            _make(arguments)
    return 0


def _list() -> None:
    from papers.papers import listing

    put(listing())


def _make(arguments: argparse.Namespace) -> None:
    from papers.making import make_page

    if arguments.name is None:
        raise CallError("no page was named: expected one that --list shows")
    started = time.monotonic()
    document = make_page(
        arguments.name,
        data=arguments.data,
        output=arguments.output,
        models=arguments.models,
        cache=arguments.cache,
        sections=arguments.sections or (),
        given=arguments.settings,
        quiet=arguments.quiet,
    )
    if arguments.output is None:
        put(document)
    say(f"{arguments.output or arguments.name}: {time.monotonic() - started:.0f} s", arguments)


if __name__ == "__main__":
    sys.exit(guarded("papers", lambda: main))

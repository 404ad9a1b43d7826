"""`rejoinder reproduce adem-table-5 --data FOLDER`."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from rejoinder.cli.options import put, say
from rejoinder.errors import CallError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
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


def run(arguments: argparse.Namespace) -> int:
    """Write the requested page, or list all of them."""
    from rejoinder.reproduction.making import make_page
    from rejoinder.reproduction.papers import listing

    if arguments.list:
        put(listing())
        return 0
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
    return 0

"""`python -m rejoinder.reproduction NAME --data FOLDER -o page.md`: makes one page, or one table."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rejoinder.errors import CallError, RejoinderError, UnknownNameError
from rejoinder.output.targets import Output, reserved
from rejoinder.text.terminal import one_line

PROGRAM = "python -m rejoinder.reproduction"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="a page, or a paper's table such as adem-table-5")
    parser.add_argument("--list", action="store_true", help="list all pages, tables and figures, and make nothing")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="the folder with judged/ and dialogues/")
    parser.add_argument("-o", "--output", type=Path, metavar="PAGE.md", help="the page; figures are saved next to it")
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
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="settings", help="a setting of the page"
    )


def run(arguments: argparse.Namespace) -> int:
    """Make the requested pages or tables; return the exit code."""
    if arguments.list:
        from rejoinder.reproduction.papers import listing

        print(listing())
        return 0
    if arguments.name is None:
        raise CallError("no page was named: expected one that --list shows")
    make_page(
        arguments.name,
        data=arguments.data,
        output=arguments.output,
        models=arguments.models,
        cache=arguments.cache,
        sections=arguments.sections or (),
        given=arguments.settings,
    )
    return 0


def make_page(
    name: str,
    *,
    data: Path | None,
    output: Path | None,
    models: Path,
    cache: Path | None = None,
    sections: Sequence[str] = (),
    given: Sequence[str] = (),
) -> None:
    """Write the page of this name."""
    from rejoinder.reproduction.cache import Cache
    from rejoinder.reproduction.inputs import Inputs
    from rejoinder.reproduction.pages import PAGES, find_page
    from rejoinder.reproduction.settings import settings_of, shown_settings

    page, own_sections = find_page(name)
    if output is None:
        raise CallError("no output was named: expected -o PAGE.md")
    if data is None and page != "papers":
        raise CallError("no data folder was given: expected --data FOLDER with judged/ and dialogues/")
    module = PAGES[page].load()
    every = tuple(module.SECTIONS)
    wanted = tuple(sections or own_sections or every)
    for section in wanted:
        if section not in every:
            raise UnknownNameError(f"section of {page}:", section, every)
    settings = settings_of(module.Settings, given)
    inputs = Inputs(data or Path(), models, Cache(cache or models / "reproduction"))
    started = time.monotonic()
    given_data = ["--data DATA"] if data else []
    shown = ["--sections", *wanted] if sections else []
    shown += [part for setting in shown_settings(settings) for part in ("--set", setting)]
    made = page if wanted == every else name
    with reserved(Output(output, (".md",))):
        document = module.make(inputs, settings, wanted)
        document.write(output, " ".join([PROGRAM, made, *given_data, *shown, f"-o {made}.md"]))
    print(one_line(f"{output}: {time.monotonic() - started:.0f} s"), file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code."""
    parser = argparse.ArgumentParser(
        prog=PROGRAM, description="Reproduces the papers' tables, with our results next to theirs."
    )
    add_arguments(parser)
    try:
        return run(parser.parse_args(arguments))
    except RejoinderError as error:
        print(f"rejoinder: {one_line(str(error))}", file=sys.stderr)
        return error.exit_code

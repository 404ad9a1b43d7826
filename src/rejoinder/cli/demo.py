"""`rejoinder demo`."""

from __future__ import annotations

import argparse
from pathlib import Path

from rejoinder.cli.output import print_json, put, say, terminal_width


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        default=".",
        help="where report.html and meta.html are written (default: the current folder)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    parser.add_argument("--quiet", action="store_true", help="no notes")


def run(arguments: argparse.Namespace) -> int:
    """Run the demo."""
    from rejoinder.cli.demo_text import REPORTS, examples_path, tell_demo
    from rejoinder.errors import CallError
    from rejoinder.folders.outputs import Output, reserved
    from rejoinder.show.text import wrapped

    folder = Path(arguments.output)
    if not folder.is_dir():
        raise CallError(f"{folder} is not a folder: expected one for the reports")
    pages = [folder / name for name in REPORTS]
    path = examples_path()
    say(f"Scoring 256 replies of four invented systems ({path}); this takes some seconds.", arguments)
    with reserved(*(Output(page, (".html",)) for page in pages), reads=[str(path)]):
        story = tell_demo(folder)
    if arguments.json:
        print_json({**story, "reports": [str(page) for page in pages]})
        return 0
    for heading, sentence in story.items():
        put(wrapped(f"{heading}: {sentence}", terminal_width()))
    put(f"\nNow open {pages[0]} and {pages[1]} in a browser. The commands behind it:")
    put(f"  rejoinder compare {path} --report {pages[0]}")
    put(f"  rejoinder trust {path} --report {pages[1]}")
    return 0

"""`rejoinder demo`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rejoinder.cli.output import print_json, put, say, terminal_width


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument(
        "lesson",
        nargs="?",
        choices=("versions", "metrics"),
        default="versions",
        help="versions: is the new version of an assistant better than the old one? (default); metrics: which metric "
        "can be trusted, and which is fooled by four invented systems?",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        default=".",
        help="where report.html, and for metrics trust.html, are written (default: the current folder)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    parser.add_argument("--quiet", action="store_true", help="no notes")


def run(arguments: argparse.Namespace) -> int:
    """Run the demo."""
    from rejoinder.cli.demo_text import REPORTS, examples_path, tell_metrics, tell_versions
    from rejoinder.errors import CallError
    from rejoinder.folders.outputs import Output, reserved

    folder = Path(arguments.output)
    if not folder.is_dir():
        raise CallError(f"{folder} is not a folder: expected one for the reports")
    if arguments.lesson == "metrics":
        tell, names, what = tell_metrics, ["demo"], "256 replies of four invented systems"
        commands = [f"compare {examples_path()} --report", f"trust {examples_path()} --report"]
    else:
        tell, names, what = tell_versions, ["assistant-old", "assistant-new"], "360 replies of two versions"
        commands = [f"compare {' '.join(str(examples_path(name)) for name in names)} --report"]
    pages = [folder / name for name in REPORTS[: len(commands)]]
    paths = [str(examples_path(name)) for name in names]
    say(f"Scoring {what} ({', '.join(paths)}); this takes some seconds.", arguments)
    with reserved(*(Output(page, (".html",)) for page in pages), reads=paths):
        story: dict[str, Any] = {**tell(folder)}
    if arguments.json:
        print_json({**story, "reports": [str(page) for page in pages]})
        return 0
    _print(story)
    put(f"\nNow open {' and '.join(map(str, pages))} in a browser. The commands behind it:")
    for command, page in zip(commands, pages, strict=True):
        put(f"  rejoinder {command} {page}")
    if arguments.lesson == "versions":
        put("Next: rejoinder demo metrics, which shows that metrics can be fooled.")
    return 0


def _print(story: dict[str, Any]) -> None:
    """Print a sentence per heading, and the replies as blocks."""
    from rejoinder.show.text import wrapped

    width = terminal_width()
    for heading, found in story.items():
        if isinstance(found, str):
            put(found if heading == "Question" else wrapped(f"{heading}: {found}", width))
            continue
        put(f"{heading}, with their scores:")
        for each in found:
            _put_indented(f'{each["what"]}. User: "{each["user"]}"', 2, width)
            for name in ("old", "new"):
                response, score = each[name].values()
                _put_indented(f'{name} ({score:.1f}): "{response}"', 4, width)


def _put_indented(text: str, indent: int, width: int) -> None:
    """Print a text in lines that are all indented."""
    from rejoinder.show.text import wrapped

    put(" " * indent + wrapped(text, width - indent - 2).replace("\n", "\n" + " " * (indent + 2)))

"""`rejoinder history runs/`, and `rejoinder history runs/ --add replies.jsonl --name 1.5.0`."""

from __future__ import annotations

import argparse
from pathlib import Path

from rejoinder.cli.options import (
    add_scoring,
    chosen_metrics,
    files_read,
    open_source,
    origin_of,
    report_outputs,
    say,
    say_skipped,
    show,
    write_report,
)
from rejoinder.threads import multiply_on_one_thread


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument("folder", help="the folder of releases; --add creates it")
    parser.add_argument(
        "--add",
        dest="replies",
        nargs="+",
        metavar="FILE",
        help="score these replies, and record the scores, without any text, as a release",
    )
    parser.add_argument("--name", metavar="NAME", help="the name of the release, such as 1.5.0")
    parser.add_argument("--report", metavar="FILE.html", help="write the history as one HTML file")
    add_scoring(parser)


def run(arguments: argparse.Namespace) -> int:
    """Record a release, where one is given, and show the history."""
    multiply_on_one_thread()
    from rejoinder.comparing.history import History, releases_in
    from rejoinder.errors import CallError
    from rejoinder.folders.outputs import reserved

    folder = Path(arguments.folder)
    if bool(arguments.replies) != bool(arguments.name):
        raise CallError("a release has replies and a name: expected --add FILE with --name NAME")
    if arguments.config and not arguments.replies:
        raise CallError("--config is for scoring: expected --add, or -m for the metrics to show")
    with reserved(*report_outputs(arguments.report), reads=files_read(arguments)):
        if arguments.replies:
            _record(folder, arguments)
        history = History.of(releases_in(folder), [] if arguments.replies else arguments.metric)
        show(history, arguments)
        if arguments.report:
            write_report(arguments, history, f"Releases in {folder}")
            say(f"report: {arguments.report}", arguments)
    return 0


def _record(folder: Path, arguments: argparse.Namespace) -> None:
    """Score the replies and write the release."""
    from rejoinder.comparing.history import new_in, release_output, release_path
    from rejoinder.comparing.release import scored_release, write_release
    from rejoinder.folders.outputs import reserved
    from rejoinder.scoring.score import choose

    path = release_path(folder, arguments.name)
    chosen = choose(chosen_metrics(arguments))
    with new_in(folder), reserved(release_output(path), reads=files_read(arguments)):
        source = open_source(origin_of(arguments.replies), arguments)
        settings = {option: getattr(arguments, option) for option in ("seed", "resamples", "jobs", "quiet")}
        release = scored_release(source, arguments.name, chosen, **settings)
        write_release(release, path)
    for note in release.table.notes:
        say(f"note: {note}", arguments)
    say_skipped(release.skipped, arguments)
    say(f"recorded {release.name}: {path}", arguments)

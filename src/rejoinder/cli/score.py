"""`rejoinder score replies.jsonl`."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from rejoinder.cli.options import (
    add_metrics,
    add_reading,
    add_running,
    chosen_metrics,
    open_source,
    print_json,
    say,
    say_skipped,
)

if TYPE_CHECKING:
    from rejoinder.data.source import Source
    from rejoinder.scoring.local import LocalRun
    from rejoinder.scoring.table import ScoreTable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument(
        "replies", help="examples: .jsonl(.gz), .csv, .tsv, .parquet, or - for JSON lines on standard input"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write a row an example: .jsonl, .csv or .parquet")
    parser.add_argument("--report", metavar="FILE.html", help="write a report that opens in any browser")
    parser.add_argument(
        "--intervals",
        action="store_true",
        help="for calibrated evaluators, also write NAME.low and NAME.high: between what people would judge a reply",
    )
    parser.add_argument("--resume", action="store_true", help="go on where an interrupted run into -o stopped")
    add_metrics(parser)
    add_reading(parser)
    add_running(parser)


def run(arguments: argparse.Namespace) -> int:
    """Score a file of replies."""
    from rejoinder.data.output import check_scores_target, check_target
    from rejoinder.data.survey import survey
    from rejoinder.errors import CallError
    from rejoinder.scoring.local import LocalRun
    from rejoinder.scoring.scorer import check_needs, load_metrics, usable_defaults, with_needs_met

    output = Path(arguments.output) if arguments.output else None
    if output:
        check_scores_target(output, inputs=[arguments.replies])
    if arguments.report:
        check_target(Path(arguments.report), (".html",))
    if arguments.resume and not output:
        raise CallError("--resume needs -o: without a file of scores there is nothing to go on from")
    if arguments.intervals and not output:
        raise CallError("--intervals needs -o: a reply's bounds go beside its score, into a file of scores")
    if output:
        _say_what_is_dropped(output, arguments)
    metrics = chosen_metrics(arguments)
    with closing(open_source(arguments.replies, arguments)) as source:
        seen = survey(source, quiet=arguments.quiet)
        metrics = metrics or load_metrics(usable_defaults(seen))
        if "all" in arguments.metric:
            metrics = with_needs_met(metrics, seen)
        check_needs(metrics, seen, source.name)
        scoring = LocalRun(
            source,
            seen,
            metrics,
            source.name,
            arguments.seed,
            arguments.resamples,
            quiet=arguments.quiet,
            intervals=arguments.intervals,
        )
        try:
            table = scoring.score(output, resume=arguments.resume)
        except KeyboardInterrupt:
            if output and Path(f"{output}.part").exists():
                say(f"what was scored so far is in {output}.part; --resume goes on from there", arguments)
            raise
        if arguments.report:
            _write_report(Path(arguments.report), table, source)
        _show(table, scoring, source, arguments)
    return 0


def _say_what_is_dropped(output: Path, arguments: argparse.Namespace) -> None:
    unfinished = Path(f"{output}.part").exists()
    if unfinished and not arguments.resume:
        say(
            f"note: starting over; {output}.part of an unfinished run is dropped (--resume would go on from it)",
            arguments,
        )
    if arguments.resume and not unfinished and output.exists():
        say(f"note: starting over; {output} is finished, so that --resume has nothing to go on from", arguments)


def _write_report(path: Path, table: ScoreTable, source: Source) -> None:
    from rejoinder.data.output import write_text
    from rejoinder.report.chosen import rows_to_show
    from rejoinder.report.html import render_report

    chosen = rows_to_show(table, seed=table.seed)
    examples = {row: example for row, example in enumerate(source) if row in chosen.needed}
    write_text(path, render_report(table, examples, title=f"Replies of {source.name}", chosen=chosen))


def _show(table: ScoreTable, scoring: LocalRun, source: Source, arguments: argparse.Namespace) -> None:
    skipped = [str(error) for error in source.skipped.values()]
    if arguments.json:
        print_json({**scoring.meta(table), "skipped": skipped})
    else:
        print(table)
    for note in table.notes:
        say(f"note: {note}", arguments)
    say_skipped(skipped, arguments)
    for what, path in (("scores", arguments.output), ("report", arguments.report)):
        if path:
            say(f"{what}: {path}", arguments)

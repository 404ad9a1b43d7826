"""`rejoinder score replies.jsonl`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rejoinder.cli.judging import add_judging, prepare_judges, show_plans
from rejoinder.cli.options import (
    add_scoring,
    chosen_metrics,
    open_source,
    print_json,
    put,
    say,
    say_skipped,
)

if TYPE_CHECKING:
    from rejoinder.data.source import Source
    from rejoinder.metrics.base import Metric
    from rejoinder.scoring.local import LocalRun
    from rejoinder.scoring.replay import Replay
    from rejoinder.scoring.table import ScoreTable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument(
        "replies", help="the replies to score: .jsonl(.gz), .csv, .tsv, .parquet, or - for JSON lines on standard input"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write one row per reply: .jsonl, .csv or .parquet")
    parser.add_argument("--report", metavar="FILE.html", help="write a report as one HTML file")
    parser.add_argument(
        "--intervals",
        action="store_true",
        help="for calibrated evaluators, also write NAME.low and NAME.high: the interval expected to contain the human "
        "score",
    )
    parser.add_argument("--resume", action="store_true", help="resume an interrupted run with the same -o")
    add_judging(parser)
    add_scoring(parser)


def run(arguments: argparse.Namespace) -> int:
    """Score a file of replies."""
    from rejoinder.data.survey import survey
    from rejoinder.scoring.choosing import choose
    from rejoinder.scoring.local import LocalRun
    from rejoinder.scoring.replay import Replay

    output = _checked_output(arguments)
    wanted = chosen_metrics(arguments)
    with closing(open_source(arguments.replies, arguments)) as source, closing(Replay(source)) as replay:
        seen = survey(source, quiet=arguments.quiet)
        chosen = choose(wanted).served_by(seen, source.name)
        if arguments.dry_run:
            return show_plans(chosen, list(source), arguments)
        prepare_judges(chosen, arguments)
        scoring = LocalRun(
            replay if arguments.report else source,
            seen,
            chosen.metrics,
            source.name,
            arguments.seed,
            arguments.resamples,
            quiet=arguments.quiet,
            intervals=arguments.intervals,
            notes=chosen.notes,
        )
        with _resumable(output, arguments):
            table = scoring.score(output, resume=arguments.resume)
        if arguments.report:
            _write_report(Path(arguments.report), table, replay, source.name, chosen.metrics)
        _show(table, scoring, source, arguments)
    return 0


def _checked_output(arguments: argparse.Namespace) -> Path | None:
    """Where the scores go; a CallError where they or the report cannot be written, before any work is done."""
    from rejoinder.data.output import check_scores_target, check_target
    from rejoinder.errors import CallError
    from rejoinder.scoring.part_file import part_path

    if arguments.report:
        check_target(Path(arguments.report), (".html",))
    if not arguments.output:
        if arguments.resume:
            raise CallError("--resume needs -o: without a score file there is nothing to resume")
        if arguments.intervals:
            raise CallError("--intervals needs -o: the bounds are written next to the scores")
        return None
    output = Path(arguments.output)
    check_scores_target(output, inputs=[arguments.replies])
    part = part_path(output)
    if part.exists() and not arguments.resume:
        say(f"note: starting over; {part} of an interrupted run is replaced (--resume would resume it)", arguments)
    if arguments.resume and not part.exists() and output.exists():
        say(f"note: starting over; {output} is finished, so there is nothing to resume", arguments)
    return output


@contextmanager
def _resumable(output: Path | None, arguments: argparse.Namespace) -> Iterator[None]:
    """On an interrupt, print how to resume."""
    from rejoinder.scoring.part_file import part_path

    try:
        yield
    except KeyboardInterrupt:
        if output and part_path(output).exists():
            say(f"the rows scored so far are in {part_path(output)}; --resume continues from there", arguments)
        raise


def _write_report(path: Path, table: ScoreTable, replay: Replay, name: str, metrics: Mapping[str, Metric]) -> None:
    from rejoinder.data.output import write_text
    from rejoinder.report.chosen import rows_to_show
    from rejoinder.report.html import render_report
    from rejoinder.report.reasons import reasons_of

    shown = rows_to_show(table, seed=table.seed)
    texts = replay.take(shown.needed)
    reasons = reasons_of(metrics, texts)
    write_text(path, render_report(table, texts, title=f"Replies of {name}", chosen=shown, reasons=reasons))


def _show(table: ScoreTable, scoring: LocalRun, source: Source, arguments: argparse.Namespace) -> None:
    skipped = [str(error) for error in source.skipped.values()]
    if arguments.json:
        print_json({**scoring.meta(table), "skipped": skipped})
    else:
        put(table)
    for note in table.notes:
        say(f"note: {note}", arguments)
    say_skipped(skipped, arguments)
    for what, path in (("scores", arguments.output), ("report", arguments.report)):
        if path:
            say(f"{what}: {path}", arguments)

"""`rejoinder score replies.jsonl`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rejoinder.cli.judging import add_judging, show_plans
from rejoinder.cli.options import (
    add_by,
    add_replies,
    add_report,
    add_scoring,
    add_unit,
    check_failed,
    chosen_metrics,
    files_read,
    origin_of,
    print_json,
    put,
    report_outputs,
    run_settings,
    say,
    say_skipped,
    terminal_width,
    write_report,
)
from rejoinder.errors import CallError
from rejoinder.threads import multiply_on_one_thread

if TYPE_CHECKING:
    from rejoinder.scoring.score import Prepared
    from rejoinder.scoring.table import ScoreTable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    add_replies(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write one row per reply: .jsonl, .csv or .parquet; with --engine ray, a folder of Parquet files",
    )
    add_unit(parser)
    add_by(parser)
    add_report(parser)
    parser.add_argument(
        "--intervals",
        action="store_true",
        help="for calibrated evaluators, also write NAME.low and NAME.high: the interval expected to contain the human "
        "score",
    )
    parser.add_argument(
        "--fail-under",
        action="append",
        default=[],
        metavar="NAME=X",
        help="a check for continuous integration: exit code 3 if a system's mean of this metric is below X, "
        "4 if the metric cannot judge these replies; may be repeated",
    )
    parser.add_argument(
        "--log",
        choices=("mlflow",),
        help="log the means in a run of MLflow, at MLFLOW_TRACKING_URI (pip install mlflow)",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="resume an interrupted run with the same -o; a finished one is left as it is; an error if its data, "
        "metrics or settings are not those of this run",
    )
    parser.add_argument(
        "--engine",
        choices=("local", "ray"),
        default="local",
        help="local: this machine (default); ray: the cluster of RAY_ADDRESS, or a Ray that is started on this "
        "machine, from .parquet or .jsonl files into a folder (docs/guide/score-at-scale.md)",
    )
    add_judging(parser)
    add_scoring(parser)


def run(arguments: argparse.Namespace) -> int:
    """Score a file of replies."""
    multiply_on_one_thread()
    from rejoinder.scoring.score import choose, prepared
    from rejoinder.scoring.table import Threshold, failures, undecided

    _check_log(arguments.log)
    if arguments.intervals and arguments.output is None:
        raise CallError("--intervals needs -o: the bounds are written next to the scores")
    thresholds = [Threshold.parse(text) for text in arguments.fail_under]
    with prepared(
        origin_of(arguments.replies),
        choose(chosen_metrics(arguments)),
        output=arguments.output,
        resume=arguments.resume,
        engine=arguments.engine,
        unit=arguments.unit,
        intervals=arguments.intervals,
        max_cost=arguments.max_cost,
        reads=files_read(arguments),
        beside=report_outputs(arguments.report),
        say=lambda message: say(message, arguments),
        option="--resume",
        **run_settings(arguments),
    ) as ready:
        for threshold in thresholds:
            threshold.check_metric(ready.run.metrics)
        if arguments.dry_run:
            return show_plans(ready.run.metrics, list(ready.source), arguments)
        if ready.is_finished:
            ready.check_finished()
            say(f"{arguments.output} is finished: there is nothing left to do", arguments)
            if not (arguments.report or arguments.log or arguments.fail_under or arguments.json):
                return 0
        if arguments.report and (replies := ready.run.replies) is not None:
            replies.copies = True  # cheaper than to parse the replies once more for the report
        table = ready.table()
        if arguments.report:
            write_report(arguments, table, f"Replies of {ready.source.name}")
    if arguments.log:
        from rejoinder.adapters.mlflow import log_scores

        log_scores(table)
    failed, unsettled = failures(thresholds, table), undecided(thresholds, table)
    _show(table, ready, arguments, {"failed_checks": failed, "undecided_checks": unsettled})
    return check_failed(failed, unsettled)


def _check_log(log: str | None) -> None:
    """Raise a CallError, before anything is scored, where the package that logs is absent."""
    from importlib.util import find_spec

    if log and find_spec(log) is None:
        raise CallError(f"--log {log} needs a package that is not installed: pip install {log}")


def _show(
    table: ScoreTable, ready: Prepared, arguments: argparse.Namespace, checks: Mapping[str, Sequence[str]]
) -> None:
    from rejoinder.scoring.advice import meaning
    from rejoinder.show.text import wrapped

    skipped, is_new = [str(error) for error in ready.source.skipped.values()], not ready.is_finished
    if arguments.json:
        print_json({**ready.run.meta(table), "skipped": skipped, **(checks if arguments.fail_under else {})})
    elif is_new:
        put(table.text(terminal_width()))
        for sentence in meaning(table):
            put(wrapped(sentence, terminal_width()))
    for note in table.notes:
        say(f"note: {note}", arguments)
    say_skipped(skipped, arguments)
    for what, path in (("scores", arguments.output if is_new else None), ("report", arguments.report)):
        if path:
            say(f"{what}: {path}", arguments)

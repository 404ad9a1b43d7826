"""`rejoinder score replies.jsonl`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from rejoinder.cli.engines import choose_metrics, prepared_local, prepared_ray
from rejoinder.cli.judging import add_judging, prepare_judges, show_plans
from rejoinder.cli.options import (
    add_by,
    add_replies,
    add_report,
    add_scoring,
    check_failed,
    files_read,
    open_source,
    origin_of,
    print_json,
    put,
    report_outputs,
    say,
    say_skipped,
    terminal_width,
    write_report,
)
from rejoinder.threads import multiply_on_one_thread

if TYPE_CHECKING:
    from rejoinder.data.source import Source
    from rejoinder.scoring.run import ScoringRun
    from rejoinder.scoring.score import Target
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
    from rejoinder.folders.outputs import reserved
    from rejoinder.scoring.table import Threshold, failures, undecided

    _check_log(arguments.log)
    target, thresholds = _target(arguments), [Threshold.parse(text) for text in arguments.fail_under]
    with ExitStack() as stack:
        outputs = [] if target is None else [target.output]
        stack.enter_context(reserved(*outputs, *report_outputs(arguments.report), reads=files_read(arguments)))
        finished = target if target is not None and arguments.resume and target.is_finished else None
        _say_start(target, arguments)
        wanted = choose_metrics(arguments)
        source = stack.enter_context(closing(open_source(origin_of(arguments.replies), arguments)))
        prepare = prepared_ray if arguments.engine == "ray" else prepared_local
        prepared = prepare(source, wanted, arguments, stack)
        for threshold in thresholds:
            threshold.check_metric(prepared.chosen.metrics)
        if arguments.dry_run:
            return show_plans(prepared.chosen, list(source), arguments)
        if finished is not None:
            finished.check_finished(prepared.run.identity())
            say(f"{finished.path} is finished: there is nothing left to do", arguments)
            if not (arguments.report or arguments.log or arguments.fail_under or arguments.json):
                return 0
            table = prepared.run.finished_table(finished.read())
        else:
            prepare_judges(prepared.chosen, arguments)
            with _resumable(target, arguments):
                table = prepared.score(target.path if target else None)
        if arguments.report:
            table = replace(table, replies=prepared.texts, reasoning=prepared.chosen.metrics)
            write_report(arguments, table, f"Replies of {source.name}")
        if arguments.log:
            _log(table)
        failed, unsettled = failures(thresholds, table), undecided(thresholds, table)
        checks = {"failed_checks": failed, "undecided_checks": unsettled}
        _show(table, prepared.run, source, arguments, checks, is_new=finished is None)
    return check_failed(failed, unsettled)


def _target(arguments: argparse.Namespace) -> Target | None:
    """Where the scores go; a CallError for options that need such a place where there is none."""
    from rejoinder.errors import CallError
    from rejoinder.folders.outputs import output_path
    from rejoinder.scoring.score import FileTarget, FolderTarget

    if arguments.output is not None:
        path = output_path(arguments.output)
        return FolderTarget(path) if arguments.engine == "ray" else FileTarget(path)
    if arguments.engine == "ray":
        raise CallError("--engine ray needs -o: the folder that the scores are written into")
    if arguments.resume:
        raise CallError("--resume needs -o: without a score file there is nothing to resume")
    if arguments.intervals:
        raise CallError("--intervals needs -o: the bounds are written next to the scores")
    return None


def _say_start(target: Target | None, arguments: argparse.Namespace) -> None:
    """Say that an earlier run into the same place is not continued."""
    if target is None or arguments.resume:
        return
    if (left := target.unfinished) is not None:
        say(f"note: starting over; {left} of an interrupted run is replaced (--resume would resume it)", arguments)


@contextmanager
def _resumable(target: Target | None, arguments: argparse.Namespace) -> Iterator[None]:
    """On an interrupt, print how to resume."""
    try:
        yield
    except KeyboardInterrupt:
        if target is not None and (left := target.unfinished) is not None:
            say(f"the rows scored so far are in {left}; --resume continues from there", arguments)
        raise


def _check_log(log: str | None) -> None:
    """Raise a CallError, before anything is scored, where the package that logs is absent."""
    from importlib.util import find_spec

    from rejoinder.errors import CallError

    if log and find_spec(log) is None:
        raise CallError(f"--log {log} needs a package that is not installed: pip install {log}")


def _log(table: ScoreTable) -> None:
    from rejoinder.adapters.mlflow import log_scores

    log_scores(table)


def _show(
    table: ScoreTable,
    scoring: ScoringRun,
    source: Source,
    arguments: argparse.Namespace,
    checks: Mapping[str, Sequence[str]],
    *,
    is_new: bool,
) -> None:
    from rejoinder.scoring.advice import meaning
    from rejoinder.show.text import wrapped

    skipped = [str(error) for error in source.skipped.values()]
    if arguments.json:
        print_json({**scoring.meta(table), "skipped": skipped, **(checks if arguments.fail_under else {})})
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

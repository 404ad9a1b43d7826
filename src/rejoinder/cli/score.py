"""`rejoinder score replies.jsonl`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rejoinder.cli.judging import add_judging, prepare_judges, show_plans
from rejoinder.cli.options import (
    add_by,
    add_jobs,
    add_replies,
    add_report,
    add_scoring,
    check_failed,
    chosen_metrics,
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
    from rejoinder.output.targets import Output
    from rejoinder.scoring.engines.local import LocalRun
    from rejoinder.scoring.table import ScoreTable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    add_replies(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="write one row per reply: .jsonl, .csv or .parquet")
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
        help="a check for continuous integration: exit code 3 if a system's mean of this metric is below X; "
        "may be repeated",
    )
    parser.add_argument(
        "--log",
        choices=("mlflow",),
        help="log the means in a run of MLflow, at MLFLOW_TRACKING_URI (pip install mlflow)",
    )
    parser.add_argument("--resume", action="store_true", help="resume an interrupted run with the same -o")
    add_jobs(parser)
    add_judging(parser)
    add_scoring(parser)


def run(arguments: argparse.Namespace) -> int:
    """Score a file of replies."""
    multiply_on_one_thread()
    from rejoinder.data.survey import survey
    from rejoinder.output.targets import reserved
    from rejoinder.scoring.choosing import choose
    from rejoinder.scoring.engines.local import LocalRun
    from rejoinder.scoring.replay import Replay
    from rejoinder.scoring.thresholds import Threshold, failures

    _check_log(arguments.log)
    output, thresholds = _output(arguments), [Threshold.parse(text) for text in arguments.fail_under]
    with ExitStack() as stack:
        stack.enter_context(reserved(*_outputs(output, arguments), reads=files_read(arguments)))
        if output is not None and arguments.resume and _finished(output):
            say(f"{output} is finished: there is nothing to resume (without --resume it is scored again)", arguments)
            return 0
        _say_start(output, arguments)
        wanted = chosen_metrics(arguments)
        source = stack.enter_context(closing(open_source(origin_of(arguments.replies), arguments)))
        replay = stack.enter_context(closing(Replay(source)))
        seen = survey(source, quiet=arguments.quiet)
        chosen = choose(wanted).served_by(seen, source.name)
        for threshold in thresholds:
            threshold.check_metric(chosen.metrics)
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
            by=tuple(arguments.by),
            jobs=arguments.jobs,
        )
        with _resumable(output, arguments):
            table = scoring.score(output, resume=arguments.resume)
        if arguments.report:
            write_report(arguments, table, replay, title=f"Replies of {source.name}", metrics=chosen.metrics)
        if arguments.log:
            _log(table)
        failed = failures(thresholds, table)
        _show(table, scoring, source, arguments, failed)
    return check_failed(failed)


def _output(arguments: argparse.Namespace) -> Path | None:
    """Where the scores go; a CallError for options that need such a file where there is none."""
    from rejoinder.errors import CallError
    from rejoinder.output.targets import output_path

    if arguments.output is not None:
        return output_path(arguments.output)
    if arguments.resume:
        raise CallError("--resume needs -o: without a score file there is nothing to resume")
    if arguments.intervals:
        raise CallError("--intervals needs -o: the bounds are written next to the scores")
    return None


def _outputs(output: Path | None, arguments: argparse.Namespace) -> list[Output]:
    from rejoinder.scoring.score_output import score_output

    return [*([] if output is None else [score_output(output)]), *report_outputs(arguments.report)]


def _finished(output: Path) -> bool:
    """Whether the file is there and no rows of an interrupted run are."""
    from rejoinder.output.unfinished import UnfinishedRows

    return output.exists() and not UnfinishedRows(output).exist()


def _say_start(output: Path | None, arguments: argparse.Namespace) -> None:
    """Say that an earlier run into the same file is not continued."""
    from rejoinder.output.unfinished import UnfinishedRows

    if output is None:
        return
    part = UnfinishedRows(output)
    if part.exist() and not arguments.resume:
        say(f"note: starting over; {part.rows} of an interrupted run is replaced (--resume would resume it)", arguments)


@contextmanager
def _resumable(output: Path | None, arguments: argparse.Namespace) -> Iterator[None]:
    """On an interrupt, print how to resume."""
    from rejoinder.output.unfinished import UnfinishedRows

    try:
        yield
    except KeyboardInterrupt:
        if output is not None and UnfinishedRows(output).rows.exists():
            rows = UnfinishedRows(output).rows
            say(f"the rows scored so far are in {rows}; --resume continues from there", arguments)
        raise


def _check_log(log: str | None) -> None:
    """Raise a CallError, before anything is scored, where the package that logs is absent."""
    from importlib.util import find_spec

    from rejoinder.errors import CallError

    if log and find_spec(log) is None:
        raise CallError(f"--log {log} needs a package that is not installed: pip install {log}")


def _log(table: ScoreTable) -> None:
    from rejoinder.integrations.mlflow import log_scores

    log_scores(table)


def _show(
    table: ScoreTable, scoring: LocalRun, source: Source, arguments: argparse.Namespace, failed: list[str]
) -> None:
    from rejoinder.scoring.meaning import meaning
    from rejoinder.text.grid import wrapped

    skipped = [str(error) for error in source.skipped.values()]
    if arguments.json:
        checks = {"failed_checks": failed} if arguments.fail_under else {}
        print_json({**scoring.meta(table), "skipped": skipped, **checks})
    else:
        put(table.text(terminal_width()))
        for sentence in meaning(table):
            put(wrapped(sentence, terminal_width()))
    for note in table.notes:
        say(f"note: {note}", arguments)
    say_skipped(skipped, arguments)
    for what, path in (("scores", arguments.output), ("report", arguments.report)):
        if path:
            say(f"{what}: {path}", arguments)

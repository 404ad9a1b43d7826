"""`rejoinder meta judged.jsonl`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rejoinder.cli.judging import add_max_cost
from rejoinder.cli.options import (
    add_scoring,
    add_unit,
    chosen_metrics,
    files_read,
    put,
    report_outputs,
    run_settings,
    say,
    say_notes,
    show,
    write_report,
)
from rejoinder.errors import CallError
from rejoinder.threads import multiply_on_one_thread

if TYPE_CHECKING:
    from rejoinder.show.document import Result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument(
        "judged",
        nargs="+",
        help="rated replies: a file whose records also have human `scores`; with several files, each metric's "
        "correlations are pooled over them",
    )
    parser.add_argument(
        "--scores",
        action="append",
        default=[],
        metavar="FILE",
        help="scores that `score -o` wrote; may be repeated",
    )
    parser.add_argument("--dimension", metavar="NAME", help="the dimension that was rated, or 'all' (default: overall)")
    parser.add_argument(
        "--study",
        action="append",
        default=[],
        metavar="NAME",
        help="also run a study, or 'all' of them; may be repeated",
    )
    parser.add_argument(
        "--remove-outliers", action="store_true", help="drop ratings that are far from the median rating of their reply"
    )
    add_unit(parser)
    parser.add_argument("--report", metavar="FILE.html", help="write tables and figures as one HTML file")
    add_max_cost(parser.add_argument_group("judges (language models)"))
    add_scoring(parser, latex=True)


def run(arguments: argparse.Namespace) -> int:
    """Compare metrics with human ratings."""
    multiply_on_one_thread()
    from rejoinder.folders.outputs import reserved

    with reserved(*report_outputs(arguments.report), reads=files_read(arguments)):
        if len(arguments.judged) > 1:
            _over_several_sets(arguments)
        else:
            _over_one_set(arguments)
    if arguments.report:
        say(f"report: {arguments.report}", arguments)
    return 0


def _over_one_set(arguments: argparse.Namespace) -> None:
    from rejoinder.trust.trust import meta_evaluate

    report = meta_evaluate(
        arguments.judged[0],
        chosen_metrics(arguments),
        scores=arguments.scores,
        dimension=arguments.dimension,
        studies=_studies(arguments),
        remove_outliers=arguments.remove_outliers,
        unit=arguments.unit,
        max_cost=arguments.max_cost,
        **run_settings(arguments),
    )
    _show(report, arguments)


def _over_several_sets(arguments: argparse.Namespace) -> None:
    from rejoinder.trust.pooled import meta_analyse

    if arguments.scores or arguments.study:
        option = "--scores" if arguments.scores else "--study"
        raise CallError(f"{option} needs a single file of judged replies, found {len(arguments.judged)}")
    analysis = meta_analyse(
        *arguments.judged,
        metrics=chosen_metrics(arguments),
        max_cost=arguments.max_cost,
        dimension=arguments.dimension,
        remove_outliers=arguments.remove_outliers,
        unit=arguments.unit,
        **run_settings(arguments),
    )
    _show(analysis, arguments)


def _show(result: Result, arguments: argparse.Namespace) -> None:
    if arguments.report:
        write_report(arguments, result)
    if arguments.latex:
        put(result.to_latex())
        say_notes(result, arguments)
    else:
        show(result, arguments)


def _studies(arguments: argparse.Namespace) -> list[str]:
    """The studies that were asked for; a report also has a scatter plot of every metric against human ratings."""
    asked: list[str] = arguments.study
    return [*asked, "scatter"] if arguments.report and not {"all", "scatter"} & set(asked) else asked

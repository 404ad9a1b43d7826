"""`rejoinder plan pilot.jsonl --difference 0.3`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rejoinder.cli.options import (
    add_reading,
    field_map,
    files_read,
    positive,
    put,
    report_outputs,
    say,
    show,
    write_report,
)
from rejoinder.errors import CallError

if TYPE_CHECKING:
    from rejoinder.people.plan import Plan, PrecisionPlan


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument(
        "pilot",
        nargs="*",
        help="judged replies of two or more systems, with several raters if possible; with -m, files of replies that "
        "the metric scores; leave it out if --sd states the spread",
    )
    parser.add_argument(
        "--difference", type=float, metavar="D", help="the smallest difference between two systems that would matter"
    )
    parser.add_argument("-m", "--metric", metavar="NAME", help="plan for the scores of this metric, not for ratings")
    parser.add_argument("--dimension", metavar="NAME", help="the dimension that was rated (default: overall)")
    parser.add_argument("--systems", type=positive, default=2, metavar="K", help="systems to compare (default: 2)")
    parser.add_argument("--contexts", type=positive, metavar="N", help="the largest number of contexts available")
    parser.add_argument(
        "--power", type=float, default=0.8, help="probability of detecting the difference (default: %(default)s)"
    )
    parser.add_argument("--alpha", type=float, default=0.05, help="significance level (default: %(default)s)")
    stated = parser.add_argument_group("without a pilot")
    stated.add_argument(
        "--sd", type=float, help="standard deviation over contexts of the true difference between two systems"
    )
    stated.add_argument("--rater-sd", type=float, metavar="SD", help="standard deviation of ratings of one reply")
    stated.add_argument(
        "--icc", type=float, help="in place of --rater-sd: the intraclass correlation of single ratings"
    )
    precision = parser.add_argument_group("an interval instead of a comparison")
    precision.add_argument("--agreement", type=float, metavar="A", help="expected Krippendorff's alpha of the raters")
    precision.add_argument(
        "--correlation", type=float, metavar="R", help="expected correlation of a metric with people"
    )
    precision.add_argument(
        "--kind",
        choices=("pearson", "spearman", "kendall"),
        default="spearman",
        help="the kind of correlation (default: %(default)s)",
    )
    precision.add_argument(
        "--width", type=float, default=0.2, help="the width that the 95 %% interval should have (default: %(default)s)"
    )
    add_reading(parser)
    parser.add_argument("--report", metavar="FILE.html", help="write the plan and its curve as one HTML file")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    parser.add_argument("--latex", action="store_true", help="print a LaTeX table")
    parser.add_argument("--quiet", action="store_true", help="no progress bar and no notes")


def run(arguments: argparse.Namespace) -> int:
    """Print what to collect."""
    for_interval = arguments.agreement is not None or arguments.correlation is not None
    result = _precision(arguments) if for_interval else _comparison(arguments)
    if arguments.latex and not arguments.json:
        put(result.to_latex())
    else:
        show(result, arguments)
    if arguments.report:
        say(f"report: {arguments.report}", arguments)
    return 0


def _precision(arguments: argparse.Namespace) -> PrecisionPlan:
    from rejoinder.people.plan import plan_precision

    for name in ("pilot", "difference", "report"):
        if getattr(arguments, name):
            given = "a pilot" if name == "pilot" else f"--{name}"
            raise CallError(f"{given} is for a comparison of systems, not for --agreement or --correlation")
    return plan_precision(
        agreement=arguments.agreement, correlation=arguments.correlation, width=arguments.width, kind=arguments.kind
    )


def _comparison(arguments: argparse.Namespace) -> Plan:
    from rejoinder.folders.outputs import reserved
    from rejoinder.people.plan import plan

    if arguments.difference is None:
        raise CallError("plan needs the smallest difference that would matter: --difference D")
    names = ("difference", "metric", "dimension", "sd", "rater_sd", "icc", "systems", "contexts", "power", "alpha")
    with reserved(*report_outputs(arguments.report), reads=files_read(arguments)):
        result = plan(
            *arguments.pilot,
            **{name: getattr(arguments, name) for name in (*names, "on_error", "quiet")},
            fields=field_map(arguments),
        )
        if arguments.report:
            write_report(arguments, result)
    return result

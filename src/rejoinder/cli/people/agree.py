"""`rejoinder agree ratings.jsonl`."""

from __future__ import annotations

import argparse

from rejoinder.cli.options import add_reading, add_running, field_map, say, show
from rejoinder.errors import CallError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument(
        "ratings", help="judged replies, or a table with one row per rating: id, system, rater, dimension, score, time"
    )
    parser.add_argument("--replies", metavar="FILE", help="the replies that were rated, where the table has only ids")
    parser.add_argument("--dimension", metavar="NAME", help="the dimension that was rated (default: all)")
    parser.add_argument(
        "--level",
        choices=("nominal", "ordinal", "interval"),
        default="interval",
        help="the level of measurement of the scores, for Krippendorff's alpha (default: %(default)s)",
    )
    filters = parser.add_argument_group("filters")
    filters.add_argument(
        "--least-kappa",
        type=float,
        metavar="K",
        help="leave out raters whose median kappa with the others is below this (0.2 in the papers)",
    )
    filters.add_argument(
        "--mad",
        type=float,
        nargs="?",
        const=1.0,
        metavar="N",
        help="leave out ratings more than N scaled median absolute deviations from their reply's median (N: 1)",
    )
    output = parser.add_argument_group("one score per reply")
    output.add_argument(
        "--aggregate",
        choices=("mean", "normalised", "dawid-skene", "mace"),
        help="the mean; the mean of z-scores of each rater; models of raters' errors (default: mean, with -o)",
    )
    output.add_argument("-o", "--output", metavar="FILE.jsonl", help="write judged replies with these scores")
    add_reading(parser)
    add_running(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure agreement, print it, and write one score per reply."""
    from rejoinder.people.agreement import agreement

    if arguments.aggregate and not arguments.output:
        raise CallError("--aggregate needs -o, the file to write the scores to")
    report = agreement(
        arguments.ratings,
        replies=arguments.replies,
        dimension=arguments.dimension,
        level=arguments.level,
        least_kappa=arguments.least_kappa,
        mad=arguments.mad,
        aggregation=(arguments.aggregate or "mean") if arguments.output else None,
        fields=field_map(arguments),
        on_error=arguments.on_error,
        seed=arguments.seed,
        resamples=arguments.resamples,
        output=arguments.output,
    )
    show(report, arguments)
    if arguments.output:
        say(f"judged replies: {arguments.output} (rejoinder meta {arguments.output})", arguments)
    return 0

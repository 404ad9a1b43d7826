"""`rejoinder compare a.jsonl b.jsonl`."""

from __future__ import annotations

import argparse

from rejoinder.cli.options import (
    add_metrics,
    add_reading,
    add_running,
    chosen_metrics,
    field_map,
    print_json,
    say,
    say_skipped,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument("replies", nargs="+", help="a file a system, or one file that holds several systems")
    parser.add_argument(
        "--pair-by",
        metavar="FIELD",
        help="the field whose equal values pair the replies of several systems "
        "(default: context_id, else equal context and references)",
    )
    labels = parser.add_argument_group("with a few human labels")
    labels.add_argument(
        "--labels",
        metavar="FILE",
        help="human scores of some replies (id, system, scores): also tell what people would say of all; the labelled "
        "replies must be a random sample of the replies",
    )
    labels.add_argument("--dimension", metavar="NAME", help="what was judged (default: the overall one)")
    labels.add_argument(
        "--predictor", metavar="METRIC", help="the metric that is joined with the labels (default: the first one)"
    )
    parser.add_argument("--latex", action="store_true", help="print a LaTeX table")
    add_metrics(parser)
    add_reading(parser)
    add_running(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compare systems."""
    from rejoinder.meta.compare import compare

    comparison = compare(
        *arguments.replies,
        metrics=chosen_metrics(arguments),
        pair_by=arguments.pair_by,
        labels=arguments.labels,
        dimension=arguments.dimension,
        predictor=arguments.predictor,
        fields=field_map(arguments),
        on_error=arguments.on_error,
        seed=arguments.seed,
        resamples=arguments.resamples,
        quiet=arguments.quiet,
    )
    if arguments.json:
        print_json(comparison.to_dict())
    else:
        print(comparison.to_latex() if arguments.latex else comparison)
    for note in (*comparison.table.notes, *comparison.notes):
        say(f"note: {note}", arguments)
    say_skipped(comparison.skipped, arguments)
    return 0

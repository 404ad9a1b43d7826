"""`rejoinder compare a.jsonl b.jsonl`."""

from __future__ import annotations

import argparse

from rejoinder.cli.judging import add_judging, plan_comparison, prepare_judges
from rejoinder.cli.options import add_scoring, chosen_metrics, print_json, put, run_settings, say, say_skipped
from rejoinder.cli.pairwise import run_pairwise


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument("replies", nargs="+", help="one file per system, or one file with several systems")
    parser.add_argument(
        "--pair-by",
        metavar="FIELD",
        help="pair the replies of different systems by equal values of this field "
        "(default: context_id, else equal context and references)",
    )
    parser.add_argument(
        "--pairwise",
        metavar="JUDGE",
        help="ask a judge which of two replies to one context is better, in both orders, instead of scoring each: "
        "--pairwise 'judge(model=..., url=...)'",
    )
    labels = parser.add_argument_group("with a few human labels")
    labels.add_argument(
        "--labels",
        metavar="FILE",
        help="human scores of some replies (id, system, scores), from which the human means of all replies are "
        "estimated; the labelled replies must be a random sample of the replies",
    )
    labels.add_argument("--dimension", metavar="NAME", help="the dimension that was rated (default: overall)")
    labels.add_argument(
        "--predictor", metavar="METRIC", help="the metric that the labels are combined with (default: the first one)"
    )
    parser.add_argument("--latex", action="store_true", help="print a LaTeX table")
    add_judging(parser)
    add_scoring(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compare systems."""
    from rejoinder.meta.compare import compare

    if arguments.pairwise is not None:
        return run_pairwise(arguments)
    chosen = chosen_metrics(arguments)
    if arguments.dry_run:
        return plan_comparison(chosen, arguments)
    prepare_judges(chosen, arguments)
    comparison = compare(
        *arguments.replies,
        metrics=chosen,
        pair_by=arguments.pair_by,
        labels=arguments.labels,
        dimension=arguments.dimension,
        predictor=arguments.predictor,
        **run_settings(arguments),
    )
    if arguments.json:
        print_json(comparison.to_dict())
    else:
        put(comparison.to_latex() if arguments.latex else comparison)
    for note in (*comparison.table.notes, *comparison.notes):
        say(f"note: {note}", arguments)
    say_skipped(comparison.skipped, arguments)
    return 0

"""`rejoinder compare a.jsonl b.jsonl`."""

from __future__ import annotations

import argparse

from rejoinder.cli.options import (
    add_scoring,
    check_failed,
    chosen_metrics,
    origin_of,
    print_json,
    put,
    run_settings,
    say,
    say_skipped,
    terminal_width,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument("replies", nargs="*", help="one file per system, or one file with several systems")
    parser.add_argument(
        "--primary",
        metavar="METRIC",
        help="the metric that decides which system is better; the others are secondary evidence "
        "(default: the first -m, else default, else the first that the data allow)",
    )
    parser.add_argument(
        "--margin",
        type=float,
        metavar="X",
        help="differences below X do not matter: also test whether the systems are equivalent, or one no worse than "
        "the other, within X (in units of the primary metric; with --labels, of the labels)",
    )
    parser.add_argument(
        "--scores",
        nargs="+",
        metavar="FILE",
        help="compare numbers that exist already, without texts: a table of id, system and columns of numbers, such as "
        "human ratings, or result files of Inspect or lm-eval; -m names columns (default: all that hold "
        "only numbers)",
    )
    parser.add_argument(
        "--pair-by",
        metavar="FIELD",
        help="pair the replies of different systems by equal values of this field "
        "(default: context_id, else equal context and references; with --scores: context_id, else id)",
    )
    parser.add_argument(
        "--cluster",
        metavar="FIELD",
        help="replies with equal values of this field are not independent, and are resampled and permuted together "
        "(default: dialogue_id, else contexts that continue each other)",
    )
    labels = parser.add_argument_group("with a few human labels")
    labels.add_argument(
        "--labels",
        metavar="FILE",
        help="human scores of some replies (id, system, scores), from which the human means of all replies are "
        "estimated; the labelled replies must be a random sample of the replies, or chosen by `rejoinder sample`",
    )
    labels.add_argument("--dimension", metavar="NAME", help="the dimension that was rated (default: overall)")
    labels.add_argument(
        "--predictor", metavar="METRIC", help="the metric that the labels are combined with (default: the primary one)"
    )
    parser.add_argument(
        "--fail-if",
        choices=("worse", "not-better"),
        help="a check for continuous integration: exit code 3 if the second system is significantly worse than the "
        "first, or is not significantly better; with --margin, `worse` fails unless the second system is shown to be "
        "no worse than the first by the margin or more",
    )
    parser.add_argument("--details", action="store_true", help="print all comparisons with effect sizes, and rankings")
    parser.add_argument("--latex", action="store_true", help="print a LaTeX table")
    add_scoring(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compare systems."""
    from rejoinder.meta.compare import compare
    from rejoinder.meta.gate import gate

    columns = arguments.metric or None
    comparison = compare(
        *arguments.replies,
        metrics=chosen_metrics(arguments) if arguments.scores is None else columns,
        primary=arguments.primary,
        margin=arguments.margin,
        scores=origin_of(arguments.scores) if arguments.scores else None,
        pair_by=arguments.pair_by,
        cluster=arguments.cluster,
        labels=arguments.labels,
        dimension=arguments.dimension,
        predictor=arguments.predictor,
        **run_settings(arguments),
    )
    checked = gate(comparison, arguments.fail_if) if arguments.fail_if else None
    if arguments.json:
        print_json(comparison.to_dict() | ({"check": checked.to_dict()} if checked else {}))
    elif arguments.latex:
        put(comparison.to_latex())
    else:
        put(comparison.text(terminal_width(), details=arguments.details))
    for note in (*comparison.table.notes, *comparison.notes):
        say(f"note: {note}", arguments)
    say_skipped(comparison.skipped, arguments)
    return check_failed([checked.reason] if checked and not checked.passed else [])

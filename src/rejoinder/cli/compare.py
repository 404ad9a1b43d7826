"""`rejoinder compare a.jsonl b.jsonl`."""

from __future__ import annotations

import argparse

from rejoinder.cli.judging import add_judging, plan_comparison
from rejoinder.cli.options import (
    add_by,
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
from rejoinder.cli.pairwise import run_pairwise
from rejoinder.errors import CallError
from rejoinder.threads import multiply_on_one_thread


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument(
        "replies", nargs="*", help="one file per system, a folder of such files, or one file with several systems"
    )
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
        "human ratings, or result files of Inspect, lm-eval or promptfoo; -m names columns (default: all "
        "that hold only numbers)",
    )
    parser.add_argument(
        "--baseline",
        metavar="FOLDER",
        help="compare the replies with a release that `rejoinder history` recorded: the last one of a folder, or that "
        "of a file in it (FOLDER/1.4.0.jsonl); without -m, by the metrics of that release",
    )
    _add_pairing(parser)
    parser.add_argument(
        "--pairwise",
        metavar="JUDGE",
        help="ask a judge which of two replies to one context is better, in both orders, instead of scoring each: "
        "--pairwise 'judge(model=..., url=...)'",
    )
    _add_labels(parser)
    parser.add_argument(
        "--fail-if",
        choices=("worse", "not-better"),
        help="a check for continuous integration: exit code 3 if the second system is significantly worse than the "
        "first, or is not significantly better; with --margin, `worse` fails unless the second system is shown to be "
        "no worse than the first by the margin or more; exit code 4 if the metric cannot judge these replies",
    )
    parser.add_argument("--details", action="store_true", help="print all comparisons with effect sizes, and rankings")
    add_unit(parser)
    add_by(parser)
    add_report(parser)
    add_judging(parser)
    add_scoring(parser, latex=True)


def _add_pairing(parser: argparse.ArgumentParser) -> None:
    """Which replies belong together."""
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


def _add_labels(parser: argparse.ArgumentParser) -> None:
    """Human scores of a sample."""
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


def run(arguments: argparse.Namespace) -> int:
    """Compare systems."""
    multiply_on_one_thread()
    from rejoinder.comparing.compare import compare
    from rejoinder.comparing.verdict import gate
    from rejoinder.folders.outputs import reserved
    from rejoinder.scoring.run import judges_limited

    if arguments.pairwise is not None:
        if arguments.baseline is not None:
            raise CallError("--pairwise cannot be used with --baseline: expected one of them")
        return run_pairwise(arguments)
    chosen = chosen_metrics(arguments) if not arguments.scores else None
    if arguments.dry_run:
        return plan_comparison(chosen, arguments)
    with reserved(*report_outputs(arguments.report), reads=files_read(arguments)):
        comparison = compare(
            *arguments.replies,
            metrics=chosen if not arguments.scores else arguments.metric or None,
            primary=arguments.primary,
            margin=arguments.margin,
            scores=origin_of(arguments.scores) if arguments.scores else None,
            baseline=arguments.baseline,
            pair_by=arguments.pair_by,
            cluster=arguments.cluster,
            unit=arguments.unit,
            labels=arguments.labels,
            dimension=arguments.dimension,
            predictor=arguments.predictor,
            by=arguments.by,
            max_cost=arguments.max_cost,
            **run_settings(arguments),
        )
        if arguments.report:
            judges = comparison.metrics
            with judges_limited(judges.values(), arguments.max_cost if judges else None, quiet=arguments.quiet):
                write_report(arguments, comparison, ", ".join(arguments.replies or arguments.scores))
    checked = gate(comparison, arguments.fail_if) if arguments.fail_if else None
    if arguments.json:
        print_json(comparison.to_dict() | ({"check": checked.to_dict()} if checked else {}))
    elif arguments.latex:
        put(comparison.to_latex())
    else:
        put(comparison.text(terminal_width(), details=arguments.details))
    for note in comparison.notes:
        say(f"note: {note}", arguments)
    say_skipped(comparison.skipped, arguments)
    if arguments.report:
        say(f"report: {arguments.report}", arguments)
    if checked is None or checked.passed:
        return 0
    return check_failed([checked.reason]) if checked.decided else check_failed([], [checked.reason])

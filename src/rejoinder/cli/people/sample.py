"""`rejoinder sample replies.jsonl --labels 200 -o to_label.jsonl`."""

from __future__ import annotations

import argparse

from rejoinder.cli.options import add_reading, add_seed, field_map, positive, say, show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument("replies", help="the replies of one or more systems")
    parser.add_argument(
        "--labels",
        type=positive,
        required=True,
        metavar="N",
        help="how many replies to choose, of all systems together",
    )
    parser.add_argument("--scores", metavar="FILE", help="scores of these replies, which `score -o` wrote")
    parser.add_argument(
        "--design",
        choices=("random", "stratified", "active"),
        help="random: equal probabilities; stratified: by strata of the score; active: in proportion to the length of "
        "the score's interval (default: active if the scores have intervals, stratified for other scores, random "
        "without scores)",
    )
    parser.add_argument("--predictor", metavar="METRIC", help="which of the scores to use (default: the first)")
    parser.add_argument(
        "--pilot",
        metavar="FILE",
        help="human scores of some of the replies: strata in which the metric predicts them badly get more labels",
    )
    parser.add_argument("--dimension", metavar="NAME", help="the dimension that the pilot rated (default: overall)")
    parser.add_argument("-o", "--output", required=True, metavar="FILE.jsonl", help="file to write the replies to")
    add_reading(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    add_seed(parser)
    parser.add_argument("--quiet", action="store_true", help="show no notes")


def run(arguments: argparse.Namespace) -> int:
    """Choose replies, write them, and print how many of each system."""
    from rejoinder.people.sample import sample

    chosen = sample(
        arguments.replies,
        arguments.labels,
        scores=arguments.scores,
        design=arguments.design,
        predictor=arguments.predictor,
        pilot=arguments.pilot,
        dimension=arguments.dimension,
        fields=field_map(arguments),
        on_error=arguments.on_error,
        seed=arguments.seed,
        output=arguments.output,
    )
    show(chosen, arguments)
    say(
        f"replies: {arguments.output} (keep `probability` with the labels, for `rejoinder compare --labels`)", arguments
    )
    return 0

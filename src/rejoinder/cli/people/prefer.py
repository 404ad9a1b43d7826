"""`rejoinder prefer preferences.jsonl`."""

from __future__ import annotations

import argparse

from rejoinder.cli.options import add_reading, add_running, field_map, put, say_skipped, show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument(
        "preferences",
        help="judgements of pairs of replies: records with the systems `a` and `b`, the `winner` (a system's name, "
        "'tie' or 'both bad'), and optionally context, context_id, rater, response_a, response_b",
    )
    parser.add_argument(
        "--model",
        choices=("davidson", "bradley-terry"),
        default="davidson",
        help="davidson estimates how common ties are (default); bradley-terry counts a tie as half a win for each",
    )
    parser.add_argument("--latex", action="store_true", help="print a LaTeX table")
    add_reading(parser)
    add_running(parser)


def run(arguments: argparse.Namespace) -> int:
    """Rank the systems."""
    from rejoinder.comparing.preferences import preferences

    report = preferences(
        arguments.preferences,
        model=arguments.model,
        fields=field_map(arguments),
        on_error=arguments.on_error,
        seed=arguments.seed,
        resamples=arguments.resamples,
    )
    if arguments.latex and not arguments.json:
        put(report.to_latex())
    else:
        show(report, arguments)
    say_skipped(report.skipped, arguments)
    return 0

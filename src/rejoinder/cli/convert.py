"""`rejoinder convert logs.json -o replies.jsonl`."""

from __future__ import annotations

import argparse

from rejoinder.cli.options import (
    add_reading,
    add_replies,
    add_seed,
    add_unit,
    field_map,
    origin_of,
    positive,
    print_json,
    put,
    say_skipped,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    add_replies(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="the file to write: .jsonl, .csv, .parquet or .xlsx"
    )
    add_unit(parser)
    parser.add_argument(
        "--drop-duplicates",
        action="store_true",
        help="keep one of all examples with the same system, context and reply",
    )
    parser.add_argument(
        "--sample",
        type=positive,
        metavar="N",
        help="keep N dialogues, chosen at random; the examples of a dialogue (or of one context) stay together",
    )
    add_reading(parser)
    add_seed(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    parser.add_argument("--quiet", action="store_true", help="no progress bar and no notes")


def run(arguments: argparse.Namespace) -> int:
    """Write a file in our own format."""
    from rejoinder.data.convert import convert

    names = ("unit", "drop_duplicates", "sample", "on_error", "seed", "quiet")
    options = {name: getattr(arguments, name) for name in names}
    done = convert(origin_of(arguments.replies), arguments.output, fields=field_map(arguments), **options)
    if arguments.json:
        print_json(done.to_dict())
    else:
        put(done.text())
    say_skipped(done.skipped, arguments)
    return 0

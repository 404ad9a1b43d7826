"""`rejoinder check replies.jsonl`."""

from __future__ import annotations

import argparse

from rejoinder.cli.options import (
    add_reading,
    add_replies,
    add_unit,
    field_map,
    origin_of,
    print_json,
    put,
    say_skipped,
    terminal_width,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    add_replies(parser)
    add_unit(parser)
    add_reading(parser)
    parser.set_defaults(tell_readings=False)  # the result contains them
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    parser.add_argument("--quiet", action="store_true", help="no progress bar and no notes")


def run(arguments: argparse.Namespace) -> int:
    """Report what a file contains."""
    from rejoinder.scoring.check import check

    found = check(
        origin_of(arguments.replies),
        unit=arguments.unit,
        fields=field_map(arguments),
        on_error=arguments.on_error,
        quiet=arguments.quiet,
    )
    if arguments.json:
        print_json(found.to_dict())
    else:
        put(found.text(terminal_width()))
    say_skipped(found.skipped, arguments)
    return 0

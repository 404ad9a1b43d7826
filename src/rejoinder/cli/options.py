"""Options that several verbs share."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rejoinder.data.record import FieldMap
    from rejoinder.data.source import Source
    from rejoinder.scoring.choosing import Choice

_MOST_LISTED = 20
HIGHEST_SEED = 2**32 - 1
"""What every generator of random numbers takes: torch's ends at 2**64 - 1, numpy's old one here."""


def add_reading(parser: argparse.ArgumentParser) -> None:
    """How the input is read."""
    group = parser.add_argument_group("reading")
    group.add_argument(
        "--field",
        action="append",
        default=[],
        metavar="OURS=THEIRS",
        help="what the data call a field: --field context=history (id, context, response, references, system, "
        "speakers, context_id, messages)",
    )
    group.add_argument(
        "--separator",
        default="\n",
        help="where a context given as one string is cut (default: at line breaks)",
    )
    add_on_error(group)


def add_on_error(group: Any) -> None:
    """What happens at bad input."""
    group.add_argument(
        "--on-error",
        choices=("raise", "skip"),
        default="raise",
        help="stop at input that cannot be read (default), or leave it out and say so",
    )


def add_scale(group: Any) -> None:
    """Between what people could rate."""
    group.add_argument(
        "--scale",
        nargs=2,
        type=float,
        metavar=("LOWEST", "HIGHEST"),
        help="the scores that people could give (default: the lowest and highest that they gave)",
    )


def add_metrics(parser: argparse.ArgumentParser) -> None:
    """Which metrics run."""
    group = parser.add_argument_group("metrics")
    group.add_argument(
        "-m",
        "--metric",
        action="append",
        default=[],
        metavar="NAME",
        help="a metric, with parameters if need be: -m 'bleu(n=2)'; repeats; 'all' for every one "
        "(default: a sensible set for the data)",
    )
    group.add_argument("--config", metavar="FILE.toml", help="metrics and their parameters from a TOML file")


def add_running(parser: argparse.ArgumentParser) -> None:
    """How the work is done and shown."""
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    add_seed(parser)
    parser.add_argument(
        "--resamples",
        type=positive,
        default=1000,
        help="bootstrap resamples behind each interval (default: 1000)",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar, no remarks")


def add_seed(parser: argparse.ArgumentParser) -> None:
    """What decides all that is drawn."""
    parser.add_argument("--seed", type=seed, default=0, help="seed of all that is random (default: 0)")


def positive(text: str) -> int:
    """A whole number above 0, or argparse's complaint."""
    return _at_least(1, text)


def seed(text: str) -> int:
    """A whole number from 0 to HIGHEST_SEED, or argparse's complaint."""
    number = _at_least(0, text)
    if number > HIGHEST_SEED:
        raise argparse.ArgumentTypeError(f"must be a whole number of at most {HIGHEST_SEED}, not {text!r}")
    return number


def _at_least(least: int, text: str) -> int:
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}, not {text!r}")
    return int(text)


def open_source(origin: str, arguments: argparse.Namespace) -> Source:
    """The examples of a file, read as the options say."""
    from rejoinder.data.source import Source

    return Source(origin, field_map(arguments), arguments.on_error)


def field_map(arguments: argparse.Namespace) -> FieldMap:
    """What the data call our fields."""
    from rejoinder.data.record import FieldMap

    # A shell passes backslash-n as two characters.
    return FieldMap.parse(arguments.field, arguments.separator.replace("\\n", "\n").replace("\\t", "\t"))


def chosen_metrics(arguments: argparse.Namespace) -> Choice | None:
    """The metrics that -m and --config name; None where they name none."""
    from rejoinder.config import metrics_of_file
    from rejoinder.scoring.choosing import Choice, choose

    chosen = choose(arguments.metric) if arguments.metric else None
    if arguments.config:
        configured = choose(metrics_of_file(arguments.config))
        return (chosen or Choice({})).adding(configured.metrics)
    return chosen


def say(message: str, arguments: argparse.Namespace) -> None:
    """A remark on standard error, unless quiet."""
    if not arguments.quiet:
        print(message, file=sys.stderr)


def print_json(values: Mapping[str, Any]) -> None:
    """One object on standard output."""
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    print(json.dumps(values, indent=2, ensure_ascii=not utf8, allow_nan=False))


def say_skipped(skipped: Sequence[str], arguments: argparse.Namespace) -> None:
    """Count and list what was left out of the input."""
    if not skipped:
        return
    say(f"left out {len(skipped)} unreadable {'example' if len(skipped) == 1 else 'examples'}:", arguments)
    for error in skipped[:_MOST_LISTED]:
        say(f"  {error}", arguments)
    if len(skipped) > _MOST_LISTED:
        say(f"  ... and {len(skipped) - _MOST_LISTED} more", arguments)

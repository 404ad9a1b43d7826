"""`rejoinder generate contexts.jsonl --model DIR -o replies.jsonl`."""

from __future__ import annotations

import argparse
from pathlib import Path

from rejoinder.cli.options import add_reading, add_seed, field_map, say, say_skipped, show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument(
        "contexts",
        help="what to reply to: .jsonl(.gz), .csv, .tsv, .parquet, or - for JSON lines on standard input; records with "
        "`context` or `messages`, or with the `turns` of a dialogue, whose last turn is taken as the true reply",
    )
    parser.add_argument("-o", "--output", required=True, metavar="FILE.jsonl", help="file to write the replies to")
    who = parser.add_mutually_exclusive_group(required=True)
    who.add_argument("--model", metavar="FOLDER", help="one trained reply model: one reply per context, none left out")
    who.add_argument(
        "--systems",
        action="append",
        metavar="NAME=FOLDER,...",
        help="a pool for judging: trained reply models, each with the system name for its replies; a decoding may "
        "follow, hred=FOLDER@nucleus(p=0.9); may be repeated",
    )
    pool = parser.add_argument_group("a pool for judging")
    pool.add_argument("--also", default="", metavar="true,random", help="add the true reply, a random reply, or both")
    pool.add_argument(
        "--drop",
        action="append",
        default=[],
        metavar="METRIC>NUMBER",
        help="leave out replies that a metric scores above (or, with <, below) a number; may be repeated",
    )
    pool.add_argument("--keep-offensive", action="store_true", help="do not leave out replies with offensive words")
    parser.add_argument(
        "--decoding",
        metavar="HOW",
        help="how models that generate word by word choose the words: greedy, beam(beam=4), ancestral, top-k(k=40), "
        "nucleus(p=0.9) (default: the model's own choice)",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="resume an interrupted run that wrote to the same output; a finished one is left as it is; an error if "
        "its contexts, systems or settings are not those of this run",
    )
    add_reading(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    add_seed(parser)
    parser.add_argument("--quiet", action="store_true", help="show neither progress nor remarks")


def run(arguments: argparse.Namespace) -> int:
    """Reply to a file of contexts."""
    from rejoinder.folders.outputs import UnfinishedRows
    from rejoinder.replies.pool import generate

    try:
        replies = generate(
            arguments.model or arguments.systems,
            arguments.contexts,
            also=arguments.also,
            drop=arguments.drop,
            keep_offensive=arguments.keep_offensive,
            decoding=arguments.decoding,
            fields=field_map(arguments),
            on_error=arguments.on_error,
            seed=arguments.seed,
            output=arguments.output,
            resume=arguments.resume,
            quiet=arguments.quiet,
        )
    except KeyboardInterrupt:
        unfinished = UnfinishedRows(Path(arguments.output)).rows
        if unfinished.exists():
            say(f"replies so far are in {unfinished}: run the same command with --resume to continue", arguments)
        raise
    if replies.summary.was_finished:
        say(f"{arguments.output} is finished: there is nothing left to do", arguments)
        if not arguments.json:
            return 0
    show(replies, arguments)
    say_skipped(replies.skipped, arguments)
    say(f"replies: {arguments.output}", arguments)
    return 0

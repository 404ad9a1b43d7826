"""`rejoinder generate contexts.jsonl --model DIR -o replies.jsonl`."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from rejoinder.cli.options import add_reading, add_seed, field_map, print_json, say, say_skipped

if TYPE_CHECKING:
    from rejoinder.reply_models.pool.pool import Pool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument(
        "contexts",
        help="what to reply to: .jsonl(.gz), .csv, .tsv, .parquet, or - for JSON lines on standard input; records with "
        "`context` or `messages`, or the `turns` of a dialogue, whose last one is taken for the true reply",
    )
    parser.add_argument("-o", "--output", required=True, metavar="FILE.jsonl", help="where the replies go")
    who = parser.add_mutually_exclusive_group(required=True)
    who.add_argument("--model", metavar="FOLDER", help="one trained model: a reply a context, whatever it says")
    who.add_argument(
        "--systems",
        action="append",
        metavar="NAME=FOLDER,...",
        help="a pool for judging: trained models with the names that their replies bear; a decoding may follow, "
        "hred=FOLDER@nucleus(p=0.9); repeats",
    )
    pool = parser.add_argument_group("a pool for judging")
    pool.add_argument("--also", default="", metavar="true,random", help="also the true reply, a random one, or both")
    pool.add_argument(
        "--drop",
        action="append",
        default=[],
        metavar="METRIC>NUMBER",
        help="leave out replies that a metric scores above (or <, below) a number; repeats",
    )
    pool.add_argument("--keep-offensive", action="store_true", help="do not leave out replies with offensive words")
    parser.add_argument(
        "--decoding",
        metavar="HOW",
        help="how models that write replies word by word do so: greedy, beam(beam=4), ancestral, top-k(k=40), "
        "nucleus(p=0.9) (default: as the model sees fit)",
    )
    parser.add_argument("--resume", action="store_true", help="go on where an interrupted run into -o stopped")
    add_reading(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    add_seed(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress bar, no remarks")


def run(arguments: argparse.Namespace) -> int:
    """Reply to a file of contexts."""
    from rejoinder.data.output import check_target
    from rejoinder.data.unanswered import UnansweredSource
    from rejoinder.reply_models.pool.run import PoolRun

    output = Path(arguments.output)
    check_target(output, (".jsonl",), inputs=[arguments.contexts])
    pool = _pool(arguments)
    with closing(UnansweredSource(arguments.contexts, field_map(arguments), arguments.on_error)) as source:
        work = PoolRun(pool, source, source.name, arguments.quiet)
        try:
            summary = work.write(output, resume=arguments.resume)
        except KeyboardInterrupt:
            if Path(f"{output}.part").exists():
                say(f"replies so far are in {output}.part; --resume goes on from there", arguments)
            raise
        skipped = [str(error) for error in source.skipped.values()]
    if arguments.json:
        print_json({**summary.to_dict(), "skipped": skipped})
    else:
        print(summary)
    for name, held in summary.trained_on.items():
        say(f"note: {name} was trained on {held} of the {summary.contexts} contexts", arguments)
    say_skipped(skipped, arguments)
    say(f"replies: {output}", arguments)
    return 0


def _pool(arguments: argparse.Namespace) -> Pool:
    """Who replies, and what is left out: of one model alone nothing, of a pool what should not be judged."""
    from rejoinder.errors import CallError
    from rejoinder.reply_models.decoding import Decoding
    from rejoinder.reply_models.pool.offensive import Filter, MetricFilter, WordFilter
    from rejoinder.reply_models.pool.pool import Pool
    from rejoinder.reply_models.pool.systems import also_of, check_decodes, systems_of

    decoding = Decoding.parse(arguments.decoding) if arguments.decoding else None
    if arguments.model:
        if arguments.also or arguments.drop:
            raise CallError("--also and --drop are for a pool: expected --systems in place of --model")
        systems = systems_of([arguments.model], decoding)
        if decoding is not None:  # in a pool it is for those that decode, here it would be for nothing
            for system in systems:
                check_decodes(system.model, f"--decoding {arguments.decoding}")
        return Pool(systems, deduplicate=False, seed=arguments.seed)
    filters: list[Filter] = [] if arguments.keep_offensive else [WordFilter()]
    filters += [MetricFilter.parse(spec) for spec in arguments.drop]
    return Pool(systems_of(arguments.systems, decoding), also_of(arguments.also), filters, seed=arguments.seed)

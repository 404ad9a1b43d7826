"""`rejoinder calibrate model/ --judged FILE -o model/`."""

from __future__ import annotations

import argparse

from rejoinder.cli.options import add_reading, add_scale, add_seed, field_map, say, show
from rejoinder.options import LEVEL


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument("model", help="the folder of a trained evaluator, or the name of a bundled one")
    parser.add_argument(
        "--judged",
        required=True,
        metavar="FILE",
        help="replies with human scores, not used to train the evaluator",
    )
    parser.add_argument(
        "--dimension",
        metavar="NAME",
        help="which human scores to use (default: the only ones, or the overall ones)",
    )
    add_scale(parser)
    parser.add_argument(
        "--level",
        type=float,
        default=LEVEL,
        metavar="N",
        help="the share of intervals that should contain the human score, from 0.5 to 0.99 (default: %(default)s)",
    )
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FOLDER",
        help="folder to save the calibrated model in; may be the model's own",
    )
    add_reading(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    add_seed(parser)
    parser.add_argument("--quiet", action="store_true", help="show neither progress nor remarks")


def run(arguments: argparse.Namespace) -> int:
    """Calibrate, save, and print how scores agree with people before and after."""
    from rejoinder.training.calibrate import calibrate

    report = calibrate(
        arguments.model,
        arguments.judged,
        dimension=arguments.dimension,
        scale=tuple(arguments.scale) if arguments.scale else None,
        level=arguments.level,
        fields=field_map(arguments),
        on_error=arguments.on_error,
        seed=arguments.seed,
        output=arguments.output,
        quiet=arguments.quiet,
    )
    show(report, arguments)
    output = arguments.output
    say(f"model: {output} (rejoinder score REPLIES -m {output} --intervals -o scores.jsonl)", arguments)
    return 0

"""`rejoinder meta judged.jsonl`."""

from __future__ import annotations

import argparse
from pathlib import Path

from rejoinder.cli.options import add_metrics, add_reading, add_running, chosen_metrics, field_map, print_json, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument("judged", help="judged examples: a file whose records also hold `scores`")
    parser.add_argument(
        "--scores", action="append", default=[], metavar="FILE", help="scores already computed by `score -o`; repeats"
    )
    parser.add_argument("--dimension", metavar="NAME", help="what was judged, or 'all' (default: the overall one)")
    parser.add_argument(
        "--study", action="append", default=[], metavar="NAME", help="also make a study; repeats; 'all' for every one"
    )
    parser.add_argument(
        "--remove-outliers", action="store_true", help="drop ratings that stray from their example's median"
    )
    parser.add_argument("--report", metavar="FILE.html", help="write tables and figures that open in any browser")
    add_metrics(parser)
    add_reading(parser)
    add_running(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compare metrics with people."""
    from rejoinder.data.output import check_target, write_text
    from rejoinder.meta.meta import meta_evaluate

    if arguments.report:
        check_target(Path(arguments.report), (".html",))
    report = meta_evaluate(
        arguments.judged,
        chosen_metrics(arguments),
        scores=arguments.scores,
        dimension=arguments.dimension,
        studies=_studies(arguments),
        remove_outliers=arguments.remove_outliers,
        fields=field_map(arguments),
        on_error=arguments.on_error,
        seed=arguments.seed,
        resamples=arguments.resamples,
        quiet=arguments.quiet,
    )
    if arguments.report:
        from rejoinder.report.meta import render_meta

        write_text(Path(arguments.report), render_meta(report))
    if arguments.json:
        print_json(report.to_dict())
    else:
        print(report)
    for note in report.notes:
        say(f"note: {note}", arguments)
    if arguments.report:
        say(f"report: {arguments.report}", arguments)
    return 0


def _studies(arguments: argparse.Namespace) -> list[str]:
    """The studies asked for; a report also shows every metric against people, dot by dot."""
    asked: list[str] = arguments.study
    return [*asked, "scatter"] if arguments.report and not {"all", "scatter"} & set(asked) else asked

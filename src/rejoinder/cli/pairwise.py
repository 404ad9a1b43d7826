"""`rejoinder compare a.jsonl b.jsonl --pairwise 'judge(...)'`."""

from __future__ import annotations

import argparse

from rejoinder.cli.judging import put_plans
from rejoinder.cli.options import field_map, put, say_skipped, show
from rejoinder.errors import CallError

_FOR_SCORES = (
    *("metric", "config", "labels", "dimension", "predictor", "primary", "margin", "scores"),
    *("cluster", "by", "fail_if", "report", "details"),
)
"""Options of `compare` that pairs have no use for: an option that is ignored would look as if it had worked."""


def run_pairwise(arguments: argparse.Namespace) -> int:
    """Compare systems by which of two replies a judge prefers."""
    from rejoinder.comparing.pairwise import compare_pairwise, judge_of, plan_pairwise
    from rejoinder.scoring.run import judges_limited

    for option in _FOR_SCORES:
        if getattr(arguments, option, None):
            name = option.replace("_", "-")
            raise CallError(f"--{name} is for scores of single replies: expected it without --pairwise")
    judge = judge_of(arguments.pairwise)
    reading = {"pair_by": arguments.pair_by, "fields": field_map(arguments), "on_error": arguments.on_error}
    reading["unit"] = arguments.unit
    if arguments.dry_run:
        plan = plan_pairwise(*arguments.replies, judge=judge, **reading)
        put_plans({f"{judge.model} at {judge.asker.endpoint.host}": plan}, arguments)
        return 0
    with judges_limited([judge], arguments.max_cost, quiet=arguments.quiet):
        report = compare_pairwise(
            *arguments.replies, judge=judge, seed=arguments.seed, resamples=arguments.resamples, **reading
        )
    if arguments.latex:
        put(report.to_latex())
    else:
        show(report, arguments)
    say_skipped(report.skipped, arguments)
    return 0

"""Options for metrics that ask a language model: what it would cost, and the most that it may cost."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from rejoinder.cli.options import open_source, print_json, put

if TYPE_CHECKING:
    from rejoinder.judge.cost import Plan
    from rejoinder.judge.judge import Judge
    from rejoinder.scoring.score import Choice
    from rejoinder.types import Example


def add_judging(parser: argparse.ArgumentParser) -> None:
    """The options."""
    group = parser.add_argument_group("judges (language models)")
    group.add_argument(
        "--dry-run",
        action="store_true",
        help="print how many requests the judges would send, how many are in the cache, tokens and cost; send nothing",
    )
    add_max_cost(group)


def add_max_cost(group: argparse._ActionsContainer) -> None:
    """The limit on the cost."""
    group.add_argument(
        "--max-cost",
        type=float,
        metavar="X",
        help="stop before all judges together have cost more than X, by the prices given with each judge",
    )


def prepare_judges(chosen: Choice | None, arguments: argparse.Namespace) -> None:
    """Apply --max-cost and --quiet to the judges among the metrics."""
    from rejoinder.judge.judge import judges_in

    apply_limits(judges_in(chosen.metrics.values() if chosen else ()), arguments)


def apply_limits(judges: Sequence[Judge], arguments: argparse.Namespace) -> None:
    """Apply --max-cost and --quiet to judges."""
    from rejoinder.judge.judge import limit_cost

    for judge in judges:
        judge.asker.quiet = arguments.quiet
    if arguments.max_cost is not None:
        limit_cost(judges, arguments.max_cost)


def plan_comparison(chosen: Choice | None, arguments: argparse.Namespace) -> int:
    """Print what the judges would send to score the replies of all files; the exit code."""
    examples = [example for path in arguments.replies for example in read_all(path, arguments)]
    return show_plans(chosen, examples, arguments)


def read_all(path: str, arguments: argparse.Namespace) -> list[Example]:
    """The examples of a file."""
    with closing(open_source(path, arguments)) as source:
        return list(source)


def show_plans(chosen: Choice | None, examples: Sequence[Example], arguments: argparse.Namespace) -> int:
    """Print what each judge among the metrics would send, and the total; the exit code."""
    from rejoinder.judge.judge import judges_in, planned

    put_plans(planned(judges_in(chosen.metrics.values() if chosen else ()), examples), arguments)
    return 0


def put_plans(plans: Mapping[str, Plan], arguments: argparse.Namespace) -> None:
    """Print what each judge would send, and the total."""
    from rejoinder.judge.cost import CostPlan

    plan = CostPlan(plans)
    if arguments.json:
        print_json(plan.to_dict())
    else:
        put(plan.text())

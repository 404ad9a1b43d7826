"""Options for metrics that ask a language model: what it would cost, and the most that it may cost."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rejoinder.cli.options import open_source, print_json, put

if TYPE_CHECKING:
    from rejoinder.judge.cost import Plan
    from rejoinder.metrics.base import Metric
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


def plan_comparison(chosen: Choice | None, arguments: argparse.Namespace) -> int:
    """Print what the judges would send to score the replies of all files; the exit code."""
    examples = [example for path in arguments.replies for example in open_source(path, arguments)]
    return show_plans(chosen.metrics if chosen else {}, examples, arguments)


def show_plans(metrics: Mapping[str, Metric], examples: Sequence[Example], arguments: argparse.Namespace) -> int:
    """Print what each judge among the metrics would send, and the total; the exit code."""
    from rejoinder.judge.judge import judges_in, planned

    put_plans(planned(judges_in(metrics.values()), examples), arguments)
    return 0


def put_plans(plans: Mapping[str, Plan], arguments: argparse.Namespace) -> None:
    """Print what each judge would send, and the total."""
    from rejoinder.judge.cost import CostPlan

    plan = CostPlan(plans)
    if arguments.json:
        print_json(plan.to_dict())
    else:
        put(plan.text())

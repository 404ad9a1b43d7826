"""What the judges among some metrics would send, and the most that they may cost together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rejoinder.errors import CallError
from rejoinder.evaluators.judge.cost import Budget, Plan, Prices
from rejoinder.evaluators.judge.judge import Judge
from rejoinder.metrics.base import Metric
from rejoinder.types import Example


def judges_in(metrics: Iterable[Metric]) -> list[Judge]:
    """The judges among the metrics and within them (jury, ensemble), each once."""
    found: dict[int, Judge] = {}
    for metric in metrics:
        if isinstance(metric, Judge):
            found[id(metric)] = metric
        found |= {id(judge): judge for judge in judges_in(metric.parts)}
    return list(found.values())


def limit_cost(judges: Sequence[Judge], most: float) -> None:
    """Make all judges stop before they have cost more than this together; a CallError without judges or prices."""
    if not judges:
        raise CallError("a limit on the cost is for judges: none of the metrics is one")
    if not most > 0:
        raise CallError(f"the limit on the cost must be above 0, not {most:g}")
    for judge in judges:
        if judge.asker.meter.prices == Prices():
            raise CallError(f"a limit on the cost needs price_read or price_written of the judge {judge.model}")
    budget = Budget(most, [judge.asker.meter for judge in judges])
    for judge in judges:
        judge.asker.budgets.append(budget)


def planned(judges: Sequence[Judge], examples: Sequence[Example]) -> dict[str, Plan]:
    """What each judge would send to score the examples; nothing is sent."""
    plans: dict[str, Plan] = {}
    for judge in judges:
        label = f"{judge.model} at {judge.asker.endpoint.host}"
        plans[label] = Plan.total([plans.get(label, Plan()), judge.planned(examples)])
    return plans

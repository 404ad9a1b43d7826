"""What judges would be sent, and what that would cost, before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from rejoinder.data.records import Fields
from rejoinder.data.source import Source
from rejoinder.judge.cost import Plan
from rejoinder.judge.judge import judges_in, planned
from rejoinder.options import FIELDS_OPTION, METRICS_OPTION, REPLIES_OPTION, OnError, UnitOption, verb
from rejoinder.scoring.score import Choice, Metrics, choose


@dataclass(frozen=True)
class CostPlan:
    """What each judge would be sent."""

    judges: Mapping[str, Plan]
    """Model and host -> requests, answers in the cache, tokens and cost."""

    @property
    def total(self) -> Plan:
        """All judges together."""
        return Plan.total(self.judges.values())

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        return {"judges": {name: asdict(plan) for name, plan in self.judges.items()}, **asdict(self.total)}

    def __str__(self) -> str:
        if not self.judges:
            return "no judge among the metrics: nothing would be sent"
        lines = [f"{name}: {plan}" for name, plan in self.judges.items()]
        return "\n".join([*lines, *([f"together: {self.total}"] if len(lines) > 1 else [])])


@verb
def judge_costs(
    *replies: Annotated[Any, REPLIES_OPTION],
    metrics: Annotated[Metrics | Choice | None, METRICS_OPTION] = None,
    unit: UnitOption = "reply",
    fields: Annotated[Fields | None, FIELDS_OPTION] = None,
    on_error: OnError = "raise",
) -> CostPlan:
    """What the judges among the metrics would be sent to score all these replies; nothing is sent."""
    chosen = choose(metrics)
    examples = []
    for each in replies:
        with closing(Source(each, fields, on_error, unit=unit)) as source:
            examples += list(source)
    return CostPlan(planned(judges_in(chosen.metrics.values()), examples))

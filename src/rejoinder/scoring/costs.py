"""What judges would be sent, and what that would cost, before anything is sent."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated, Any

from rejoinder.data.records import Fields
from rejoinder.data.source import Source
from rejoinder.errors import CallError
from rejoinder.judge.cost import CostPlan
from rejoinder.judge.judge import judges_in, planned
from rejoinder.options import FIELDS_OPTION, METRICS_OPTION, REPLIES_OPTION, OnError, UnitOption, verb
from rejoinder.scoring.score import MetricChoice, Metrics, choose_metrics


@verb
def judge_costs(
    *replies: Annotated[Any, REPLIES_OPTION],
    metrics: Annotated[Metrics | MetricChoice | None, METRICS_OPTION] = None,
    unit: UnitOption = "reply",
    fields: Annotated[Fields | None, FIELDS_OPTION] = None,
    on_error: OnError = "raise",
) -> CostPlan:
    """What the judges among the metrics would be sent to score all these replies; nothing is sent."""
    chosen = choose_metrics(metrics)
    examples = []
    for each in replies:
        with closing(Source(each, fields, on_error, unit=unit)) as source:
            examples += list(source)
    if not examples:
        raise CallError("no replies: expected some that judges could be asked about")
    return CostPlan(planned(judges_in(chosen.metrics.values()), examples))

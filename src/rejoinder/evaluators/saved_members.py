"""The members of a saved ensemble or blend: evaluators in folders within its own, and metrics by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rejoinder.errors import DataError, shortened
from rejoinder.evaluators.base import Evaluator
from rejoinder.loading import schema
from rejoinder.loading.inside import plain_name
from rejoinder.metrics.base import Metric
from rejoinder.model_folder import CONFIG
from rejoinder.registry import build, check_portable, load_evaluator

FIELD = "learned.members"
"""Where config.json lists them."""


def saved_place(member: Metric, folder: Path, number: int) -> dict[str, Any]:
    """Where `saved_member` finds a member again; an evaluator is written into a folder within this one."""
    if isinstance(member, Evaluator):
        member.save(folder / f"member-{number}")
        return {"folder": f"member-{number}"}
    check_portable(member.name, member.parameters)
    return {"metric": member.name, "parameters": member.parameters}


def saved_member(place: object, home: Path) -> Metric:
    """The member at a place that `saved_place` gave."""
    file = str(home / CONFIG)
    given = schema.checked_object(place, file, FIELD)
    if "folder" in given:
        evaluator: Metric = load_evaluator(home / plain_name(given["folder"], file, FIELD), {})
        return evaluator
    name = schema.member(given, "metric", str, file, FIELD)
    parameters = schema.checked_object(given.get("parameters"), file, FIELD)
    check_portable(name, parameters)
    metric: Metric = build(name, parameters)
    if not isinstance(metric, Metric) or isinstance(metric, Evaluator):
        raise DataError(f"must be metrics, not {shortened(name)}", file=file, field=FIELD)
    return metric

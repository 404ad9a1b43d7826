"""Metrics and their parameters from a TOML file.

[metrics.bleu]           # the label is the metric's name,
n = 2

[metrics.strict-bleu]    # unless `metric` names another one, or the folder of a trained evaluator
metric = "bleu"
smooth = "none"

[metrics.both]           # a metric within a metric: its name, or a table
metric = "ensemble"
members = ["default", "bleu(n=2)", { metric = "bleu", smooth = "none" }]
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from rejoinder.errors import CallError, DataError, UnknownNameError
from rejoinder.registry import load


def metrics_of_file(path: str) -> dict[str, Any]:
    """The metrics that a file names: label -> metric."""
    tables = _tables(path)
    for key in tables:
        if key != "metrics":
            raise UnknownNameError(f"table in {path}:", key, ["metrics"])
    metrics = tables.get("metrics", {})
    if not isinstance(metrics, dict) or not all(isinstance(table, dict) for table in metrics.values()):
        raise CallError(f"{path}: expected one table per metric, such as [metrics.bleu]")
    if not metrics:
        raise CallError(f"{path} names no metric: expected one table per metric, such as [metrics.bleu]")
    return {label: _metric(label, table, path) for label, table in metrics.items()}


def _metric(label: str, table: dict[str, Any], path: str) -> Any:
    if label in {"id", "system"}:  # columns of every score file
        raise CallError(f"{path}: a metric cannot be labelled {label!r}")
    name = table.get("metric", label)
    if not isinstance(name, str):
        raise CallError(f"{path}: [metrics.{label}]: metric must be a name, not {name!r}")
    try:
        return load(name, **{key: value for key, value in table.items() if key != "metric"})
    except CallError as error:
        raise CallError(f"{path}: [metrics.{label}]: {error}") from None


def _tables(path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", file=path) from None
    except (ValueError, RecursionError) as error:  # also a number of too many digits, or lists nested too deeply
        raise DataError(f"is not valid TOML ({error})", file=path) from None

"""`rejoinder metrics`."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import math
import textwrap
from typing import TYPE_CHECKING, Any

from rejoinder.cli.options import print_json, put

if TYPE_CHECKING:
    from rejoinder.metrics.base import Metric


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")


def run(arguments: argparse.Namespace) -> int:
    """List every metric."""
    from rejoinder.registry import ALIASES, SHIPPED, metric_names

    presets: dict[str, list[str]] = {}
    for alias, (name, _) in ALIASES.items():
        presets.setdefault(name, []).append(alias)
    described = {name: _described(name) | {"presets": presets.get(name, [])} for name in metric_names()}
    if arguments.json:
        print_json({"metrics": described, "shipped": SHIPPED})
        return 0
    for name, measures in SHIPPED.items():
        _print(name, measures, "needs: context")
    for name, about in described.items():
        also = f" (also {', '.join(about['presets'])})" if about["presets"] else ""
        _print(name + also, *_lines(about))
    return 0


def _print(title: str, *lines: str) -> None:
    put(title)
    for line in lines:
        put(textwrap.fill(line, 100, initial_indent="    ", subsequent_indent="        "))


def _lines(about: dict[str, Any]) -> tuple[str, ...]:
    """A description as text."""
    from rejoinder.metrics.base import plain

    needs = "depends on the parameters" if about["needs"] is None else ", ".join(about["needs"])
    given = about["parameters"].items()
    parameters = ", ".join(key if value is None else f"{key}={plain(value)}" for key, value in given)
    return (
        about["measures"],
        f"needs: {needs or 'nothing but the reply'}",
        f"source: {about['citation']}",
        f"parameters: {parameters}",
    )


def _described(name: str) -> dict[str, Any]:
    """The description of one metric, with its default parameters."""
    from rejoinder.errors import CallError
    from rejoinder.registry import build, metric_class

    cls = metric_class(name)
    try:
        metric = build(name, {})
    except CallError:  # a parameter has no default: only what its class says is known
        metric = cls
    needs, ends = (None if isinstance(value, property) else value for value in (metric.needs, metric.range))
    return {
        "needs": needs if needs is None else sorted(needs),
        "measures": cls.measures,
        "citation": cls.citation,
        "range": ends if ends is None else [None if math.isinf(end) else end for end in ends],
        "higher_is_better": cls.higher_is_better,
        "parameters": {field.name: _default(field) for field in _own_first(cls)},
    }


def _own_first(metric: type[Metric]) -> list[dataclasses.Field[Any]]:
    """The parameters, those first that only this metric has."""
    own = inspect.get_annotations(metric)
    return sorted(
        (field for field in dataclasses.fields(metric) if field.init), key=lambda field: field.name not in own
    )


def _default(field: dataclasses.Field[Any]) -> Any:
    """The default value; None where there is none."""
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return None if field.default is dataclasses.MISSING else field.default

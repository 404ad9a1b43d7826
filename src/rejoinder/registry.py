"""Names to classes, imported only when asked for.

A name may carry parameters, `bleu(n=2, smooth=exp)`, which become keyword arguments. Other packages add their own
metrics through the entry-point group `rejoinder.metrics` (name -> class), and are then used like ours.
"""

from __future__ import annotations

import dataclasses
import importlib
import re
from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from rejoinder.errors import CallError, UnknownNameError

METRICS: dict[str, str] = {
    "bleu": "rejoinder.metrics.bleu:Bleu",
    "rouge-l": "rejoinder.metrics.rouge:RougeL",
    "distinct": "rejoinder.metrics.diversity:Distinct",
    "length": "rejoinder.metrics.length:Length",
}

# The papers' own names for settings of one metric.
ALIASES: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"bleu-{n}": ("bleu", {"n": n}) for n in (1, 2, 3, 4)},
    **{f"distinct-{n}": ("distinct", {"n": n}) for n in (1, 2)},
}

_SPEC = re.compile(r"\s*(?P<name>[^\s()=,]+)\s*(?:\((?P<arguments>.*)\))?\s*", re.DOTALL)
_ARGUMENT = re.compile(r"""\s*(?P<key>[A-Za-z_]\w*)\s*=\s*(?P<value>"[^"]*"|'[^']*'|[^,"']*?)\s*(?:,|$)""")


@cache
def metric_names() -> dict[str, str]:
    """Every metric name -> where its class is, plug-ins included (ours win a clash)."""
    plugged = {point.name: point.value for point in entry_points(group="rejoinder.metrics")}
    return plugged | METRICS


def metric_class(name: str) -> type[Any]:
    """The class behind a metric's name."""
    known = metric_names()
    if name not in known:
        raise UnknownNameError("metric", name, [*known, *ALIASES])
    return _import(known[name])


def parse_spec(spec: str) -> tuple[str, dict[str, Any]]:
    """'bleu(n=2, smooth=exp)' -> ('bleu', {'n': 2, 'smooth': 'exp'})."""
    matched = _SPEC.fullmatch(spec)
    if not matched:
        raise CallError(f"cannot read {spec!r}: expected a name, or a name with parameters such as bleu(n=2)")
    parameters: dict[str, Any] = {}
    arguments, position = (matched["arguments"] or "").strip(), 0
    while position < len(arguments):
        argument = _ARGUMENT.match(arguments, position)
        if not argument:
            raise CallError(f"cannot read the parameters of {spec!r}: expected key=value, separated by commas")
        if argument["key"] in parameters:
            raise CallError(f"{spec!r} gives {argument['key']!r} twice")
        parameters[argument["key"]] = _literal(argument["value"])
        position = argument.end()
    return matched["name"], parameters


def load(name_or_folder: str | Path, **parameters: Any) -> Any:
    """A metric by name, `load("bleu", n=2)` or `load("bleu(n=2)")`; or a trained evaluator from its folder."""
    if Path(name_or_folder).is_dir():
        raise CallError(f"{name_or_folder} is a folder, but this version has no trained evaluators to load")
    name, given = parse_spec(str(name_or_folder))
    return build(name, given | parameters)


def build(name: str, parameters: Mapping[str, Any]) -> Any:
    """An instance of the named metric; a parameter that it does not have is an error with the near names."""
    base, preset = ALIASES.get(name, (name, {}))
    cls = metric_class(base)
    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise CallError(f"{name} is not a metric: {cls!r} is no dataclass")
    fields = {field.name for field in dataclasses.fields(cls) if field.init}
    for key in parameters:
        if key not in fields:
            raise UnknownNameError(f"parameter of {name}:", key, fields)
    return cls(**{**preset, **parameters})


def _import(location: str) -> type[Any]:
    module, _, attribute = location.partition(":")
    found: type[Any] = getattr(importlib.import_module(module), attribute)
    return found


def _literal(text: str) -> Any:
    if text[:1] in {'"', "'"}:
        return text[1:-1]
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text

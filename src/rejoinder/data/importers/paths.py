"""A value inside a record, by a path such as output.content or messages.0.content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rejoinder.data.values import as_list, parsed_json

_MOST_LEVELS = 4


def value_at(record: Mapping[str, Any], path: str) -> Any:
    """The value of a field, or the value inside a field that the path leads to; None where there is none.

    A field that has the whole path as its name comes first. Objects in the cells of a table are JSON.
    """
    if path in record:
        return record[path]
    value: Any = record
    for step in path.split("."):
        value = as_list(structured(value))
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list | tuple) and step.isdecimal() and len(step) < 10 and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def structured(value: Any) -> Any:
    """The object or list that a string contains as JSON; anything else unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        try:
            return parsed_json(value)
        except ValueError:
            return value
    return value


def text_paths(record: Mapping[str, Any], prefix: str = "", level: int = 0) -> Iterator[str]:
    """The paths of all strings in a record, outermost first within each field."""
    for key, value in record.items():
        if isinstance(value, str):
            yield f"{prefix}{key}"
        elif isinstance(value, Mapping) and level < _MOST_LEVELS:
            yield from text_paths(value, f"{prefix}{key}.", level + 1)

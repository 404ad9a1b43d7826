"""A value inside a record, by a path such as output.content or messages.0.content."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rejoinder.data.values import FieldError, as_list
from rejoinder.loading.schema import RepeatedKeyError, json_value

_MOST_LEVELS = 4


def value_at(record: Mapping[str, Any], path: str) -> Any:
    """The value of a field, or the value inside a field that the path leads to; None where there is none.

    A field that has the whole path as its name comes first. Objects in the cells of a table are JSON; FieldError where
    one of them has a key twice.
    """
    if path in record:
        return record[path]
    value: Any = record
    for step in path.split("."):
        value = as_list(structured(value, path))
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list | tuple) and step.isdecimal() and len(step) < 10 and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def structured(value: Any, where: str | None = None) -> Any:
    """The object or list that a string contains as JSON; anything else unchanged.

    FieldError if an object has a key twice; without `where`, which is its field, this is left to whoever reads it.
    """
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        try:
            return json_value(value)
        except RepeatedKeyError as error:
            if where is not None:
                raise FieldError(where, str(error)) from None
            return _last_values(value)
        except ValueError:
            return value
    return value


def _last_values(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def text_paths(record: Mapping[str, Any], prefix: str = "", level: int = 0) -> Iterator[str]:
    """The paths of all strings in a record, outermost first within each field."""
    for key, value in record.items():
        if isinstance(value, str):
            yield f"{prefix}{key}"
        elif isinstance(value, Mapping) and level < _MOST_LEVELS:
            yield from text_paths(value, f"{prefix}{key}.", level + 1)

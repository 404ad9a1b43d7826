"""Single values of a record, checked: each is what it should be, or a FieldError says what was found instead."""

from __future__ import annotations

import json
from typing import Any


class FieldError(ValueError):
    """A field's value is not what it should be."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(problem)
        self.name = name


def text_of(value: Any, name: str, expected: str = "a string") -> str:
    """The value, which must be text that can be written as UTF-8."""
    if not isinstance(value, str):
        raise FieldError(name, f"expected {expected}, found {kind_of(value)}")
    if "\x00" in value:
        raise FieldError(name, "holds a NUL character: expected text")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise FieldError(name, f"holds a lone surrogate at character {error.start}: expected text") from None
    return value


def texts_of(values: list[Any] | tuple[Any, ...], name: str) -> tuple[str, ...]:
    """All values, each of which must be text."""
    try:
        text_of("".join(values), name)  # one look at all of them, since hardly ever is one bad
    except (TypeError, FieldError):
        return tuple(text_of(value, f"{name}[{place}]") for place, value in enumerate(values))
    return tuple(values)


def json_list(text: str) -> list[Any] | None:
    """A table has no lists, but a cell may hold one as JSON; None where it does not."""
    if not text.lstrip().startswith("["):
        return None
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, list) else None


def as_list(value: Any) -> Any:
    """A frame's array as a list; anything else as it is."""
    return value.tolist() if hasattr(value, "tolist") else value


def is_missing(value: Any) -> bool:
    """Frames write a missing value as NaN, the only float that differs from itself, or as a NA of their own."""
    return (isinstance(value, float) and value != value) or type(value).__name__ in {"NAType", "NaTType"}


def kind_of(value: Any) -> str:
    """What a person would call the value's type."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else f"a {type(value).__name__}")

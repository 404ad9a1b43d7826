"""Single values of a record, checked: a FieldError says what was expected and what was found instead."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from rejoinder.loading.schema import RepeatedKeyError, json_value


class FieldError(ValueError):
    """A field's value is not what was expected."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(problem)
        self.name = name


def text_of(value: Any, name: str, expected: str = "a string") -> str:
    """The value, which must be text that can be encoded as UTF-8."""
    if not isinstance(value, str):
        raise FieldError(name, f"expected {expected}, found {kind_of(value)}")
    if "\x00" in value:
        raise FieldError(name, "contains a NUL character: expected text")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise FieldError(name, f"contains a lone surrogate at character {error.start}: expected text") from None
    return value


def is_text(value: str) -> bool:
    """Whether a string can be encoded as UTF-8, and contains no NUL character."""
    try:
        return "\0" not in value and bool(value.isascii() or value.encode())
    except UnicodeEncodeError:
        return False


def texts_of(values: list[Any] | tuple[Any, ...], name: str) -> tuple[str, ...]:
    """The values, each of which must be text."""
    try:
        text_of("".join(values), name)  # one check for all of them, since bad ones are rare
    except (TypeError, FieldError):
        return tuple(text_of(value, f"{name}[{place}]") for place, value in enumerate(values))
    return tuple(values)


def json_list(text: str, name: str) -> list[Any] | None:
    """The JSON list in a cell of a table; None if it contains none, FieldError if an object in it has a key twice."""
    if not text.lstrip().startswith("["):
        return None
    try:
        parsed = json_value(text)
    except RepeatedKeyError as error:
        raise FieldError(name, str(error)) from None
    except ValueError:
        return None
    return parsed if isinstance(parsed, list) else None


def label_of(value: Any, name: str) -> str:
    """An id or another label: a string, or a whole number as a string; "" for None."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():  # pandas turns integers with a missing value into floats
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, Integral):
        return text_of(value, name, "a string or a whole number")
    try:
        return str(value)
    except ValueError:  # Python writes no number of more than 4,300 digits
        raise FieldError(name, "expected a string or a whole number, found one of too many digits") from None


def as_list(value: Any) -> Any:
    """An array of a frame as a list; anything else unchanged."""
    return value.tolist() if hasattr(value, "tolist") else value


def is_missing(value: Any) -> bool:
    """Whether a value is what frames write for a missing one: NaN or their own NA."""
    return (isinstance(value, float) and value != value) or type(value).__name__ in {"NAType", "NaTType"}


def kind_of(value: Any) -> str:
    """The value's type in plain words."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else f"a {type(value).__name__}")

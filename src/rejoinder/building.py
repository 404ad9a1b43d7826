"""An instance of a dataclass from named parameters, with errors that a user can act on.

Values come from Python, from TOML and from the command line; what those cannot express is converted: a list becomes a
tuple, a table that names a metric becomes its text, and `none` is text where a parameter takes text but not None.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from numbers import Integral, Real
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from rejoinder.errors import CallError, UnknownNameError, shortened
from rejoinder.specs import spec_of_table

_PLAIN: dict[Any, tuple[type[Any], str]] = {
    bool: (bool, "true or false"),
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
    str: (str, "text"),
    type(None): (type(None), "none"),
}
"""Type of a parameter -> what is accepted for it, and what to call it."""


def instance(name: str, cls: type[Any], preset: Mapping[str, Any], parameters: Mapping[str, Any]) -> Any:
    """An instance of the class registered as `name`; the error for an unknown parameter suggests similar names."""
    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise CallError(f"{name} is not a metric: {cls!r} is not a dataclass")
    fields = {field.name: field for field in dataclasses.fields(cls) if field.init}
    hints = field_types(cls)
    given = dict(preset)
    for key, value in parameters.items():
        if key not in fields:
            raise UnknownNameError(f"parameter of {name}:", key, fields)
        hint = hints.get(key, Any)
        given[key] = converted(value, hint)
        check_type(f"{name}: {key}", given[key], hint)
    for key, field in fields.items():
        if key not in given and field.default is field.default_factory is dataclasses.MISSING:
            raise CallError(f"{name} needs a value for {key}: {name}({key}=...)")
    return cls(**given)


def check_fields(made: Any) -> None:
    """Convert and check the parameters of an instance that was made by calling its class, as `instance` does."""
    hints = field_types(type(made))
    for field in dataclasses.fields(made):
        if field.init:
            given, hint = getattr(made, field.name), hints.get(field.name, Any)
            value = converted(given, hint)
            check_type(f"{made.name}: {field.name}", value, hint)
            if value is not given:
                object.__setattr__(made, field.name, value)  # it is frozen


class _Unknown:
    """Stands for a type that is imported only while types are checked; accepts every value."""

    def __class_getitem__(cls, item: object) -> type[_Unknown]:
        return cls


def field_types(cls: type[Any]) -> dict[str, Any]:
    """The type of each field of a dataclass."""
    if cls not in _FIELD_TYPES:
        _FIELD_TYPES[cls] = _resolved_types(cls)
    return _FIELD_TYPES[cls]


_FIELD_TYPES: dict[type[Any], dict[str, Any]] = {}


def _resolved_types(cls: type[Any]) -> dict[str, Any]:
    unknown: dict[str, Any] = {}
    while True:
        try:
            return get_type_hints(cls, localns=unknown)
        except NameError as error:
            unknown[error.name or ""] = _Unknown


def converted(value: Any, hint: Any) -> Any:
    """A value with what JSON, TOML and the command line cannot express converted, for a parameter of this type."""
    kinds = alternatives(hint)
    if value is None and str in kinds and type(None) not in kinds:
        return "none"
    if isinstance(value, Mapping) and "metric" in value:
        return spec_of_table(value)
    if type(value) in {list, tuple} and not any(get_origin(kind) is list for kind in kinds):
        return tuple(converted(item, Any) for item in value)
    return value


def check_type(what: str, value: Any, hint: Any) -> None:
    """Raise a CallError if a value does not have the parameter's type; types unknown here accept any value."""
    if isinstance(value, Integral) and abs(int(value)) >= 2**63:  # more than arrays can hold
        raise CallError(f"{what} must be a number of less than 19 digits, not {shortened(value)}")
    kinds = alternatives(hint)
    lists = [kind for kind in kinds if get_origin(kind) is tuple]
    if lists and isinstance(value, tuple):
        items = get_args(lists[0])
        if items[-1] is Ellipsis:
            items = items[:1] * len(value)
        if len(items) != len(value):
            raise CallError(f"{what} must be a list of {len(items)}, not {shortened(value)}")
        for number, (item, kind) in enumerate(zip(value, items, strict=True)):
            check_type(f"{what}[{number}]", item, kind)
    elif not any(_fits(value, kind) for kind in kinds):
        expected = " or ".join(_called(kind) for kind in kinds if kind is not type(None))
        brackets = " (in brackets: [a, b])" if lists and isinstance(value, str) else ""
        raise CallError(f"{what} must be {expected}{brackets}, not {shortened(value)}")


def alternatives(hint: Any) -> tuple[Any, ...]:
    """X | Y -> X and Y."""
    return get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)


def _fits(value: Any, kind: Any) -> bool:
    if kind in _PLAIN:
        return isinstance(value, _PLAIN[kind][0]) and (kind is bool or not isinstance(value, bool))
    if get_origin(kind) is not None:
        return get_origin(kind) is not tuple  # a tuple was looked at item by item
    if not isinstance(kind, type) or kind in {Any, _Unknown} or getattr(kind, "_is_protocol", False):
        return True
    return isinstance(value, kind)


def _called(kind: Any) -> str:
    if kind in _PLAIN:
        return _PLAIN[kind][1]
    return "a list" if get_origin(kind) is tuple else f"a {getattr(kind, '__name__', kind)}"

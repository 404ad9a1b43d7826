"""A page's settings, the fields of its `Settings` dataclass, from texts such as `contexts=600`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

from rejoinder.errors import CallError, UnknownNameError

SettingsT = TypeVar("SettingsT")

_TRUTH = {"true": True, "false": False}


def settings_of(cls: type[SettingsT], given: Sequence[str]) -> SettingsT:
    """The settings with their defaults, save those that are given; several values are separated by commas."""
    hints = get_type_hints(cls)
    values: dict[str, Any] = {}
    for text in given:
        key, sign, value = text.partition("=")
        if not sign:
            raise CallError(f"cannot read the setting {text!r}: expected KEY=VALUE")
        if key not in hints:
            raise UnknownNameError("setting", key, hints)
        values[key] = _value(key, value, hints[key])
    return cls(**values)


def _value(key: str, text: str, hint: Any) -> Any:
    kinds = [kind for kind in get_args(hint) or (hint,) if kind not in (type(None), ...)]
    if get_args(hint)[-1:] == (...,):
        parts = tuple(part.strip() for part in text.split(",") if part.strip())
        if not parts:
            raise CallError(f"setting {key}: expected at least one value")
        return parts
    try:
        value = _TRUTH[text.lower()] if kinds == [bool] else kinds[0](text)
    except (KeyError, ValueError):
        raise CallError(f"setting {key}: cannot read {text!r} as {kinds[0].__name__}") from None
    if kinds == [int] and value < 1 and key != "seed":
        raise CallError(f"setting {key}: expected at least 1, not {value}")
    return value


def shown_settings(settings: Any) -> list[str]:
    """`key=value` of each field that differs from its default; without paths, which differ between machines."""
    found = []
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if value != field.default:
            found.append(f"{field.name}={_text(value)}")
    return found


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(_text, value))
    if isinstance(value, str) and Path(value).is_dir():
        return "FOLDER"
    return "FILE" if isinstance(value, str) and Path(value).is_file() else str(value)

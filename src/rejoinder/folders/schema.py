"""JSON from outside, and the schema of a model folder's files; config.json, and names that must lie within a folder."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, TypeVar

from rejoinder.errors import CallError, DataError, RejoinderError, shortened
from rejoinder.specs import check_type, converted, field_types

# JSON from outside, and the schema of a model folder's JSON files: the types of dataclass fields, and ranges.
#
# Whatever does not fit is a DataError that names the file and the field.


T = TypeVar("T")
_LARGEST = 1 << 64
"""Whole numbers in JSON are smaller: a seed may have 64 bits."""


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file of a model folder."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise DataError("is missing: expected a file of the model", file=str(path)) from error
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", file=str(path)) from error
    except UnicodeDecodeError as error:
        raise DataError(f"is not UTF-8 text ({error})", file=str(path)) from error
    return parsed_json(text, str(path))


class RepeatedKeyError(ValueError):
    """An object of JSON has a key twice: parsers disagree on which of the values counts."""


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON from its keys and values, as `object_pairs_hook`; RepeatedKeyError if a key stands twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise RepeatedKeyError(f"names the key {shortened(twice)} twice in one object: expected unique keys")
    return found


# json.loads would make a new decoder for each text, which takes as long as a short record.
_DECODER = json.JSONDecoder(object_pairs_hook=unique_keys)


def json_value(text: str | bytes) -> Any:
    """The value of a JSON text that was written elsewhere; a ValueError for any kind of invalid text.

    An object that has a key twice is invalid too. JSON that this package did not just write itself is read with this
    function, or with a decoder that has `unique_keys`.
    """
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    try:
        return _DECODER.decode(text)
    except RecursionError as error:
        raise ValueError(f"nested too deeply: {error}") from None


def parsed_json(text: str, file: str) -> dict[str, Any]:
    """The object that a text describes; numbers are finite and fit into 64 bits."""
    try:
        found = _STRICT.decode(text)
    except RepeatedKeyError as error:
        raise DataError(str(error), file=file) from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"is not JSON ({error})", file=file) from error
    if not isinstance(found, dict):
        raise DataError(f"must be a JSON object, not {shortened(found)}", file=file)
    return found


def _number(text: str) -> float:
    value = float(text.replace("Infinity", "inf"))
    if not math.isfinite(value):
        raise ValueError(f"{shortened(text)} is not a finite number")
    return value


def _whole(text: str) -> int:
    if len(text) > len(str(_LARGEST)) + 1 or abs(int(text)) > _LARGEST:
        raise ValueError(f"{shortened(text)} is too large")
    return int(text)


_STRICT = json.JSONDecoder(object_pairs_hook=unique_keys, parse_constant=_number, parse_float=_number, parse_int=_whole)


def record(cls: type[T], plain: object, file: str, field: str) -> T:
    """An instance of a dataclass from the JSON object in a field of a file; other keys of the object are ignored."""
    values = values_of(cls, plain, file, field)
    try:
        return cls(**values)
    except CallError as error:
        raise DataError(str(error), file=file, field=field) from error


def values_of(
    cls: type[Any], plain: object, file: str, field: str, names: Sequence[str] | None = None
) -> dict[str, Any]:
    """The values in a JSON object of a dataclass's fields, checked by their types; all fields unless `names` are given.

    A field that has a default may be missing.
    """
    given, types = checked_object(plain, file, field), field_types(cls)
    found: dict[str, Any] = {}
    for each in fields(cls):
        if not each.init or (names is not None and each.name not in names):
            continue
        where = f"{field}.{each.name}"
        if each.name in given:
            found[each.name] = typed(given[each.name], types[each.name], file, where)
        elif each.default is each.default_factory is MISSING:
            raise DataError("is missing", file=file, field=where)
    return found


def checked_object(plain: object, file: str, field: str) -> dict[str, Any]:
    """The value of a field that must be a JSON object."""
    if not isinstance(plain, dict):
        raise DataError(f"must be an object, not {shortened(plain)}", file=file, field=field)
    return plain


def checked_member(plain: Mapping[str, Any], key: str, kind: Any, file: str, field: str = "learned") -> Any:
    """The value of a key in a JSON object, which must be of a type such as float or tuple[float, ...]."""
    where = f"{field}.{key}"
    if key not in plain:
        raise DataError("is missing", file=file, field=where)
    return typed(plain[key], kind, file, where)


def typed(value: object, kind: Any, file: str, field: str) -> Any:
    """A value of JSON as a value of this type."""
    found = converted(value, kind)
    try:
        check_type("it", found, kind)
    except CallError as error:
        raise DataError(str(error).removeprefix("it ").removeprefix("it"), file=file, field=field) from None
    return found


def check_range(value: float, low: float, high: float, file: str, field: str) -> None:
    """DataError unless the value is from `low` to `high`."""
    if not low <= value <= high:
        raise DataError(f"must be from {low:g} to {high:g}, not {shortened(value)}", file=file, field=field)


@contextmanager
def opening(folder: Path) -> Iterator[None]:
    """A DataError for anything else that a damaged folder makes the libraries raise."""
    try:
        yield
    except RejoinderError:
        raise
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise DataError(f"cannot be loaded ({reason})", file=str(folder)) from error


# Names of files and folders that must lie within a model folder.


def plain_name(name: object, file: str, field: str = "") -> str:
    """The name of a file in the same folder; DataError if it leads anywhere else."""
    if not isinstance(name, str) or not name or name in {".", ".."} or _parts(name) != (name,):
        raise DataError(f"must be the name of a file within the folder, not {shortened(name)}", file=file, field=field)
    return name


def looks_like_path(text: str) -> bool:
    """Whether a text has more than one part, as a path has on any system."""
    return len(_parts(text)) > 1 or text.startswith(("~", "."))


def _parts(name: str) -> tuple[str, ...]:
    posix, windows = PurePosixPath(name).parts, PureWindowsPath(name).parts
    return posix if len(posix) > len(windows) else windows


def refuse_links(folder: Path) -> None:
    """DataError if something in a saved folder is a link that leaves the folder."""
    inside = folder.resolve()
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() and not _resolved(path).is_relative_to(inside):
            raise DataError("is a link to a place outside the model folder: expected a file", file=str(path))


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a link to itself
        return Path(path.anchor)


# config.json of a folder that a trained model was saved in: it names the model's class.
#
# Such a folder is data, never code. `kind` is what messages call the model: an evaluator, a reply model.


CONFIG = "config.json"
FORMAT = 1
"""Increases when folders that were written before can no longer be read."""

_FIELDS: dict[str, type] = {"name": str, "parameters": dict, "fit": dict}
"""What every config.json has."""


def read_config(folder: Path, kind: str = "evaluator") -> dict[str, Any]:
    """The content of config.json, with `name`, `parameters` and `fit`; an error if the folder holds no such model."""
    path = folder / CONFIG
    if not path.is_file():
        raise CallError(f"{folder} holds no {kind}: expected {CONFIG} in it")
    config = read_json(path)
    if not all(isinstance(config.get(key), cls) for key, cls in _FIELDS.items()):
        raise DataError(f"does not describe {with_article(kind)}: expected name, parameters and fit", file=str(path))
    if config.get("format") != FORMAT:
        raise DataError(f"has format {shortened(config.get('format'))}: this version reads {FORMAT}", file=str(path))
    refuse_links(folder)
    return config


def with_article(kind: str) -> str:
    """The noun with its article: an evaluator, a reply model."""
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"

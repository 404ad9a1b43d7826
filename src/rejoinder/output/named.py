"""The files that options and parameters name: a run must not write over anything that it reads."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rejoinder.model_folder import CONFIG

_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_SEPARATORS = re.compile(r"[=,()\[\]{}<>@'\"]")
_LONGEST = 10_000  # characters of a text that is searched for names of files


def paths_of(data: Any) -> list[Path]:
    """The paths among data that a function was given; none where the data are in memory."""
    several = data if isinstance(data, list | tuple) else [data]
    return [Path(item) for item in several if isinstance(item, str | Path)]


def named_files(*values: Any) -> list[Path]:
    """The files that parameters name, and the files of the model folders that they name.

    A parameter may be a path, a metric such as 'ensemble(members=[a, b])', a system such as 'NAME=FOLDER@greedy', or
    lists and mappings of these. What a TOML file names counts as well.
    """
    return list(dict.fromkeys(path for value in values for path in _files(value)))


def _files(value: Any) -> Iterator[Path]:
    if isinstance(value, str | Path):
        for name in _names_in(str(value)):
            yield from _files_at(Path(name))
    elif isinstance(value, Mapping):
        yield from named_files(*value, *value.values())
    elif isinstance(value, list | tuple):
        yield from named_files(*value)


def _names_in(text: str) -> list[str]:
    """The text itself, and whatever in it may be the name of a file."""
    if len(text) > _LONGEST:
        return []
    quoted = [first or second for first, second in _QUOTED.findall(text)]
    after_name = text.partition("=")[2]
    return [name for name in (text, after_name, *quoted, *map(str.strip, _SEPARATORS.split(text))) if name]


def _files_at(path: Path) -> Iterator[Path]:
    try:
        if path.is_file():
            yield path
            if path.suffix == ".toml":
                yield from _files(tomllib.loads(path.read_text(encoding="utf-8")))
        elif (path / CONFIG).is_file():
            yield from (file for file in path.rglob("*") if file.is_file())
    except (OSError, ValueError, RecursionError):  # not a file's name; a bad TOML file is reported where it is used
        return

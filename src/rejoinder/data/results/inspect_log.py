"""Logs of Inspect: one model on one task, with one or more scores per sample.

Letters are numbers as in Inspect's own means: C is 1, P 0.5, I and N 0. A score of several values gives one column for
each, such as "judge.clarity".
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rejoinder.errors import DataError, MissingExtraError
from rejoinder.loading.schema import RepeatedKeyError, json_value

_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_LOCAL_HEADER = 30
"""Bytes of a ZIP entry's header, before its name."""


def is_log(document: Any) -> bool:
    """Whether a JSON document is a log."""
    return isinstance(document, dict) and document.keys() >= {"version", "eval", "status"}


def rows(document: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """One row per sample and epoch of a log in JSON."""
    if not document.get("samples"):
        raise DataError("is a log of Inspect without samples: expected one of a finished run", file=name)
    return list(_rows(document["eval"], document["samples"]))


def archive_rows(path: Path) -> list[dict[str, Any]]:
    """One row per sample and epoch of an .eval file; the samples' messages are not read."""
    try:
        with zipfile.ZipFile(path) as archive:
            header = json_value(_content(archive, "header.json"))
            summaries = json_value(_content(archive, "summaries.json"))
    except KeyError:
        raise DataError("is a log of Inspect without results: expected one of a finished run", file=str(path)) from None
    except RepeatedKeyError as error:
        raise DataError(str(error), file=str(path)) from None
    except (zipfile.BadZipFile, ValueError, EOFError):
        raise DataError("is damaged: expected a log of Inspect", file=str(path)) from None
    return list(_rows(header["eval"], summaries))


def _content(archive: zipfile.ZipFile, name: str) -> bytes:
    """One file of the archive. Before Python 3.14, zipfile cannot decompress Zstandard, which Inspect uses."""
    entry = archive.getinfo(name)
    try:
        return archive.read(entry)
    except NotImplementedError:
        pass
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("reading .eval files of Inspect", "inspect") from None
    file: Any = archive.fp
    file.seek(entry.header_offset)
    local = file.read(_LOCAL_HEADER)
    file.seek(int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little"), 1)
    packed = file.read(entry.compress_size)
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed) as reader:
            return bytes(reader.read(entry.file_size))  # no more than the archive says
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from None


def _rows(run: Mapping[str, Any], samples: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for sample in samples:
        scores = {
            column: value
            for name, score in (sample.get("scores") or {}).items()
            for column, value in _columns(name, score["value"])
        }
        yield {"id": f"{run['task']}/{sample['id']}", "system": run["model"], "scores": scores}


def _columns(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _columns(f"{name}.{key}", inner)
    elif isinstance(value, str):
        yield name, _LETTERS.get(value, value)
    else:
        # NaN: the sample could not be scored.
        yield name, None if isinstance(value, float) and value != value else value

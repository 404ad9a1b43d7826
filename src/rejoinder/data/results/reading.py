"""Recognises result files, and gives their rows as records of a score table.

A row has `id`, `system` and `scores`, and `context_id` where the tool says which inputs are equal. Where it does not,
the id begins with the task, so that equal ids of several tasks are not paired.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rejoinder.data.formats.opening import open_bytes, unreadable
from rejoinder.data.results import inspect_log, lm_eval, promptfoo
from rejoinder.errors import DataError
from rejoinder.loading.schema import json_value

Rows = list[dict[str, Any]]


def result_rows(origin: Any) -> Rows | None:
    """The rows of one or more result files; None where these are not result files of a tool that we know.

    Where two files have the same system and the same samples, such as two runs of one model with different prompts,
    the system's name begins with that of the file.
    """
    paths = [origin] if isinstance(origin, str | Path) else origin
    if not isinstance(paths, list | tuple) or not paths or not all(isinstance(one, str | Path) for one in paths):
        return None
    files = [Path(one) for one in paths]
    # Unlike Path.is_file, os.path.isfile raises no error for a name that is too long.
    found = [_rows_of_file(file) if os.path.isfile(file) else None for file in files]
    read = [rows for rows in found if rows is not None]
    if not read:
        return None
    if len(read) < len(found):
        raise DataError("is not a result file of the same kind as the others", file=str(files[found.index(None)]))
    return [row for rows in _distinct(files, read) for row in rows]


def _rows_of_file(path: Path) -> Rows | None:
    try:
        return _recognised(path)
    except (KeyError, TypeError, AttributeError) as error:
        problem = f"has an unexpected structure ({type(error).__name__}: {error})"
        raise DataError(f"{problem}: expected a complete result file", file=str(path)) from None
    except OSError as error:
        raise unreadable(error, str(path)) from None


def _recognised(path: Path) -> Rows | None:
    if path.suffix == ".eval":
        return inspect_log.archive_rows(path)
    if path.suffix == ".json":
        document = _document(path)
        if inspect_log.is_log(document):
            return inspect_log.rows(document, str(path))
        if promptfoo.is_result(document):
            return promptfoo.rows(document, str(path))
    if path.suffix == ".jsonl" and lm_eval.is_sample(_first_line(path)):
        return lm_eval.rows(path)
    return None


def _document(path: Path) -> Any:
    """The JSON object that is the whole file; None where it is something else."""
    with open_bytes(path) as file:
        if file.read(1) != b"{":
            return None
        try:
            return json_value(b"{" + file.read())
        except ValueError:  # reported by the reader of tables
            return None


def _first_line(path: Path) -> Any:
    with open_bytes(path) as file:
        try:
            return json_value(file.readline())
        except ValueError:
            return None


def _distinct(files: Sequence[Path], read: Sequence[Rows]) -> list[Rows]:
    """The rows of all files, with system names that keep the same samples of two files apart."""
    count = Counter(key for rows in read for key in {(row["system"], row["id"]) for row in rows})
    return [
        [{**row, "system": f"{file.stem}:{row['system']}"} for row in rows]
        if any(count[row["system"], row["id"]] > 1 for row in rows)
        else rows
        for file, rows in zip(files, read, strict=True)
    ]

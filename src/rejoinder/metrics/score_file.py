"""A file of scores, as `score -o` writes it, back to a table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.data.output import SCORE_SUFFIXES, meta_path
from rejoinder.data.rows import rows_of_file
from rejoinder.errors import CallError, DataError
from rejoinder.metrics.table import ScoreTable

_META_KINDS: dict[str, type[Any]] = {
    "signatures": dict,
    "summary": dict,
    "ranges": dict,
    "higher_is_better": dict,
    "warnings": list,
    "seed": int,
    "resamples": int,
}
_KIND_NAMES: dict[type[Any], str] = {dict: "an object", list: "a list", int: "a whole number"}


def read_scores(path: Path) -> ScoreTable:
    """The table that a score file holds, with the signatures from its meta data where they are."""
    if path.suffix not in SCORE_SUFFIXES:
        raise CallError(f"{path}: expected a file of scores: {', '.join(SCORE_SUFFIXES)}")
    ids: list[str] = []
    codes: list[int] = []
    systems: dict[str, int] = {}
    columns: dict[str, list[float]] = {}
    for line, record in rows_of_file(path, str(path)):
        identifier, system, scores = _checked(record, str(path), line)
        for label in scores:
            if label not in columns:
                columns[label] = [np.nan] * len(ids)
        for label, column in columns.items():
            column.append(_number(scores.get(label), str(path), line, label))
        ids.append(identifier)
        codes.append(systems.setdefault(system, len(systems)))
    if not ids:
        raise DataError("holds no scores: expected a row an example", file=str(path))
    meta = _meta(path)
    signatures = meta.get("signatures", {})
    order = [label for label in signatures if label in columns] + [
        label for label in columns if label not in signatures
    ]
    return ScoreTable(
        scores={label: np.array(columns[label], np.float64) for label in order},
        signatures={label: signatures.get(label, "unknown (no meta data beside the scores)") for label in order},
        system_names=tuple(systems),
        system_of=np.array(codes, np.int32),
        ids=ids,
        corpus=dict(_corpus(meta)),
        ranges={label: _range(ends) for label, ends in meta.get("ranges", {}).items() if label in columns},
        higher_is_better=meta.get("higher_is_better", {}),
        notes=tuple(meta.get("warnings", ())),
        seed=int(meta.get("seed", 0)),
        resamples=int(meta.get("resamples", 1000)),
    )


def _checked(record: Any, file: str, line: int) -> tuple[str, str, dict[str, Any]]:
    if isinstance(record, DataError):
        raise record
    if not isinstance(record, dict) or not isinstance(record.get("id"), str):
        raise DataError("expected a row of scores: id, system, scores", file=file, line=line, field="id")
    scores = record.get("scores")
    if scores is None:  # a table: a column a metric
        scores = {key: value for key, value in record.items() if key not in {"id", "system"}}
    if not isinstance(scores, dict) or not scores:
        raise DataError("expected names with numbers", file=file, line=line, field="scores")
    return record["id"], str(record.get("system") or ""), scores


def _number(value: Any, file: str, line: int, label: str) -> float:
    if value is None or value == "":
        return float("nan")
    try:
        return float(value)
    except (TypeError, ValueError):
        problem = f"expected a number or null, found {value!r}"
        raise DataError(problem, file=file, line=line, field=label) from None


def _meta(path: Path) -> dict[str, Any]:
    """What stands beside the scores (Parquet: in their file); nothing where that is missing."""
    if path.suffix == ".parquet":
        import polars as pl

        text = pl.read_parquet_metadata(path).get("rejoinder", "{}")
        return _checked_meta(text, str(path))
    beside = meta_path(path)
    try:
        return _checked_meta(beside.read_text(encoding="utf-8"), str(beside))
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError:
        raise DataError("is not valid UTF-8", file=str(beside)) from None


def _checked_meta(text: str, file: str) -> dict[str, Any]:
    try:
        meta = json.loads(text)
    except ValueError:
        raise DataError("is not valid JSON: expected what `rejoinder score -o` wrote", file=file) from None
    if not isinstance(meta, dict):
        raise DataError("expected one object, as `rejoinder score -o` wrote it", file=file)
    for key, kind in _META_KINDS.items():
        if not isinstance(meta.get(key, kind()), kind):
            problem = f"expected {_KIND_NAMES[kind]}, as `rejoinder score -o` wrote it"
            raise DataError(problem, file=file, field=key)
    return meta


def _range(ends: list[float | None]) -> tuple[float, float]:
    """JSON has no infinity: null is an open end."""
    low, high = ends
    return (-np.inf if low is None else low, np.inf if high is None else high)


def _corpus(meta: dict[str, Any]) -> Iterator[tuple[str, dict[str, float]]]:
    for label, systems in meta.get("summary", {}).items():
        known = {system: cell["corpus"] for system, cell in systems.items() if cell.get("corpus") is not None}
        if known:
            yield label, known

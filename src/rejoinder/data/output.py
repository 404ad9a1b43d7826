"""Atomic writing: into a temporary file first, then moved into place, so that no reader sees half a file."""

from __future__ import annotations

import glob
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from rejoinder.data.spreadsheets import column_for_spreadsheet, for_spreadsheet
from rejoinder.errors import CallError
from rejoinder.types import Example

SCORE_SUFFIXES = (".jsonl", ".csv", ".parquet")


def check_target(path: Path, suffixes: Sequence[str], *, inputs: Sequence[str] = ()) -> None:
    """Raise a CallError, before any work is done, if the file cannot be written or is one of the inputs."""
    if path.suffix not in suffixes:
        raise CallError(
            f"{path}: cannot write {path.suffix or 'a file without a suffix'}; expected {', '.join(suffixes)}"
        )
    if path.is_dir():
        raise CallError(f"{path} is a folder: expected the name of a file")
    if not path.parent.is_dir():
        raise CallError(f"{path.parent} does not exist: expected a folder to write {path.name} into")
    if not os.access(path.parent, os.W_OK):
        raise CallError(f"{path.parent} is not writable: expected a folder to write {path.name} into")
    for read in inputs:
        if path.exists() and Path(read).exists() and path.samefile(read):
            raise CallError(f"{path} is an input: expected another file to write to")


def check_scores_target(path: Path, *, inputs: Sequence[str] = ()) -> None:
    """Raise a CallError if scores cannot be written there, or would overwrite the meta data of another score file."""
    check_target(path, SCORE_SUFFIXES, inputs=inputs)
    meta_file = meta_path(path)
    if path.suffix == ".parquet" or not meta_file.is_file():
        return
    try:
        meta = json.loads(meta_file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):  # belongs to no score file
        return
    owner = owner_of_meta(path, meta if isinstance(meta, dict) else {})
    if owner != path and owner.exists():
        raise CallError(f"{meta_file} belongs to {owner}: expected another name than {path}, not only another suffix")


@contextmanager
def replacing(path: Path) -> Iterator[IO[str]]:
    """A text file that replaces `path` when the block succeeds, and leaves no trace when it fails."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            yield file
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text to a file, completely or not at all."""
    with replacing(path) as file:
        file.write(text)


def score_row(example_id: str, system: str, scores: Mapping[str, float]) -> str:
    """One line of a score file: {"id", "system", "scores": {name: number or null}}."""
    known = {label: None if math.isnan(value) else value for label, value in scores.items()}
    return json.dumps({"id": example_id, "system": system, "scores": known}, ensure_ascii=False) + "\n"


def example_record(example: Example) -> dict[str, Any]:
    """The example's fields as a record of a file of replies; those without a value are left out."""
    found = {
        "id": example.id,
        "context": list(example.context),
        "response": example.response,
        "references": list(example.references),
        "system": example.system,
        "speakers": list(example.speakers),
        "context_id": example.context_id,
    }
    return {key: value for key, value in found.items() if value or key in {"id", "context", "response"}}


def write_records(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write one JSON object per line, completely or not at all."""
    with replacing(path) as file:
        file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def meta_path(scores: Path) -> Path:
    """Where signatures, seed and version go: scores.jsonl -> scores.meta.json."""
    return scores.with_suffix(".meta.json")


def owner_of_meta(scores: Path, meta: Mapping[str, Any]) -> Path:
    """The score file that the meta data belong to: scores.csv and scores.jsonl share one meta data file.

    Only the suffix is compared, since scores and meta data may have been renamed together.
    """
    name = meta.get("scores")
    return scores.with_suffix(Path(name).suffix) if isinstance(name, str) else scores


def publish_scores(rows: Path, target: Path, meta: Mapping[str, Any], labels: Sequence[str]) -> None:
    """Convert finished JSON lines to the target's format and move them into place with their meta data."""
    if target.suffix == ".jsonl":
        _publish_with_meta(rows, target, meta)
        return
    import polars as pl

    struct = pl.Struct(dict.fromkeys(labels, pl.Float64))
    schema: dict[str, Any] = {"id": pl.String, "system": pl.String, "scores": struct}
    # A file name is not a pattern, even if it contains a bracket.
    frame = pl.scan_ndjson(glob.escape(str(rows)), schema=schema)
    temporary = target.with_name(target.name + ".tmp")
    try:
        if target.suffix == ".parquet":
            frame.sink_parquet(temporary, metadata={"rejoinder": json.dumps(meta, ensure_ascii=False)})
            temporary.replace(target)
        else:
            columns = {label: for_spreadsheet(label) for label in labels}
            texts = [column_for_spreadsheet("id"), column_for_spreadsheet("system")]
            frame.with_columns(texts).unnest("scores").rename(columns).sink_csv(temporary)
            _publish_with_meta(temporary, target, meta)
    finally:
        temporary.unlink(missing_ok=True)
    rows.unlink()


def _publish_with_meta(finished: Path, target: Path, meta: Mapping[str, Any]) -> None:
    """Delete the old meta data, then move the scores, then the new meta data: an interruption leaves scores without
    meta data, never scores with those of another run."""
    with replacing(meta_path(target)) as file:
        file.write(json.dumps({"scores": target.name, **meta}, indent=2, ensure_ascii=False) + "\n")
        file.flush()
        meta_path(target).unlink(missing_ok=True)
        finished.replace(target)

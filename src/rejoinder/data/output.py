"""Writing: beside the target first, then moved into place, so that a reader never meets half a file."""

from __future__ import annotations

import glob
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from rejoinder.errors import CallError

SCORE_SUFFIXES = (".jsonl", ".csv", ".parquet")


def check_target(path: Path, suffixes: Sequence[str], *, inputs: Sequence[str] = ()) -> None:
    """Raise a CallError when nothing could be written there, or over an input, before any work is done."""
    if path.suffix not in suffixes:
        raise CallError(
            f"{path}: cannot write {path.suffix or 'a file without a suffix'}; expected {', '.join(suffixes)}"
        )
    if path.is_dir():
        raise CallError(f"{path} is a folder: expected the name of a file")
    if not path.parent.is_dir():
        raise CallError(f"{path.parent} does not exist: expected a folder to write {path.name} into")
    if not os.access(path.parent, os.W_OK):
        raise CallError(f"{path.parent} may not be written to: expected a folder to write {path.name} into")
    for read in inputs:
        if path.exists() and Path(read).exists() and path.samefile(read):
            raise CallError(f"{path} is what would be read: expected another file to write to")


@contextmanager
def replacing(path: Path) -> Iterator[IO[str]]:
    """A text file that takes the place of `path` when the block ends well, and leaves no trace otherwise."""
    beside = path.with_name(path.name + ".tmp")
    try:
        with beside.open("w", encoding="utf-8", newline="\n") as file:
            yield file
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Put a text into a file, whole or not at all."""
    with replacing(path) as file:
        file.write(text)


def score_row(example_id: str, system: str, scores: Mapping[str, float]) -> str:
    """One line of a score file: {"id", "system", "scores": {name: number or null}}."""
    known = {label: None if math.isnan(value) else value for label, value in scores.items()}
    return json.dumps({"id": example_id, "system": system, "scores": known}, ensure_ascii=False) + "\n"


def meta_path(scores: Path) -> Path:
    """Where signatures, seed and version go: scores.jsonl -> scores.meta.json."""
    return scores.with_suffix(".meta.json")


def publish_scores(rows: Path, target: Path, meta: Mapping[str, Any], labels: Sequence[str]) -> None:
    """Turn finished JSON lines into the target's format, with its meta data, and move both into place."""
    if target.suffix == ".jsonl":
        write_text(meta_path(target), json.dumps(meta, indent=2, ensure_ascii=False) + "\n")
        rows.replace(target)
        return
    import polars as pl

    struct = pl.Struct(dict.fromkeys(labels, pl.Float64))
    schema: dict[str, Any] = {"id": pl.String, "system": pl.String, "scores": struct}
    # The name of a file is no pattern, even where it holds a bracket.
    frame = pl.scan_ndjson(glob.escape(str(rows)), schema=schema)
    beside = target.with_name(target.name + ".tmp")
    try:
        if target.suffix == ".parquet":
            frame.sink_parquet(beside, metadata={"rejoinder": json.dumps(meta, ensure_ascii=False)})
        else:
            frame.unnest("scores").sink_csv(beside)
            write_text(meta_path(target), json.dumps(meta, indent=2, ensure_ascii=False) + "\n")
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
    rows.unlink()

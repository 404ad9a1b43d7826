"""Score files: one row per example, and meta data that make every number traceable."""

from __future__ import annotations

import glob
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rejoinder.data.formats.spreadsheets import column_for_spreadsheet, for_spreadsheet
from rejoinder.errors import CallError
from rejoinder.output.targets import Output
from rejoinder.output.unfinished import UnfinishedRows, content_digest
from rejoinder.output.writing import replacing, replacing_file, temporary_beside

SCORE_SUFFIXES = (".jsonl", ".csv", ".parquet")


def score_output(path: Path) -> Output:
    """The file for scores, with the other files that are written with it."""
    unfinished = UnfinishedRows(path)

    def check() -> None:
        unfinished.check()
        _check_meta(path)

    shared = () if path.suffix == ".parquet" else (meta_path(path),)
    return Output(path, SCORE_SUFFIXES, (unfinished.rows, unfinished.state), shared, check)


def _check_meta(path: Path) -> None:
    """Raise a CallError if the file for meta data was not written by this program, or belongs to other scores."""
    meta_file = meta_path(path)
    if path.suffix == ".parquet" or not os.path.lexists(meta_file):
        return
    try:
        meta = json.loads(meta_file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        meta = None
    if not isinstance(meta, dict) or not isinstance(meta.get("signatures"), dict):
        raise CallError(
            f"{meta_file} is not the meta data of scores, but {path} would need it for its own: expected another name"
        )
    owner = owner_of_meta(path, meta)
    if owner != path and owner.exists():
        raise CallError(f"{meta_file} belongs to {owner}: expected another name than {path}, not only another suffix")


def score_row(example_id: str, system: str, scores: Mapping[str, float]) -> str:
    """One line of a score file: {"id", "system", "scores": {name: number or null}}."""
    known = {label: None if math.isnan(value) else value for label, value in scores.items()}
    return json.dumps({"id": example_id, "system": system, "scores": known}, ensure_ascii=False) + "\n"


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
    if target.suffix == ".parquet":
        with replacing_file(target) as temporary:
            frame.sink_parquet(temporary, metadata={"rejoinder": json.dumps(meta, ensure_ascii=False)})
    else:
        columns = {label: for_spreadsheet(label) for label in labels}
        texts = [column_for_spreadsheet("id"), column_for_spreadsheet("system")]
        with temporary_beside(target) as temporary:
            frame.with_columns(texts).unnest("scores").rename(columns).sink_csv(temporary)
            _publish_with_meta(temporary, target, meta)
    rows.unlink()


def _publish_with_meta(finished: Path, target: Path, meta: Mapping[str, Any]) -> None:
    """Delete the old meta data, then move the scores, then the new meta data: an interruption leaves scores without
    meta data, never scores with those of another run."""
    _check_meta(target)  # again: the run may have taken hours
    about = {"scores": target.name, "content": content_digest(finished), **meta}
    with replacing(meta_path(target)) as file:
        file.write(json.dumps(about, indent=2, ensure_ascii=False) + "\n")
        file.flush()
        meta_path(target).unlink(missing_ok=True)
        finished.replace(target)

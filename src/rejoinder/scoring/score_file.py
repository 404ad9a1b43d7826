"""A score file: written by `score -o`, in one piece or in parts, and read back into a table."""

from __future__ import annotations

import glob
import json
import math
import os
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Texts
from rejoinder.data.contexts import Grouping
from rejoinder.data.files import NumberedRow, rows_of_file
from rejoinder.data.tables import column_for_spreadsheet, for_spreadsheet, from_spreadsheet, polars_failures
from rejoinder.errors import CallError, DataError, shortened
from rejoinder.folders.outputs import (
    START_OVER,
    Output,
    UnfinishedRows,
    check_finished,
    check_same_run,
    content_digest,
    replacing,
    replacing_file,
    temporary_beside,
)
from rejoinder.folders.schema import RepeatedKeyError, json_value
from rejoinder.options import HIGHEST_SEED, MOST_RESAMPLES, RESAMPLES
from rejoinder.scoring.reliability import Doubt, Doubts
from rejoinder.scoring.table import ScoreTable, interval_columns
from rejoinder.types import Example, Scores

# A score file, as `score -o` writes it, read back into a table.


def read_score_file(path: Path) -> ScoreTable:
    """The table that a score file holds, with signatures from its metadata where there are any."""
    if path.suffix not in SCORE_SUFFIXES:
        raise CallError(f"{path}: expected a score file: {', '.join(SCORE_SUFFIXES)}")
    ids, codes = Texts(), array("i")
    systems: dict[str, int] = {}
    columns: dict[str, array[float]] = {}
    for line, record in _rows(path):
        identifier, system, scores = _checked(record, str(path), line)
        for label in scores:
            if label not in columns:
                columns[label] = array("d", [np.nan]) * len(ids)
        for label, column in columns.items():
            column.append(_number(scores.get(label), str(path), line, label))
        ids.append(identifier)
        codes.append(systems.setdefault(system, len(systems)))
    if not ids:
        raise DataError("holds no scores: expected one row per example", file=str(path))
    metadata, lacking = metadata_of(path)
    arrays = {label: np.frombuffer(column) for label, column in columns.items()}
    return score_table_of(arrays, tuple(systems), np.frombuffer(codes, np.int32), metadata, lacking, ids=ids)


def score_table_of(
    columns: Mapping[str, Scores],
    system_names: tuple[str, ...],
    system_of: NDArray[np.int32],
    metadata: Mapping[str, Any],
    lacking: str = "",
    *,
    ids: Sequence[str] = (),
    grouping: Grouping | None = None,
) -> ScoreTable:
    """The table of columns of a score file and its metadata; `lacking` says why a signature may be missing there."""
    signatures = metadata.get("signatures", {})
    intervals = dict(_intervals(columns, signatures))
    bounds = {name for label in intervals for name in interval_columns(label)}
    order = [label for label in signatures if label in columns] + [
        label for label in columns if label not in signatures and label not in bounds
    ]
    return ScoreTable(
        scores={label: columns[label] for label in order},
        intervals=intervals,
        signatures={label: signatures.get(label, f"unknown ({lacking})") for label in order},
        system_names=system_names,
        system_of=system_of,
        ids=ids,
        corpus=dict(_corpus(metadata)),
        ranges={label: range_of(ends) for label, ends in metadata.get("ranges", {}).items() if label in columns},
        higher_is_better=metadata.get("higher_is_better", {}),
        notes=tuple(metadata.get("warnings", ())),
        doubts=dict(doubts_of(metadata)),
        languages=metadata.get("languages", {}),
        grouping=grouping,
        known_bounds=dict(_bounds(metadata)),
        seed=int(metadata.get("seed", 0)),
        resamples=int(metadata.get("resamples", RESAMPLES)),
    )


def _rows(path: Path) -> Iterator[NumberedRow]:
    """The rows of the file; those of a CSV file with the texts that its cells were made from."""
    rows = rows_of_file(path, str(path))
    if path.suffix != ".csv":
        return rows
    return ((line, _from_cells(record) if isinstance(record, dict) else record) for line, record in rows)


def _from_cells(record: dict[str, Any]) -> dict[str, Any]:
    texts = {key: from_spreadsheet(record[key]) for key in ("id", "system") if isinstance(record.get(key), str)}
    return {from_spreadsheet(key): value for key, value in (record | texts).items()}


def _intervals(
    columns: Mapping[str, Scores], signatures: Mapping[str, str]
) -> Iterator[tuple[str, tuple[Scores, Scores]]]:
    """The metrics whose bounds are columns too; a column with a signature is always a metric."""
    for label in columns:
        low, high = interval_columns(label)
        if {low, high} <= columns.keys() - signatures.keys():
            yield label, (columns[low], columns[high])


def digest_of_scored(path: Path) -> str | None:
    """The digest of the examples that a score file was made from; None if its metadata do not contain it."""
    digest: str | None = metadata_of(path)[0].get("data", {}).get("digest")
    return digest


def _checked(record: Any, file: str, line: int) -> tuple[str, str, dict[str, Any]]:
    if isinstance(record, DataError):
        raise record
    if not isinstance(record, dict) or not isinstance(record.get("id"), str):
        raise DataError("expected a row of scores: id, system, scores", file=file, line=line, field="id")
    scores = record.get("scores")
    if scores is None:  # a table: one column per metric
        scores = {key: value for key, value in record.items() if key not in {"id", "system"}}
    if not isinstance(scores, dict) or not scores:
        raise DataError("expected names with numbers", file=file, line=line, field="scores")
    return record["id"], str(record.get("system") or ""), scores


def _number(value: Any, file: str, line: int, label: str) -> float:
    if value is None or value == "":
        return float("nan")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.inf
    if math.isinf(number):
        problem = f"expected a number or null, found {shortened(value, 40)}"
        raise DataError(problem, file=file, line=line, field=label)
    return number


def metadata_of(path: Path) -> tuple[dict[str, Any], str]:
    """The metadata next to the scores (Parquet: in the file), and the reason if a signature is missing there."""
    if path.suffix == ".parquet":
        import polars as pl

        text = pl.read_parquet_metadata(path).get("rejoinder", "{}")
        return _parsed_metadata(text, str(path)), "no metadata in the file"
    metadata_file = metadata_path(path)
    try:
        metadata = _parsed_metadata(metadata_file.read_text(encoding="utf-8"), str(metadata_file))
    except FileNotFoundError:
        return {}, "no metadata next to the scores"
    except UnicodeDecodeError:
        raise DataError(
            "is not valid UTF-8: expected what `rejoinder score -o` wrote", file=str(metadata_file)
        ) from None
    owner = owner_of_metadata(path, metadata)
    if owner != path:
        return {}, f"{metadata_file.name} belongs to {owner.name}"
    return metadata, f"{metadata_file.name} does not name it"


def _parsed_metadata(text: str, file: str) -> dict[str, Any]:
    try:
        metadata = json_value(text)
    except RepeatedKeyError as error:
        raise DataError(str(error), file=file) from None
    except ValueError:
        raise DataError("is not valid JSON: expected what `rejoinder score -o` wrote", file=file) from None
    return checked_metadata(metadata, file)


def checked_metadata(metadata: Any, file: str) -> dict[str, Any]:
    """The metadata of scores; DataError where they are not what this package writes."""
    if not isinstance(metadata, dict):
        raise DataError("expected one object, as `rejoinder score -o` wrote it", file=file)
    for key, (expected, holds) in _META_FIELDS.items():
        if key in metadata and not holds(metadata[key]):
            raise DataError(f"expected {expected}, as `rejoinder score -o` wrote it", file=file, field=key)
    return metadata


def _is_whole(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _is_number(value: Any) -> bool:
    """Whether it is a number that a float can hold; null is accepted as missing."""
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) <= sys.float_info.max
    return value is None or (isinstance(value, float) and math.isfinite(value))


def _is_list_of(value: Any, holds: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(holds, value))


def _is_object_of(value: Any, holds: Callable[[Any], bool]) -> bool:
    return isinstance(value, dict) and all(map(holds, value.values()))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_cell(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_number(value.get(name)) for name in ("corpus", "low", "high"))


def _is_count(value: Any) -> bool:
    return _is_whole(value, 0, 2**53)


def _is_doubt(value: Any) -> bool:
    counts = isinstance(value, dict) and _is_count(value.get("replies")) and _is_count(value.get("doubtful"))
    return counts and _is_object_of(value.get("kinds"), _is_count) and _is_count(value.get("not_applicable", 0))


# Field of the metadata -> what it must hold, in words and as a test.
_META_FIELDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "scores": ("a file's name", _is_text),
    "data": ("an object", lambda value: isinstance(value, dict) and _is_text(value.get("digest", ""))),
    "signatures": ("an object of strings", lambda value: _is_object_of(value, _is_text)),
    "summary": (
        "an object of metrics and systems",
        lambda value: _is_object_of(value, lambda systems: _is_object_of(systems, _is_cell)),
    ),
    "ranges": (
        "an object of pairs of numbers",
        lambda value: _is_object_of(value, lambda ends: _is_list_of(ends, _is_number) and len(ends) == 2),
    ),
    "higher_is_better": (
        "an object of true and false",
        lambda value: _is_object_of(value, lambda better: isinstance(better, bool)),
    ),
    "doubts": (
        "an object of metrics and systems",
        lambda value: _is_object_of(value, lambda systems: _is_object_of(systems, _is_doubt)),
    ),
    "languages": (
        "an object of systems and languages",
        lambda value: _is_object_of(value, lambda counts: _is_object_of(counts, _is_count)),
    ),
    "warnings": ("a list of strings", lambda value: _is_list_of(value, _is_text)),
    "seed": (f"a whole number of at most {HIGHEST_SEED}", lambda value: _is_whole(value, 0, HIGHEST_SEED)),
    "resamples": (f"a whole number from 1 to {MOST_RESAMPLES}", lambda value: _is_whole(value, 1, MOST_RESAMPLES)),
}


def range_of(ends: list[float | None]) -> tuple[float, float]:
    """JSON has no infinity: null is an open end."""
    low, high = ends
    return (-np.inf if low is None else low, np.inf if high is None else high)


def _bounds(metadata: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, tuple[float, float]]]]:
    """The intervals of the means, which resampled contexts that a score file does not contain."""
    for label, systems in metadata.get("summary", {}).items():
        ends = {system: (cell.get("low"), cell.get("high")) for system, cell in systems.items()}
        known = {system: bounds for system, bounds in ends.items() if None not in bounds}
        if known:
            yield label, known


def _corpus(metadata: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, float]]]:
    for label, systems in metadata.get("summary", {}).items():
        known = {system: cell["corpus"] for system, cell in systems.items() if cell.get("corpus") is not None}
        if known:
            yield label, known


def doubts_of(metadata: Mapping[str, Any]) -> Iterator[tuple[str, Doubts]]:
    """Metric -> the doubts about its scores that checked metadata have."""
    for label, systems in metadata.get("doubts", {}).items():
        found = {
            name: Doubt(told["replies"], told["doubtful"], told["kinds"], told.get("not_applicable", 0))
            for name, told in systems.items()
        }
        yield label, found


# Score files: one row per example, and metadata that make every number traceable.


SCORE_SUFFIXES = (".jsonl", ".csv", ".parquet")


def score_output(path: Path) -> Output:
    """The file for scores, with the other files that are written with it."""
    unfinished = UnfinishedRows(path)

    def check() -> None:
        unfinished.check()
        _check_meta(path)

    shared = () if path.suffix == ".parquet" else (metadata_path(path),)
    return Output(path, SCORE_SUFFIXES, (unfinished.rows, unfinished.state), shared, check)


def _check_meta(path: Path) -> None:
    """Raise a CallError if the file for metadata was not written by this program, or belongs to other scores."""
    metadata_file = metadata_path(path)
    if path.suffix == ".parquet" or not os.path.lexists(metadata_file):
        return
    try:
        metadata = json.loads(metadata_file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        metadata = None
    if not isinstance(metadata, dict) or not isinstance(metadata.get("signatures"), dict):
        raise CallError(
            f"{metadata_file} is not the metadata of scores, but {path} would need it for its own: expected another "
            "name"
        )
    owner = owner_of_metadata(path, metadata)
    if owner != path and owner.exists():
        raise CallError(
            f"{metadata_file} belongs to {owner}: expected another name than {path}, not only another suffix"
        )


def score_row(example_id: str, system: str, scores: Mapping[str, float]) -> str:
    """One line of a score file: {"id", "system", "scores": {name: number or null}}."""
    known = {label: None if math.isnan(value) else value for label, value in scores.items()}
    return json.dumps({"id": example_id, "system": system, "scores": known}, ensure_ascii=False) + "\n"


def metadata_path(scores: Path) -> Path:
    """Where signatures, seed and version go: scores.jsonl -> scores.meta.json."""
    return scores.with_suffix(".meta.json")


def owner_of_metadata(scores: Path, metadata: Mapping[str, Any]) -> Path:
    """The score file that the metadata belong to: scores.csv and scores.jsonl share one metadata file.

    Only the suffix is compared, since scores and metadata may have been renamed together.
    """
    name = metadata.get("scores")
    return scores.with_suffix(Path(name).suffix) if isinstance(name, str) else scores


def publish_scores(rows: Path, target: Path, metadata: Mapping[str, Any], labels: Sequence[str]) -> None:
    """Convert finished JSON lines to the target's format and move them into place with their metadata."""
    if target.suffix == ".jsonl":
        _publish_with_metadata(rows, target, metadata)
        return
    import polars as pl

    struct = pl.Struct(dict.fromkeys(labels, pl.Float64))
    schema: dict[str, Any] = {"id": pl.String, "system": pl.String, "scores": struct}
    # A file name is not a pattern, even if it contains a bracket.
    frame = pl.scan_ndjson(glob.escape(str(rows)), schema=schema)
    if target.suffix == ".parquet":
        with replacing_file(target) as temporary:
            frame.sink_parquet(temporary, metadata={"rejoinder": json.dumps(metadata, ensure_ascii=False)})
    else:
        columns = {label: for_spreadsheet(label) for label in labels}
        texts = [column_for_spreadsheet("id"), column_for_spreadsheet("system")]
        with temporary_beside(target) as temporary:
            frame.with_columns(texts).unnest("scores").rename(columns).sink_csv(temporary)
            _publish_with_metadata(temporary, target, metadata)
    rows.unlink()


def _publish_with_metadata(finished: Path, target: Path, metadata: Mapping[str, Any]) -> None:
    """Delete the old metadata, then move the scores, then the new metadata: an interruption leaves scores without
    metadata, never scores with those of another run."""
    _check_meta(target)  # again: the run may have taken hours
    about = {"scores": target.name, "content": content_digest(finished), **metadata}
    with replacing(metadata_path(target)) as file:
        file.write(json.dumps(about, indent=2, ensure_ascii=False) + "\n")
        file.flush()
        metadata_path(target).unlink(missing_ok=True)
        finished.replace(target)


# Finished rows of scores: only a run over the same data, with the same metrics, seed and version, may resume them.


_MOVED = {"rows": "moved into place"}
"""Added to the state of an unfinished run before its rows become the score file."""


@dataclass(frozen=True)
class ScoreFile:
    """A file of scores, and the rows of a run that go into it when the run is finished."""

    path: Path

    @property
    def output(self) -> Output:
        """What a run writes."""
        return score_output(self.path)

    @property
    def rows(self) -> UnfinishedRows:
        """The rows of an unfinished run."""
        return UnfinishedRows(self.path)

    @property
    def interrupted(self) -> Path | None:
        """What an interrupted run left; None if there is nothing."""
        return self.rows.rows if self.rows.exist() else None

    @property
    def is_finished(self) -> bool:
        """Whether there are scores, and nothing to resume."""
        return self.path.exists() and self.interrupted is None and not lacks_only_metadata(self.path)

    def check_finished(self, run: Mapping[str, Any]) -> None:
        """Raise an error unless the finished scores are those of this run, whole and unchanged."""
        with polars_failures(str(self.path), f"is damaged: {START_OVER}"):
            metadata, lacking = metadata_of(self.path)
        check_finished(self.path, metadata, run, lacking if not metadata else "")

    def read(self) -> ScoreTable:
        """The finished scores."""
        return read_score_file(self.path)

    def publish(self, run: Mapping[str, Any], metadata: Mapping[str, Any], columns: Sequence[str]) -> None:
        """Move the rows of a run, which is finished, to where the scores go."""
        self.rows.write_state({**run, **_MOVED})
        publish_scores(self.rows.rows, self.path, metadata, columns)
        self.rows.discard()

    def restore(self, run: Mapping[str, Any], columns: Mapping[str, Scores], count: int) -> int:
        """Fill the columns with the scores of an interrupted run; return how many rows it had finished.

        `run` is what the scores depend on: data, metrics, seed, version. CallError where another run was interrupted.
        """
        rows, moved = self.rows.rows, lacks_only_metadata(self.path)
        if not moved and not self.rows.exist():
            return 0
        state = self.rows.read_state() or {}
        check_same_run({key: value for key, value in state.items() if key not in _MOVED}, run, rows)
        if moved:
            self.path.replace(rows)
        done, end = 0, 0
        with rows.open("r+b") as file:
            for line in file:
                if not line.endswith(b"}\n"):  # cut off in the middle of a row
                    break
                if done == count:
                    problem = f"has more than {done} rows: expected one per example; {START_OVER}"
                    raise DataError(problem, file=str(rows))
                for label, value in _read_row(line, columns.keys(), str(rows), done + 1).items():
                    columns[label][done] = value
                done, end = done + 1, end + len(line)
            file.truncate(end)
        return done


def lacks_only_metadata(target: Path) -> bool:
    """Whether a run was killed after its rows became the score file, and before their metadata were there."""
    unfinished = UnfinishedRows(target)
    state = unfinished.read_state() or {}
    is_moved = target.suffix == ".jsonl" and _MOVED.items() <= state.items() and not unfinished.rows.exists()
    return is_moved and target.is_file() and not metadata_path(target).exists()


def score_rows(examples: Sequence[Example], columns: Mapping[str, Scores]) -> Iterable[str]:
    """One line per example, with the number that each column has for it."""
    lists = {label: column.tolist() for label, column in columns.items()}
    for place, example in enumerate(examples):
        yield score_row(example.id, example.system, {label: values[place] for label, values in lists.items()})


def _read_row(line: bytes, labels: Set[str], file: str, number: int) -> dict[str, float]:
    """The scores of a finished row: label -> number."""
    try:
        scores = json.loads(line)["scores"]
        row = {label: math.nan if value is None else float(value) for label, value in scores.items()}
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
        row = {}  # not a row that this package wrote
    if row.keys() != labels:
        problem = f"is damaged: expected a row with the scores of this run; {START_OVER}"
        raise DataError(problem, file=file, line=number)
    return row

"""A folder of scores in parts: what it holds, how it is read and written."""

from __future__ import annotations

import json
import os
import re
import shutil
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ints, storage
from rejoinder.data.contexts import MOST_COMPARED, GroupFinder, Grouping, stable_hash
from rejoinder.data.source import in_batches
from rejoinder.data.spans import Span, SpanReader
from rejoinder.data.tables import polars_failures
from rejoinder.errors import CallError, DataError, WorkerError
from rejoinder.folders.outputs import START_OVER, Output, check_same_run, replacing_file, write_text
from rejoinder.folders.schema import RepeatedKeyError, json_value
from rejoinder.metrics.base import Metric, State
from rejoinder.metrics.batch import Batch
from rejoinder.scoring.processes import shared_arrays
from rejoinder.scoring.score_file import checked_metadata, score_table_of
from rejoinder.scoring.scorer import Scorer
from rejoinder.scoring.table import ScoreTable, SliceFinder, Slices
from rejoinder.text.tokens import writable
from rejoinder.types import Example, Scores

if TYPE_CHECKING:
    import polars

# A folder of scores in parts.
#
#     scores/manifest.json             which run it belongs to, the names of all parts; at the end, the metadata
#     scores/part-00000.parquet        one row per reply
#     scores/unfinished/               gone when the run is finished
#         finished.jsonl               one line per finished part
#         part-00000.npz               what was counted in a part: corpus-level scores, notes
#
# A part is written beside and renamed when it is complete, then recorded. So a part that is recorded is complete, and
# one that is not is written again, with the same rows, whatever was killed in between.


_MARK = "scores in parts"
_PART = re.compile(r"part-\d{5,}\.parquet")
_TEMPORARY = re.compile(r"\.part-\d{5,}\.parquet-[0-9a-f]+\.tmp")
"""What a process that was killed leaves behind."""


@dataclass(frozen=True)
class Manifest:
    """What a folder of parts contains."""

    run: Mapping[str, Any]
    """What the scores depend on: data, metrics, seed, version."""
    systems: tuple[str, ...]
    columns: tuple[str, ...]
    by: tuple[str, ...]
    rows: tuple[int, ...]
    """The number of rows of each part."""
    failed: Mapping[int, str]
    """Parts that could not be scored and were left out, with the reason."""
    metadata: Mapping[str, Any]
    """The metadata of the scores; empty while the run is not finished."""

    @classmethod
    def planned(
        cls,
        run: Mapping[str, Any],
        systems: Sequence[str],
        columns: Sequence[str],
        by: Sequence[str],
        spans: Sequence[Span],
    ) -> Manifest:
        """That of a run that begins."""
        rows = tuple(span.count for span in spans)
        return cls(json.loads(json.dumps(run)), tuple(systems), tuple(columns), tuple(by), rows, {}, {})

    @property
    def is_finished(self) -> bool:
        """Whether all parts are there that could be scored."""
        return bool(self.metadata)

    @property
    def present(self) -> list[int]:
        """The parts that are not left out, in order."""
        return [number for number in range(len(self.rows)) if number not in self.failed]

    def is_of(self, other: Manifest) -> bool:
        """Whether two runs would write the same parts."""
        return (self.run, self.systems, self.columns, self.by, self.rows) == (
            other.run,
            other.systems,
            other.columns,
            other.by,
            other.rows,
        )

    def to_json(self) -> str:
        """As it is written."""
        parts = [{"name": part_name(number), "rows": count} for number, count in enumerate(self.rows)]
        failed = {part_name(number): reason for number, reason in self.failed.items()}
        told = {"run": self.run, "systems": self.systems, "columns": self.columns, "by": self.by}
        return json.dumps(
            {"rejoinder": _MARK, **told, "parts": parts, "failed": failed, "meta": self.metadata}, indent=1
        )

    @classmethod
    def of_json(cls, text: str, file: str) -> Manifest:
        """As it was written; DataError where it is something else."""
        try:
            given = json_value(text)
            if given["rejoinder"] != _MARK:
                raise ValueError
            names = [part["name"] for part in given["parts"]]
            if names != [part_name(number) for number in range(len(names))]:
                raise ValueError
            rows = tuple(int(part["rows"]) for part in given["parts"])
            failed = {names.index(name): str(reason) for name, reason in given["failed"].items()}
            systems, columns, by = (tuple(map(str, given[key])) for key in ("systems", "columns", "by"))
            return cls(dict(given["run"]), systems, columns, by, rows, failed, dict(given["meta"]))
        except RepeatedKeyError as error:
            raise DataError(str(error), file=file) from None
        except (ValueError, LookupError, TypeError, AttributeError):
            raise DataError("is not a manifest of scores in parts", file=file) from None


def part_name(number: int) -> str:
    """The file of a part."""
    return f"part-{number:05d}.parquet"


@dataclass(frozen=True)
class PartsFolder:
    """Scores in parts."""

    path: Path

    @property
    def manifest_path(self) -> Path:
        """Where the manifest is."""
        return self.path / "manifest.json"

    @property
    def unfinished(self) -> Path:
        """What only an unfinished run needs."""
        return self.path / "unfinished"

    @property
    def observed(self) -> Path:
        """What was observed in the whole corpus, for metrics that must know it."""
        return self.unfinished / "observed"

    def part(self, number: int) -> Path:
        """The rows of a part."""
        return self.path / part_name(number)

    def state(self, number: int) -> Path:
        """What was counted in a part."""
        return self.unfinished / f"part-{number:05d}.npz"

    def attempts(self, number: int) -> Path:
        """One character for each time that a part was begun and not finished."""
        return self.unfinished / f"attempts-{number:05d}"

    def observed_part(self, number: int) -> Path:
        """What was observed in a part."""
        return self.unfinished / f"observed-{number:05d}.npz"

    @property
    def exists(self) -> bool:
        """Whether there is a folder of this kind."""
        return os.path.isfile(self.manifest_path)  # False, not an error, for a name that is too long

    @property
    def output(self) -> Output:
        """The folder as an output of a run."""
        return Output(self.path, check=self.check, is_folder=True)

    @property
    def interrupted(self) -> Path | None:
        """What an interrupted run left; None if there is nothing."""
        return self.path if self.exists and (not self.manifest.is_finished or self.manifest.failed) else None

    @property
    def is_finished(self) -> bool:
        """Whether there are scores, and nothing to resume."""
        return self.exists and self.interrupted is None

    def check_finished(self, run: Mapping[str, Any]) -> None:
        """Raise an error unless the finished scores are those of this run, and no part is missing or damaged."""
        check_same_run(self.manifest.run, run, self.path)
        told = self.complete()
        for number in told.present:
            part = self.part(number)
            if not part.is_file():
                raise DataError(f"is missing: {START_OVER}", file=str(part))
            found = len(_frame(part, ["id"]))
            if found != told.rows[number]:
                raise DataError(f"has {found} rows, expected {told.rows[number]}: {START_OVER}", file=str(part))

    def read(self) -> ScoreTable:
        """The table that the folder holds."""
        return joined_parts([self], [{name: name for name in self.complete().systems}])

    @cached_property
    def manifest(self) -> Manifest:
        """What the folder contains; DataError where that cannot be read."""
        try:
            text = self.manifest_path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"cannot be read ({error})", file=str(self.manifest_path)) from None
        return Manifest.of_json(text, str(self.manifest_path))

    def complete(self) -> Manifest:
        """The manifest of a finished run; CallError where it is not finished."""
        if not self.manifest.is_finished:
            done, count = len(self._recorded()), len(self.manifest.rows)
            raise CallError(
                f"{self.path}: unfinished ({done} of {count} parts): the command that wrote it continues with --resume"
            )
        return self.manifest

    def check(self) -> None:
        """Raise an error if something else is in the place of these scores."""
        if not self.path.exists():
            return
        if not self.exists:
            if any(self.path.iterdir()):
                raise CallError(f"{self.path} contains other files: expected a new folder, or one of an earlier run")
        else:
            _ = self.manifest

    def start(self, planned: Manifest) -> None:
        """Begin without any part; those of an earlier run are deleted."""
        self.check()
        if self.exists:
            self._delete(_PART)
        shutil.rmtree(self.unfinished, ignore_errors=True)
        self.unfinished.mkdir(parents=True)
        write_text(self.manifest_path, planned.to_json())

    def resume(self, planned: Manifest) -> set[int]:
        """The finished parts of an interrupted run; CallError where its parts are not those of this run."""
        check_same_run(self.manifest.run, planned.run, self.path)
        if not self.manifest.is_of(planned):
            raise CallError(f"{self.path} has other parts than this run would write: {START_OVER}")
        self.unfinished.mkdir(exist_ok=True)
        for path in self.unfinished.glob("attempts-*"):
            path.unlink()
        return {number for number, size in self._recorded().items() if self._is_there(number, size)}

    def record(self, number: int) -> None:
        """Say that a part is finished."""
        line = json.dumps({"part": number, "size": self.part(number).stat().st_size})
        with self._log.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
            file.flush()
            os.fsync(file.fileno())

    def finish(self, manifest: Manifest) -> None:
        """Write the metadata, and delete what only an unfinished run needs.

        What was counted stays if parts were left out: a run that resumes tries these again.
        """
        write_text(self.manifest_path, manifest.to_json())
        self._delete(_TEMPORARY)
        if not manifest.failed:
            shutil.rmtree(self.unfinished, ignore_errors=True)

    def _delete(self, names: re.Pattern[str]) -> None:
        for path in self.path.iterdir():
            if names.fullmatch(path.name):
                path.unlink()

    @property
    def _log(self) -> Path:
        return self.unfinished / "finished.jsonl"

    def _is_there(self, number: int, size: int) -> bool:
        part = self.part(number)
        return part.is_file() and part.stat().st_size == size and self.state(number).is_file()

    def _recorded(self) -> dict[int, int]:
        return dict(_lines(self._log, len(self.manifest.rows)))


def _lines(log: Path, count: int) -> Iterator[tuple[int, int]]:
    """The number and the size of each recorded part; a line that was cut off is not one."""
    try:
        lines = log.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return
    for line in lines:
        try:
            given = json.loads(line)
            number, size = int(given["part"]), int(given["size"])
        except (ValueError, LookupError, TypeError):
            continue
        if 0 <= number < count:
            yield number, size


# Tables of scores from folders of parts, read part by part.
#
# Texts are never read. What is kept are numbers: eight bytes per score, and twenty for the system, the context and the
# dialogue of each reply. Where they are many they are kept in temporary files, which the system reads into memory and
# drops again as needed. Ids are read from their part when they are asked for.


@dataclass(frozen=True)
class PartRows:
    """The rows of all parts of one or several folders, one after the other."""

    scores: Mapping[str, Scores]
    systems: NDArray[np.int32]
    """One index into the names of systems per row."""
    contexts: Ints
    dialogues: Ints
    beginnings: Sequence[list[int]] = ()
    slices: SliceFinder = field(default_factory=SliceFinder)

    @classmethod
    def read(
        cls,
        folders: Sequence[tuple[PartsFolder, Manifest]],
        columns: Sequence[str],
        codes: Sequence[Mapping[str, int]],
        by: tuple[str, ...] = (),
    ) -> PartRows:
        """All rows; `codes` has the index of each system, by its name in each folder."""
        parts = [
            (folder, number, names)
            for (folder, told), names in zip(folders, codes, strict=True)
            for number in told.present
        ]
        count = sum(told.rows[number] for _, told in folders for number in told.present)
        scores = {name: storage(count, np.float64, len(columns)) for name in columns}
        systems, contexts, dialogues = (storage(count, kind) for kind in (np.int32, np.int64, np.int64))
        slices, beginnings, start = SliceFinder(by), list[list[int]](), 0
        for folder, number, names in parts:
            frame = _frame(folder.part(number))
            stop = start + len(frame)
            for name, column in scores.items():
                column[start:stop] = frame["scores"].struct.field(name).fill_null(np.nan).to_numpy()
            systems[start:stop] = frame["system"].replace_strict(names, return_dtype=_int32()).to_numpy()
            contexts[start:stop], dialogues[start:stop] = frame["context"].to_numpy(), frame["dialogue"].to_numpy()
            if "beginnings" in frame.columns:
                beginnings += frame["beginnings"].to_list()
            for values in frame["slices"].to_list() if by else ():
                slices.add_values(values)
            start = stop
        return cls(scores, systems, contexts, dialogues, beginnings if len(beginnings) == count else (), slices)

    def grouping(self) -> Grouping:
        """Which rows belong together."""
        return GroupFinder().of_keys(self.contexts, self.dialogues, self.beginnings)

    def found_slices(self) -> tuple[Slices, ...]:
        """By which fields results are shown separately."""
        return self.slices.found()


class PartIds(Sequence[str]):
    """The ids of all rows; those of one part are in memory at a time."""

    def __init__(self, folders: Sequence[tuple[PartsFolder, Manifest]]) -> None:
        self._parts = [folder.part(number) for folder, told in folders for number in told.present]
        rows = [told.rows[number] for _, told in folders for number in told.present]
        self._ends: list[int] = np.cumsum(rows, dtype=np.int64).tolist()
        self._read: tuple[int, list[str]] = (-1, [])

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return [self[one] for one in range(*row.indices(len(self)))]
        if not 0 <= row < len(self):
            raise IndexError(row)
        part = bisect_right(self._ends, row)
        if part != self._read[0]:
            self._read = (part, _frame(self._parts[part], ["id"])["id"].to_list())
        return self._read[1][row - (self._ends[part - 1] if part else 0)]

    def __iter__(self) -> Iterator[str]:
        for part in self._parts:
            yield from _frame(part, ["id"])["id"].to_list()


def joined_parts(folders: Sequence[PartsFolder], names: Sequence[Mapping[str, str]]) -> ScoreTable:
    """The table of several folders; `names` has, for each, the name in the table of each of its systems.

    CallError where the folders have no metric in common, or where metrics of one name are not the same.
    """
    opened = [(folder, folder.complete()) for folder in folders]
    all_metadata = [checked_metadata(told.metadata, str(folder.manifest_path)) for folder, told in opened]
    labels = _shared_labels(opened, all_metadata)
    systems = tuple(name for mapping in names for name in mapping.values())
    place = {name: code for code, name in enumerate(systems)}
    codes = [{writable(own): place[name] for own, name in mapping.items()} for mapping in names]
    rows = PartRows.read(opened, labels, codes)
    metadata = all_metadata[0] if len(all_metadata) == 1 else _joined_metadata(all_metadata, labels)
    metadata = {**metadata, "doubts": _joined_doubts(all_metadata, names, labels)}
    ids = PartIds(opened)
    return score_table_of(
        rows.scores, systems, rows.systems, metadata, "no metadata", ids=ids, grouping=rows.grouping()
    )


def _shared_labels(
    opened: Sequence[tuple[PartsFolder, Manifest]], all_metadata: Sequence[Mapping[str, Any]]
) -> list[str]:
    (first, told), *others = opened
    labels = [name for name in told.columns if all(name in other.columns for _, other in others)]
    if not labels:
        raise CallError(f"{first.path} has no metric in common with the others: expected scores by the same metrics")
    for label in labels:
        signatures = {metadata.get("signatures", {}).get(label) for metadata in all_metadata}
        if len(signatures) > 1:
            found = " and ".join(sorted(map(str, signatures)))
            raise CallError(f"{label} is not the same metric in all folders ({found}): score them by the same one")
    return labels


def _joined_metadata(all_metadata: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> dict[str, Any]:
    """What holds for all folders; the summaries do not."""
    first = all_metadata[0]
    told: dict[str, Any] = {
        key: {label: value for label, value in first.get(key, {}).items() if label in labels}
        for key in ("signatures", "ranges", "higher_is_better")
    }
    notes = dict.fromkeys(note for metadata in all_metadata for note in metadata.get("warnings", ()))
    return {**told, "warnings": list(notes)}


def _joined_doubts(
    all_metadata: Sequence[Mapping[str, Any]], names: Sequence[Mapping[str, str]], labels: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Metric -> what the metadata say of the replies that it cannot judge, by the systems' names in the table."""
    found: dict[str, dict[str, Any]] = {}
    for metadata, mapping in zip(all_metadata, names, strict=True):
        for label, systems in metadata.get("doubts", {}).items():
            if label in labels:
                told = {mapping[system]: doubt for system, doubt in systems.items() if system in mapping}
                found.setdefault(label, {}).update(told)
    return found


def _frame(part: Path, columns: list[str] | None = None) -> polars.DataFrame:
    import polars as pl

    with polars_failures(str(part), "is not a readable part of the scores"):
        return pl.read_parquet(part, columns=columns, glob=False, hive_partitioning=False)


def _int32() -> Any:
    import polars as pl

    return pl.Int32


# One part of a run: some thousand replies are read, scored and written by whichever process gets the part.


MOST_ATTEMPTS = 4
"""How many processes may die over one part."""


@dataclass(frozen=True)
class PartsJob:
    """Everything that a process needs to do any part of a run."""

    folder: PartsFolder
    reader: SpanReader
    spans: tuple[Span, ...]
    metrics: Mapping[str, Metric]
    systems: tuple[str, ...]
    batch_size: int
    intervals: bool = False
    by: tuple[str, ...] = ()
    is_observed: bool = False
    """Whether the whole corpus was observed, for metrics that must know it."""

    @cached_property
    def scorer(self) -> Scorer:
        """Metrics that are ready to score."""
        scorer = Scorer(self.metrics, self.systems, self.intervals)
        if self.is_observed:
            scorer.merge_observed(shared_arrays(self.folder.observed))
            scorer.finish_observing()
        return scorer

    def check_attempts(self, number: int) -> None:
        """Raise a WorkerError if every process that tried to do a part has died: another one would die as well."""
        with self.folder.attempts(number).open("a", encoding="utf-8") as file:
            file.write(".")
            attempts = file.tell()
        if attempts > MOST_ATTEMPTS:
            raise WorkerError(f"{MOST_ATTEMPTS} processes died while they scored it (out of memory?)")

    def observe(self, number: int) -> None:
        """Write what the metrics that must know the whole corpus read in a part."""
        fresh = self.scorer.restarted()
        for batch in self._batches(self.reader.read(self.spans[number])):
            fresh.observe(batch)
        _write_state(self.folder.observed_part(number), fresh.observed())
        self.folder.attempts(number).unlink(missing_ok=True)

    def score(self, number: int) -> None:
        """Write the rows of a part, and what was counted in it."""
        examples = self.reader.read(self.spans[number])
        fresh = self.scorer.restarted()
        scored = [fresh.score(batch) for batch in self._batches(examples)]
        columns = {name: np.concatenate([each[name] for each in scored]) for name in fresh.columns}
        _write_state(self.folder.state(number), fresh.state())
        self._write_rows(self.folder.part(number), examples, columns)
        self.folder.attempts(number).unlink(missing_ok=True)

    def _batches(self, examples: Sequence[Example]) -> Iterator[Batch]:
        return (Batch(some) for some in in_batches(examples, self.batch_size))

    def _write_rows(self, target: Path, examples: Sequence[Example], columns: Mapping[str, Scores]) -> None:
        import polars as pl

        groups, slices = GroupFinder(hashed=stable_hash), SliceFinder(self.by)
        keys = [groups.keys_of(example) for example in examples]
        rows: dict[str, Any] = {
            "id": pl.Series([writable(example.id) for example in examples], dtype=pl.String),
            "system": pl.Series([writable(example.system) for example in examples], dtype=pl.String),
            "scores": pl.DataFrame(columns).fill_nan(None).to_struct(),
            "context": pl.Series([context for context, _ in keys], dtype=pl.Int64),
            "dialogue": pl.Series([dialogue for _, dialogue in keys], dtype=pl.Int64),
        }
        if sum(span.count for span in self.spans) <= MOST_COMPARED:
            beginnings = [groups.beginnings_of(example) for example in examples]
            rows["beginnings"] = pl.Series(beginnings, dtype=pl.List(pl.Int64))
        if self.by:
            values = [list(map(writable, slices.values_of(example))) for example in examples]
            rows["slices"] = pl.Series(values, dtype=pl.List(pl.String))
        with replacing_file(target) as temporary:
            pl.DataFrame(rows).write_parquet(temporary)


def _write_state(target: Path, state: State) -> None:
    with replacing_file(target) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **state)

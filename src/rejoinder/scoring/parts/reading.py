"""Tables of scores from folders of parts, read part by part.

Texts are never read. What is kept are numbers: eight bytes per score, and twenty for the system, the context and the
dialogue of each reply. Where they are many they are kept in temporary files, which the system reads into memory and
drops again as needed. Ids are read from their part when they are asked for.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ints, storage
from rejoinder.data.formats.parquet import polars_failures
from rejoinder.errors import CallError, DataError
from rejoinder.output.unfinished import START_OVER
from rejoinder.scoring.grouping import GroupFinder, Grouping
from rejoinder.scoring.parts.folder import Manifest, PartsFolder
from rejoinder.scoring.score_file import checked_meta, table_of
from rejoinder.scoring.slices import SliceFinder, Slices
from rejoinder.scoring.table import ScoreTable
from rejoinder.text.cleaning import writable
from rejoinder.types import Scores

if TYPE_CHECKING:
    import polars


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


def read_parts(path: Path) -> ScoreTable:
    """The table that a folder of parts holds."""
    folder = PartsFolder(path)
    return joined_parts([folder], [{name: name for name in folder.complete().systems}])


def check_parts(folder: PartsFolder) -> None:
    """Raise a DataError if a part of finished scores is missing, damaged or not as long as recorded."""
    told = folder.complete()
    for number in told.present:
        part = folder.part(number)
        if not part.is_file():
            raise DataError(f"is missing: {START_OVER}", file=str(part))
        found = len(_frame(part, ["id"]))
        if found != told.rows[number]:
            raise DataError(f"has {found} rows, expected {told.rows[number]}: {START_OVER}", file=str(part))


def joined_parts(folders: Sequence[PartsFolder], names: Sequence[Mapping[str, str]]) -> ScoreTable:
    """The table of several folders; `names` has, for each, the name in the table of each of its systems.

    CallError where the folders have no metric in common, or where metrics of one name are not the same.
    """
    opened = [(folder, folder.complete()) for folder in folders]
    metas = [checked_meta(told.meta, str(folder.manifest_path)) for folder, told in opened]
    labels = _shared_labels(opened, metas)
    systems = tuple(name for mapping in names for name in mapping.values())
    place = {name: code for code, name in enumerate(systems)}
    codes = [{writable(own): place[name] for own, name in mapping.items()} for mapping in names]
    rows = PartRows.read(opened, labels, codes)
    meta = metas[0] if len(metas) == 1 else _joined_meta(metas, labels)
    ids = PartIds(opened)
    return table_of(rows.scores, systems, rows.systems, meta, "no metadata", ids=ids, grouping=rows.grouping())


def _shared_labels(opened: Sequence[tuple[PartsFolder, Manifest]], metas: Sequence[Mapping[str, Any]]) -> list[str]:
    (first, told), *others = opened
    labels = [name for name in told.columns if all(name in other.columns for _, other in others)]
    if not labels:
        raise CallError(f"{first.path} has no metric in common with the others: expected scores by the same metrics")
    for label in labels:
        signatures = {meta.get("signatures", {}).get(label) for meta in metas}
        if len(signatures) > 1:
            found = " and ".join(sorted(map(str, signatures)))
            raise CallError(f"{label} is not the same metric in all folders ({found}): score them by the same one")
    return labels


def _joined_meta(metas: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> dict[str, Any]:
    """What holds for all folders; the summaries do not."""
    first = metas[0]
    told: dict[str, Any] = {
        key: {label: value for label, value in first.get(key, {}).items() if label in labels}
        for key in ("signatures", "ranges", "higher_is_better")
    }
    notes = dict.fromkeys(note for meta in metas for note in meta.get("warnings", ()))
    return {**told, "warnings": list(notes)}


def _frame(part: Path, columns: list[str] | None = None) -> polars.DataFrame:
    import polars as pl

    with polars_failures(str(part), "is not a readable part of the scores"):
        return pl.read_parquet(part, columns=columns, glob=False, hive_partitioning=False)


def _int32() -> Any:
    import polars as pl

    return pl.Int32

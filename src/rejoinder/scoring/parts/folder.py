"""A folder of scores in parts.

    scores/manifest.json             which run it belongs to, the names of all parts; at the end, the metadata
    scores/part-00000.parquet        one row per reply
    scores/unfinished/               gone when the run is finished
        finished.jsonl               one line per finished part
        part-00000.npz               what was counted in a part: corpus-level scores, notes

A part is written beside and renamed when it is complete, then recorded. So a part that is recorded is complete, and one
that is not is written again, with the same rows, whatever was killed in between.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rejoinder.data.spans import Span
from rejoinder.errors import CallError, DataError
from rejoinder.loading.schema import RepeatedKeyError, json_value
from rejoinder.output.targets import Output
from rejoinder.output.unfinished import START_OVER, check_same_run
from rejoinder.output.writing import write_text

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
    meta: Mapping[str, Any]
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
        return bool(self.meta)

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
        return json.dumps({"rejoinder": _MARK, **told, "parts": parts, "failed": failed, "meta": self.meta}, indent=1)

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
                f"{self.path} is unfinished ({done} of {count} parts): "
                "the command that wrote it continues with --resume"
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


def parts_output(path: Path) -> Output:
    """The folder of scores as an output of a run."""
    return Output(path, check=PartsFolder(path).check, is_folder=True)


def is_parts_folder(path: Path) -> bool:
    """Whether a path names scores in parts."""
    return PartsFolder(path).exists

"""Finished rows, written to disk during a run so that an interrupted run can resume.

`scores.jsonl.part` holds the rows, and `scores.jsonl.part.json` says which run they belong to: only a run over the same
data, with the same metrics, seed and version, may resume it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from rejoinder.data.output import publish_scores, score_row, write_text
from rejoinder.errors import CallError, DataError
from rejoinder.types import Example, Scores

_START_OVER = "start over without --resume"


@dataclass(frozen=True)
class PartFile:
    """The rows of a run whose scores go into `target` when it is finished."""

    target: Path
    run: Mapping[str, Any]
    """What the rows depend on: data, metrics, seed, version."""

    @property
    def rows(self) -> Path:
        """The file of rows."""
        return part_path(self.target)

    @property
    def _state(self) -> Path:
        return self.rows.with_name(self.rows.name + ".json")

    def start(self) -> None:
        """Begin without any row."""
        self.rows.write_bytes(b"")
        write_text(self._state, json.dumps(self.run))

    def appending(self) -> AbstractContextManager[IO[str]]:
        """The file of rows, open for appending."""
        return self.rows.open("a", encoding="utf-8", newline="\n")

    def discard(self) -> None:
        """Leave nothing behind."""
        self.rows.unlink()
        self._state.unlink()

    def publish(self, meta: Mapping[str, Any], columns: Sequence[str]) -> None:
        """Move the rows to where the scores go."""
        publish_scores(self.rows, self.target, meta, columns)
        self._state.unlink()

    def restore(self, columns: Mapping[str, Scores], count: int) -> int:
        """Fill the columns with the scores of an interrupted run; return how many rows it had finished."""
        if not self.rows.exists() or not self._state.exists():
            return 0
        if _read_state(self._state) != self.run:
            raise CallError(
                f"{self.rows} belongs to another run: its data, metrics, seed or version differ; {_START_OVER}"
            )
        done, end = 0, 0
        with self.rows.open("r+b") as file:
            for line in file:
                if not line.endswith(b"}\n"):  # cut off in the middle of a row
                    break
                if done == count:
                    problem = f"has more than {done} rows: expected one per example; {_START_OVER}"
                    raise DataError(problem, file=str(self.rows))
                for label, value in _read_row(line, columns.keys(), str(self.rows), done + 1).items():
                    columns[label][done] = value
                done, end = done + 1, end + len(line)
            file.truncate(end)
        return done


def part_path(target: Path) -> Path:
    """Where the rows of an unfinished run into `target` are."""
    return target.with_name(target.name + ".part")


def score_rows(examples: Sequence[Example], columns: Mapping[str, Scores]) -> Iterable[str]:
    """One line per example, with the number that each column has for it."""
    lists = {label: column.tolist() for label, column in columns.items()}
    for place, example in enumerate(examples):
        yield score_row(example.id, example.system, {label: values[place] for label, values in lists.items()})


def _read_state(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise DataError(f"is damaged: expected JSON about an unfinished run; {_START_OVER}", file=str(path)) from None


def _read_row(line: bytes, labels: Set[str], file: str, number: int) -> dict[str, float]:
    """The scores of a finished row: label -> number."""
    try:
        scores = json.loads(line)["scores"]
        row = {label: math.nan if value is None else float(value) for label, value in scores.items()}
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
        row = {}  # not a row that this package wrote
    if row.keys() != labels:
        problem = f"is damaged: expected a row with the scores of this run; {_START_OVER}"
        raise DataError(problem, file=file, line=number)
    return row

"""Finished rows of scores: only a run over the same data, with the same metrics, seed and version, may resume them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from rejoinder.errors import DataError
from rejoinder.output.unfinished import START_OVER, UnfinishedRows, check_same_run
from rejoinder.scoring.score_output import meta_path, publish_scores, score_row
from rejoinder.types import Example, Scores

_MOVED = {"rows": "moved into place"}
"""Added to the state of an unfinished run before its rows become the score file."""


@dataclass(frozen=True)
class PartFile:
    """The rows of a run whose scores go into `target` when it is finished."""

    target: Path
    run: Mapping[str, Any]
    """What the rows depend on: data, metrics, seed, version."""

    @property
    def _unfinished(self) -> UnfinishedRows:
        return UnfinishedRows(self.target)

    def start(self) -> None:
        """Begin without any row."""
        self._unfinished.start(self.run)

    def appending(self) -> AbstractContextManager[IO[str]]:
        """The file of rows, open for appending."""
        return self._unfinished.appending()

    def kept_only_for_resuming(self) -> AbstractContextManager[None]:
        """Delete the rows if the block fails for a reason that resuming would not help with."""
        return self._unfinished.kept_only_for_resuming()

    def publish(self, meta: Mapping[str, Any], columns: Sequence[str]) -> None:
        """Move the rows to where the scores go."""
        self._unfinished.write_state({**self.run, **_MOVED})
        publish_scores(self._unfinished.rows, self.target, meta, columns)
        self._unfinished.discard()

    def restore(self, columns: Mapping[str, Scores], count: int) -> int:
        """Fill the columns with the scores of an interrupted run; return how many rows it had finished."""
        rows, moved = self._unfinished.rows, lacks_only_metadata(self.target)
        if not moved and not self._unfinished.exist():
            return 0
        state = self._unfinished.read_state() or {}
        check_same_run({key: value for key, value in state.items() if key not in _MOVED}, self.run, rows)
        if moved:
            self.target.replace(rows)
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
    return is_moved and target.is_file() and not meta_path(target).exists()


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

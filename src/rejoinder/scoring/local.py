"""Scoring a stream on this machine: a look through all of it, then batch by batch, with rows on disk as they are made.

While it runs, `scores.jsonl.part` holds the finished rows and `scores.jsonl.part.json` says which run they belong to.
A run that was interrupted goes on from there with `resume`; only the same data, metrics and version may.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from rejoinder._version import __version__
from rejoinder.data.output import publish_scores, score_row, write_text
from rejoinder.data.survey import Survey, in_batches
from rejoinder.errors import CallError, DataError, RejoinderError
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import BATCH, Batch
from rejoinder.progress import bar
from rejoinder.scoring.scorer import Scorer
from rejoinder.scoring.table import ScoreTable
from rejoinder.types import Example, Scores

_LARGEST_IN_MEMORY = 256 << 20  # bytes of scores; more is kept in a temporary file
_START_OVER = "start over without --resume"


@dataclass(frozen=True)
class LocalRun:
    """One run of some metrics over examples that can be read through more than once."""

    examples: Iterable[Example]
    seen: Survey
    metrics: Mapping[str, Metric]
    name: str = "examples"
    seed: int = 0
    resamples: int = 1000
    quiet: bool = False
    intervals: bool = False
    """Whether a calibrated evaluator also tells between what people would judge each reply."""

    def score(self, target: Path | None = None, *, resume: bool = False) -> ScoreTable:
        """The table of scores; with a target, its rows are written there too."""
        scorer = Scorer(self.metrics, self.seen.systems, self.intervals)
        columns = {name: _column(self.seen.count, np.float64, len(scorer.columns)) for name in scorer.columns}
        systems = _column(self.seen.count, np.int32, 1)
        if target is None:
            self._observe(scorer)
            self._fill(scorer, columns, systems, None, done=0)
            return self._table(scorer, columns, systems)
        part = Path(f"{target}.part")
        done = self._restore(part, columns) if resume else 0
        self._observe(scorer)
        if not done:
            part.write_bytes(b"")
            write_text(_state_path(part), json.dumps(self._state()))
        try:
            with part.open("a", encoding="utf-8", newline="\n") as file:
                self._fill(scorer, columns, systems, file, done)
        except RejoinderError:  # the data or the call are wrong: no use in going on from here
            part.unlink()
            _state_path(part).unlink()
            raise
        table = self._table(scorer, columns, systems)
        publish_scores(part, target, self.meta(table), list(columns))
        _state_path(part).unlink()
        return table

    def meta(self, table: ScoreTable) -> dict[str, Any]:
        """What traces every number: version, seed, signatures, data."""
        return {
            "version": __version__,
            "data": {"name": self.name, "digest": self.seen.digest},
            "resamples": self.resamples,
            "signatures": dict(table.signatures),
            "ranges": {
                label: [end if math.isfinite(end) else None for end in ends] for label, ends in table.ranges.items()
            },
            "higher_is_better": dict(table.higher_is_better),
            **table.to_dict(),
        }

    def _observe(self, scorer: Scorer) -> None:
        if scorer.must_observe:
            with self._bar("looking through") as moving:
                for batch in self._batches():
                    scorer.observe(batch)
                    moving.update(len(batch))
        scorer.finish_observing()

    def _fill(
        self,
        scorer: Scorer,
        columns: Mapping[str, Scores],
        systems: NDArray[Any],
        file: IO[str] | None,
        done: int,
    ) -> None:
        start = 0
        with self._bar("scoring") as moving:
            for batch in self._batches():
                stop = start + len(batch)
                if stop > self.seen.count:
                    raise self._changed()
                systems[start:stop] = scorer.system_codes(batch.examples)
                if stop <= done:
                    scorer.count(batch)
                else:
                    for label, scores in scorer.score(batch).items():
                        columns[label][start:stop] = scores
                    if file is not None:
                        file.writelines(self._rows(batch, columns, start, max(start, done)))
                        file.flush()
                start = stop
                moving.update(len(batch))
        if start < self.seen.count:
            raise self._changed()

    def _changed(self) -> DataError:
        return DataError(f"changed while it was read: expected {self.seen.count} examples", file=self.name)

    def _rows(self, batch: Batch, columns: Mapping[str, Scores], start: int, first: int) -> Iterator[str]:
        lists = {label: column[first : start + len(batch)].tolist() for label, column in columns.items()}
        for place, example in enumerate(batch.examples[first - start :]):
            yield score_row(example.id, example.system, {label: values[place] for label, values in lists.items()})

    def _restore(self, part: Path, columns: Mapping[str, Scores]) -> int:
        """Take over the rows of an interrupted run; how many there are."""
        state = _state_path(part)
        if not part.exists() or not state.exists():
            return 0
        if _read_state(state) != self._state():
            raise CallError(f"{part} is of another run: its data, metrics, seed or version differ; {_START_OVER}")
        done, end = 0, 0
        with part.open("r+b") as file:
            for line in file:
                if not line.endswith(b"}\n"):  # cut off in the middle of a row
                    break
                if done == self.seen.count:
                    problem = f"has more than {done} rows: expected one an example; {_START_OVER}"
                    raise DataError(problem, file=str(part))
                for label, value in _read_row(line, columns.keys(), str(part), done + 1).items():
                    columns[label][done] = value
                done, end = done + 1, end + len(line)
            file.truncate(end)
        return done

    def _state(self) -> dict[str, Any]:
        return {
            "version": __version__,
            "digest": self.seen.digest,
            "seed": self.seed,
            "intervals": self.intervals,
            "signatures": {label: metric.signature for label, metric in self.metrics.items()},
        }

    def _table(self, scorer: Scorer, columns: Mapping[str, Scores], systems: NDArray[np.int32]) -> ScoreTable:
        return scorer.table(columns, systems, seed=self.seed, resamples=self.resamples)

    def _batches(self) -> Iterator[Batch]:
        return (Batch(part) for part in in_batches(self.examples, BATCH))

    def _bar(self, doing: str) -> Any:
        return bar(doing, total=self.seen.count, unit="replies", quiet=self.quiet)


def _state_path(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _read_state(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise DataError(f"is damaged: expected JSON about an unfinished run; {_START_OVER}", file=str(path)) from None


def _read_row(line: bytes, labels: Set[str], file: str, number: int) -> dict[str, float]:
    """The scores of a finished row, one a metric."""
    try:
        scores = json.loads(line)["scores"]
        row = {label: math.nan if value is None else float(value) for label, value in scores.items()}
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
        row = {}  # whatever it is, it is no row of ours
    if row.keys() != labels:
        problem = f"is damaged: expected a row with the scores of this run; {_START_OVER}"
        raise DataError(problem, file=file, line=number)
    return row


def _column(count: int, dtype: type[Any], columns: int) -> NDArray[Any]:
    """Room for one value an example; on disk where many columns would not fit in memory."""
    if count * columns * np.dtype(dtype).itemsize <= _LARGEST_IN_MEMORY:
        return np.empty(count, dtype)
    with tempfile.TemporaryFile(prefix="rejoinder-") as file:  # the array keeps a handle of its own
        return np.memmap(file, dtype, "w+", shape=(count,))

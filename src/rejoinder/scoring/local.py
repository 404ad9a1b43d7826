"""The scoring loop: all batches of a source, on this machine.

Metrics that need to know the whole corpus read it first. Then every batch is scored; if there is an output
file, the rows of a batch are on disk before the next batch begins.
"""

from __future__ import annotations

import math
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from rejoinder._version import __version__
from rejoinder.data.survey import Survey, in_batches
from rejoinder.defaults import RESAMPLES
from rejoinder.errors import DataError
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import BATCH, Batch
from rejoinder.progress import bar
from rejoinder.scoring.estimate import announced
from rejoinder.scoring.grouping import GroupFinder
from rejoinder.scoring.part_file import PartFile, score_rows
from rejoinder.scoring.replay import Replay
from rejoinder.scoring.scorer import Scorer
from rejoinder.scoring.slices import SliceFinder
from rejoinder.scoring.table import ScoreTable
from rejoinder.types import Example, Scores

KEPT = 16 * BATCH
"""Examples up to which the tokens made for a first pass over the corpus are kept in memory for scoring."""

_LARGEST_IN_MEMORY = 256 << 20  # bytes of scores; more is kept in a temporary file


@dataclass(frozen=True)
class LocalRun:
    """One run of some metrics over examples that can be read more than once."""

    examples: Iterable[Example]
    seen: Survey
    metrics: Mapping[str, Metric]
    name: str = "examples"
    seed: int = 0
    resamples: int = RESAMPLES
    quiet: bool = False
    intervals: bool = False
    """Whether calibrated evaluators also give the intervals expected to contain the human scores."""
    notes: tuple[str, ...] = ()
    """What a reader should know about the choice of metrics."""
    keep_ids: bool = False
    """Whether the table has the ids of the examples."""
    groups: Callable[[], GroupFinder] = GroupFinder
    """How replies are grouped into contexts and dialogues."""
    by: tuple[str, ...] = ()
    """Fields by which results are shown separately."""

    def score(self, target: Path | None = None, *, resume: bool = False) -> ScoreTable:
        """The table of scores; with a target, its rows are written there too."""
        scorer = Scorer(self.metrics, self.seen.systems, self.intervals)
        columns = _Columns.of(self.seen.count, scorer.columns, self.groups(), SliceFinder(self.by))
        part = PartFile(target, self._identity()) if target else None
        done = part.restore(columns.scores, self.seen.count) if part and resume else 0
        with ExitStack() as stack:
            batches = self._observed(scorer, stack)
            if not self.quiet:
                batches = announced(batches, scorer.ready, self.seen.count - done)
            if part is None:
                self._fill(columns, scorer, batches)
            else:
                self._fill_and_write(columns, scorer, batches, part, done)
        table = scorer.table(
            columns.scores,
            columns.systems,
            ids=columns.ids,
            notes=self.notes,
            grouping=columns.groups.found(),
            slices=columns.slices.found(),
            seed=self.seed,
            resamples=self.resamples,
        )
        if part is not None:
            part.publish(self.meta(table), scorer.columns)
        return table

    def meta(self, table: ScoreTable) -> dict[str, Any]:
        """What makes every number traceable: version, seed, signatures, data."""
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

    def _observed(self, scorer: Scorer, stack: ExitStack) -> Iterator[Batch]:
        """The batches to score, after the metrics that must know the whole corpus have read it."""
        if not scorer.must_observe:
            return _batches(self.examples)
        examples, kept = self.examples, deque[Batch]()
        in_memory = self.seen.count <= KEPT
        if not in_memory and not isinstance(examples, Replay):
            examples = stack.enter_context(closing(Replay(examples)))
        with self._bar("reading the corpus") as moving:
            for batch in _batches(examples):
                scorer.observe(batch)
                moving.update(len(batch))
                if in_memory:
                    kept.append(batch)
        scorer.finish_observing()
        return (kept.popleft() for _ in range(len(kept))) if in_memory else _batches(examples)

    def _fill_and_write(
        self, columns: _Columns, scorer: Scorer, batches: Iterator[Batch], part: PartFile, done: int
    ) -> None:
        if not done:
            part.start()
        with part.kept_only_for_resuming(), part.appending() as file:
            self._fill(columns, scorer, batches, file, done)

    def _fill(
        self, columns: _Columns, scorer: Scorer, batches: Iterator[Batch], file: IO[str] | None = None, done: int = 0
    ) -> None:
        """Score all batches; the first `done` rows have their scores already."""
        start = 0
        with self._bar("scoring") as moving:
            for batch in batches:
                stop = start + len(batch)
                if stop > self.seen.count:
                    raise self._changed()
                columns.systems[start:stop] = scorer.system_codes(batch.examples)
                columns.groups.add(batch.examples)
                columns.slices.add(batch.examples)
                if self.keep_ids:
                    columns.ids.extend(example.id for example in batch.examples)
                if stop <= done:
                    scorer.count(batch)
                else:
                    columns.put(start, stop, scorer.score(batch))
                    if file is not None:
                        first = max(start, done)
                        file.writelines(score_rows(batch.examples[first - start :], columns.between(first, stop)))
                        file.flush()
                start = stop
                moving.update(len(batch))
        if start < self.seen.count:
            raise self._changed()

    def _changed(self) -> DataError:
        return DataError(f"changed while it was read: expected {self.seen.count} examples", file=self.name)

    def _identity(self) -> dict[str, Any]:
        """What an interrupted run must have in common with the run that resumes it."""
        return {
            "version": __version__,
            "digest": self.seen.digest,
            "seed": self.seed,
            "intervals": self.intervals,
            "signatures": {label: metric.signature for label, metric in self.metrics.items()},
        }

    def _bar(self, doing: str) -> Any:
        return bar(doing, total=self.seen.count, unit="replies", quiet=self.quiet)


@dataclass(frozen=True)
class _Columns:
    """The results for each example: one number per column, its system, its groups, and its id if ids are kept."""

    scores: Mapping[str, Scores]
    systems: NDArray[np.int32]
    groups: GroupFinder
    slices: SliceFinder
    ids: list[str]

    @classmethod
    def of(cls, count: int, names: Sequence[str], groups: GroupFinder, slices: SliceFinder) -> _Columns:
        """Room for that many examples."""
        scores = {name: _column(count, np.float64, len(names)) for name in names}
        return cls(scores, _column(count, np.int32, 1), groups, slices, [])

    def put(self, start: int, stop: int, scores: Mapping[str, Scores]) -> None:
        """Store the scores of some examples."""
        for name, values in scores.items():
            self.scores[name][start:stop] = values

    def between(self, start: int, stop: int) -> dict[str, Scores]:
        """The scores of some examples."""
        return {name: column[start:stop] for name, column in self.scores.items()}


def _batches(examples: Iterable[Example]) -> Iterator[Batch]:
    return (Batch(part) for part in in_batches(examples, BATCH))


def _column(count: int, dtype: type[Any], columns: int) -> NDArray[Any]:
    """Storage for one value per example; on disk if it would not fit in memory."""
    if count * columns * np.dtype(dtype).itemsize <= _LARGEST_IN_MEMORY:
        return np.empty(count, dtype)
    with tempfile.TemporaryFile(prefix="rejoinder-") as file:  # the array keeps a handle of its own
        return np.memmap(file, dtype, "w+", shape=(count,))

"""The scoring loop: all batches of a source, on this machine, in one process or several.

Metrics that need to know the whole corpus read it first. Then every batch is scored; if there is an output
file, the rows of a batch are on disk before the next batch begins.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import storage
from rejoinder.data.survey import in_batches
from rejoinder.errors import DataError
from rejoinder.metrics.batch import BATCH, Batch
from rejoinder.progress import Ahead
from rejoinder.scoring.engines.in_process import InProcess
from rejoinder.scoring.engines.processes import Processes
from rejoinder.scoring.engines.run import ScoringRun
from rejoinder.scoring.engines.sizes import batch_size, processes_for
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


@dataclass(frozen=True)
class LocalRun(ScoringRun):
    """A run on this machine."""

    def score(self, target: Path | None = None, *, resume: bool = False) -> ScoreTable:
        """The table of scores; with a target, its rows are written there too."""
        scorer = Scorer(self.metrics, self.seen.systems, self.intervals)
        columns = _Columns.of(self.seen.count, scorer.columns, self.groups(), SliceFinder(self.by))
        part = PartFile(target, self.identity()) if target else None
        done = part.restore(columns.scores, self.seen.count) if part and resume else 0
        with ExitStack() as stack:
            if part is not None:
                if not done:
                    part.start()
                stack.enter_context(part.kept_only_for_resuming())
            engine = stack.enter_context(closing(self._engine(scorer)))
            batches = self._observed(scorer, engine, stack)
            if not self.quiet:
                batches = announced(batches, scorer.ready, self.seen.count - done, processes=engine.count)
            file = stack.enter_context(part.appending()) if part is not None else None
            self._fill(columns, scorer, engine.score(batches, done), file, done)
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

    @cached_property
    def _size(self) -> int:
        return batch_size(self.metrics, self.seen, BATCH)

    def _engine(self, scorer: Scorer) -> InProcess | Processes:
        count = processes_for(self.jobs, scorer, self.seen.count, self._size)
        return InProcess(scorer) if count == 1 else Processes(scorer, count)

    def _observed(self, scorer: Scorer, engine: InProcess | Processes, stack: ExitStack) -> Iterator[Batch]:
        """The batches to score, after the metrics that must know the whole corpus have read it."""
        if not scorer.must_observe:
            return self._batches(self.examples)
        examples, kept = self.examples, deque[Batch]()
        in_memory = self.seen.count <= KEPT
        if not in_memory and not isinstance(examples, Replay):
            examples = stack.enter_context(closing(Replay(examples)))
        with self.bar("reading the corpus") as moving:
            for batch in engine.observe(self._batches(examples)):
                moving.update(len(batch))
                if in_memory:
                    kept.append(batch)
        engine.finish_observing()
        return (kept.popleft() for _ in range(len(kept))) if in_memory else self._batches(examples)

    def _batches(self, examples: Iterable[Example]) -> Iterator[Batch]:
        return (Batch(part) for part in in_batches(examples, self._size))

    def _fill(
        self,
        columns: _Columns,
        scorer: Scorer,
        scored: Iterable[tuple[Batch, dict[str, Scores] | None]],
        file: IO[str] | None,
        done: int,
    ) -> None:
        """Take over the scores of all batches; the first `done` rows have theirs already."""
        start = 0
        with self.bar("scoring") as moving:
            ahead = Ahead(moving)
            scorer.advance = ahead.add
            for batch, scores in scored:
                stop = start + len(batch)
                if stop > self.seen.count:
                    raise self._changed()
                columns.systems[start:stop] = scorer.system_codes(batch.examples)
                columns.groups.add(batch.examples)
                columns.slices.add(batch.examples)
                if self.keep_ids:
                    columns.ids.extend(example.id for example in batch.examples)
                if scores is not None:
                    columns.put(start, stop, scores)
                    if file is not None:
                        first = max(start, done)
                        file.writelines(score_rows(batch.examples[first - start :], columns.between(first, stop)))
                        file.flush()
                start = stop
                ahead.finish(len(batch))
        if start < self.seen.count:
            raise self._changed()

    def _changed(self) -> DataError:
        return DataError(f"changed while it was read: expected {self.seen.count} examples", file=self.name)


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
        scores = {name: storage(count, np.float64, len(names)) for name in names}
        return cls(scores, storage(count, np.int32), groups, slices, [])

    def put(self, start: int, stop: int, scores: Mapping[str, Scores]) -> None:
        """Store the scores of some examples."""
        for name, values in scores.items():
            self.scores[name][start:stop] = values

    def between(self, start: int, stop: int) -> dict[str, Scores]:
        """The scores of some examples."""
        return {name: column[start:stop] for name, column in self.scores.items()}

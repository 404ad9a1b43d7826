"""One part of a run: some thousand replies are read, scored and written by whichever process gets the part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.data.spans import Span, SpanReader
from rejoinder.data.survey import in_batches
from rejoinder.errors import WorkerError
from rejoinder.metrics.base import Metric, State
from rejoinder.metrics.batch import Batch
from rejoinder.output.writing import replacing_file
from rejoinder.scoring.engines.worker import read_arrays
from rejoinder.scoring.grouping import MOST_COMPARED, GroupFinder, stable_hash
from rejoinder.scoring.parts.folder import PartsFolder
from rejoinder.scoring.scorer import Scorer
from rejoinder.scoring.slices import SliceFinder
from rejoinder.text.cleaning import writable
from rejoinder.types import Example, Scores

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
            scorer.merge_observed(read_arrays(self.folder.observed))
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

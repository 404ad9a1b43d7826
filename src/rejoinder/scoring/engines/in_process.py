"""Scores batches in this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from rejoinder.metrics.batch import Batch
from rejoinder.scoring.scorer import Scorer
from rejoinder.types import Scores


@dataclass(frozen=True)
class InProcess:
    """One batch after the other."""

    scorer: Scorer
    count: ClassVar[int] = 1
    """Processes that score."""

    def observe(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Each batch, after the metrics that must know the whole corpus have read it."""
        for batch in batches:
            self.scorer.observe(batch)
            yield batch

    def finish_observing(self) -> None:
        """Make every metric ready to score."""
        self.scorer.finish_observing()

    def score(self, batches: Iterable[Batch], done: int = 0) -> Iterator[tuple[Batch, dict[str, Scores] | None]]:
        """Each batch with its columns; None for batches within the first `done` examples, which are only counted."""
        stop = 0
        for batch in batches:
            stop += len(batch)
            if stop <= done:
                self.scorer.count(batch)
                yield batch, None
            else:
                yield batch, self.scorer.score(batch)

    def close(self) -> None:
        """Nothing has to be ended."""

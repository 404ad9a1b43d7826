"""What runs of all engines have in common: their settings, the metadata of their scores, what resuming depends on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rejoinder._version import __version__
from rejoinder.data.survey import Survey, in_batches
from rejoinder.defaults import RESAMPLES
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import BATCH
from rejoinder.progress import bar
from rejoinder.scoring.grouping import GroupFinder
from rejoinder.scoring.slices import SliceFinder
from rejoinder.scoring.table import ScoreTable
from rejoinder.types import Example


@dataclass(frozen=True)
class ScoringRun:
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
    jobs: int | None = None
    """How many processes score; None: as many as pay."""

    def meta(self, table: ScoreTable) -> dict[str, Any]:
        """What makes every number traceable: version, seed, signatures, data."""
        return {
            "version": __version__,
            "run": self.identity(),
            "data": {"name": self.name, "digest": self.seen.digest},
            "resamples": self.resamples,
            "signatures": dict(table.signatures),
            "ranges": {
                label: [end if math.isfinite(end) else None for end in ends] for label, ends in table.ranges.items()
            },
            "higher_is_better": dict(table.higher_is_better),
            **table.to_dict(),
        }

    def identity(self) -> dict[str, Any]:
        """Everything that scores and their metadata depend on: what `--resume` compares."""
        return {
            "version": __version__,
            "digest": self.seen.digest,
            "replies": self.seen.count,
            "seed": self.seed,
            "resamples": self.resamples,
            "intervals": self.intervals,
            "by": list(self.by),
            "slices": self.seen.slices,
            "signatures": {label: metric.signature for label, metric in self.metrics.items()},
        }

    def finished_table(self, table: ScoreTable) -> ScoreTable:
        """The table of finished scores of this run, with the groups and slices of its examples."""
        groups, slices = self.groups(), SliceFinder(self.by)
        for batch in in_batches(self.examples, BATCH):
            groups.add(batch)
            slices.add(batch)
        return replace(table, grouping=groups.found(), slices=slices.found())

    def bar(self, doing: str) -> Any:
        """Progress over all replies."""
        return bar(doing, total=self.seen.count, unit="replies", quiet=self.quiet)

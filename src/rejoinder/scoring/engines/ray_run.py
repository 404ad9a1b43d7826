"""A run on Ray: parts of the input are scored by actors of a cluster, or of a Ray on this machine, into a folder.

The driver surveys the input, as every run does, and cuts it into parts of a fixed number of replies. Ray Data gives the
numbers of parts to a pool of actors, each of which has loaded the metrics once. An actor reads its part from the input
and writes it into the folder; only the number of the part travels. Input and folder must be reachable, by the same
paths, from every machine. If an actor or its machine dies, Ray gives the part to another one.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rejoinder.data.source import Source
from rejoinder.data.spans import UNIT, Span, SpanReader
from rejoinder.data.survey import Survey
from rejoinder.errors import CallError, WorkerError
from rejoinder.loading.foreign import array_archive
from rejoinder.metrics.base import Metric, State
from rejoinder.metrics.batch import BATCH
from rejoinder.scoring.engines.ray_cluster import Cluster
from rejoinder.scoring.engines.run import ScoringRun
from rejoinder.scoring.engines.sizes import batch_size, check_shareable
from rejoinder.scoring.engines.worker import write_arrays
from rejoinder.scoring.parts.folder import Manifest, PartsFolder, part_name
from rejoinder.scoring.parts.reading import PartIds, PartRows
from rejoinder.scoring.parts.writing import PartsJob
from rejoinder.scoring.scorer import Scorer
from rejoinder.scoring.table import ScoreTable
from rejoinder.text.cleaning import writable
from rejoinder.types import Example

FAST_PART = 4 * BATCH
"""Replies per part for fast metrics: some seconds of work."""
MANY = 1_000_000
"""Replies from which parts of evaluators are as large as the largest batches, so that files do not become too many."""


def part_size(metrics: Mapping[str, Metric], seen: Survey) -> int:
    """Replies per part: a multiple of the size of batches, so that batches are those of a run on one machine."""
    if not any(metric.is_slow for metric in metrics.values()):
        return FAST_PART
    return BATCH if seen.count > MANY else max(UNIT, batch_size(metrics, seen))


@dataclass(frozen=True)
class RayRun(ScoringRun):
    """A run on Ray into a folder of parts."""

    spans: tuple[Span, ...] = ()
    """The parts of the input."""
    skip_failed: bool = False
    """Whether a part that cannot be scored is left out, instead of ending the run."""
    failed: dict[int, str] = field(default_factory=dict)
    """Parts that could not be scored, with the reason; filled by the run."""

    def score(self, target: Path, *, resume: bool = False) -> ScoreTable:
        """The table of scores; its rows are written into the folder."""
        scorer = Scorer(self.metrics, self.seen.systems, self.intervals)
        check_shareable(scorer)
        folder = PartsFolder(target.resolve())
        planned = Manifest.planned(self.identity(), self.seen.systems, scorer.columns, self.by, self.spans)
        folder.check()
        done = folder.resume(planned) if resume and folder.exists else None
        if done and folder.manifest.failed and scorer.must_observe:
            done = None  # what was observed lacks the parts that were left out
        if done is None or len(done) < len(self.spans):
            with Cluster.joined(self.jobs) as cluster:
                if done is None:
                    folder.start(planned)
                missing = [number for number in range(len(self.spans)) if number not in (done or ())]
                self._score_missing(folder, scorer, missing, cluster)
        finished = replace(planned, failed=dict(sorted(self.failed.items())))
        table = self._table(folder, finished, scorer)
        folder.finish(replace(finished, meta=self.meta(table)))
        return table

    def take(self, rows: Collection[int]) -> dict[int, Example]:
        """The examples of some rows of the table, read from the input again."""
        present = [span for number, span in enumerate(self.spans) if number not in self.failed]
        return SpanReader.of(self._source).take(present, rows)

    @property
    def _source(self) -> Source:
        if not isinstance(self.examples, Source):
            raise CallError("a run on Ray reads files: expected a source of files")
        return self.examples

    def _score_missing(self, folder: PartsFolder, scorer: Scorer, missing: Sequence[int], cluster: Cluster) -> None:
        job = self._job(folder)
        if scorer.must_observe:
            self._observe(job, scorer, cluster)
            job = replace(job, is_observed=True)
        for number in self._done(job, "score", missing, cluster, "scoring"):
            folder.record(number)
        if len(self.failed) == len(self.spans):
            raise WorkerError(f"no part could be scored: {next(iter(self.failed.values()))}")

    def _job(self, folder: PartsFolder) -> PartsJob:
        return PartsJob(
            folder,
            SpanReader.of(self._source),
            self.spans,
            self.metrics,
            self.seen.systems,
            batch_size(self.metrics, self.seen),
            self.intervals,
            self.by,
        )

    def _observe(self, job: PartsJob, scorer: Scorer, cluster: Cluster) -> None:
        """Let the metrics that must know the whole corpus read it, and write what they need to score."""
        folder = job.folder
        if folder.observed.is_dir():  # by the run that is resumed
            return
        everything = range(len(self.spans))
        done = set(self._done(job, "observe", everything, cluster, "reading the corpus"))
        for number in sorted(done):
            scorer.merge_observed(_read_state(folder.observed_part(number)))
        fresh = folder.unfinished / "observed.new"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir()
        write_arrays(fresh, scorer.observed())
        fresh.rename(folder.observed)
        for number in everything:
            folder.observed_part(number).unlink(missing_ok=True)

    def _done(self, job: PartsJob, task: str, numbers: Sequence[int], cluster: Cluster, doing: str) -> Iterator[int]:
        """The number of each part, when it is done."""
        wanted = [number for number in numbers if number not in self.failed]
        with self.bar(doing) as moving:
            moving.update(self.seen.count - sum(self.spans[number].count for number in wanted))
            for number, problem in cluster.parts_done(job, task, wanted):
                if problem:
                    self._fail(number, problem)
                else:
                    yield number
                moving.update(self.spans[number].count)

    def _fail(self, number: int, problem: str) -> None:
        span = self.spans[number]
        told = f"{part_name(number)} (replies {span.first + 1:,} to {span.first + span.count:,}): {problem}"
        if not self.skip_failed:
            raise WorkerError(f"{told}; --resume continues with the other parts, --on-error skip leaves this one out")
        self.failed[number] = told

    def _table(self, folder: PartsFolder, manifest: Manifest, scorer: Scorer) -> ScoreTable:
        opened = [(folder, manifest)]
        for number in manifest.present:
            scorer.merge(_read_state(folder.state(number)))
        codes = [{writable(name): code for code, name in enumerate(self.seen.systems)}]
        rows = PartRows.read(opened, scorer.columns, codes, self.by)
        return scorer.table(
            rows.scores,
            rows.systems,
            ids=PartIds(opened),
            notes=(*self.notes, *(f"left out {told}" for told in self.failed.values())),
            grouping=rows.grouping(),
            slices=rows.found_slices(),
            seed=self.seed,
            resamples=self.resamples,
        )


def _read_state(path: Path) -> State:
    with path.open("rb") as file, array_archive(file) as arrays:
        return {name: arrays[name] for name in arrays.files}

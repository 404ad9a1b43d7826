"""One pass of metrics over a source: survey, choose, observe, score, table. Every verb that scores begins here."""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rejoinder._version import __version__
from rejoinder.arrays import storage
from rejoinder.data.contexts import GroupFinder
from rejoinder.data.replay import Replay
from rejoinder.data.source import Survey, in_batches, survey
from rejoinder.errors import CallError, DataError, listed
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import BATCH, Batch
from rejoinder.options import RESAMPLES
from rejoinder.progress import LONG, Ahead, bar, duration
from rejoinder.registry import JUDGES, load
from rejoinder.scoring.processes import Processes
from rejoinder.scoring.score_file import ScoreFile, score_rows
from rejoinder.scoring.scorer import Scorer
from rejoinder.scoring.table import ScoreTable, SliceFinder
from rejoinder.show.text import one_line
from rejoinder.threads import usable_cores
from rejoinder.types import Example, Scores

if TYPE_CHECKING:
    from rejoinder.scoring.score import MetricChoice

# What runs of all engines have in common: survey and choice, their settings, the metadata of their scores, and what
# resuming depends on. Every verb that scores begins with `of`.


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
    """Whether calibrated evaluators also give the intervals expected to contain the ratings."""
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

    @classmethod
    def of(
        cls, source: Any, wanted: MetricChoice, seen: Survey | None = None, *, digest: bool = True, **settings: Any
    ) -> Self:
        """The run of those of the wanted metrics that the source allows; it is surveyed, unless it was `seen` before.

        The source is a Source, several that were joined, or a Replay of one of them.
        """
        examples = source if isinstance(source, Replay) else Replay(source, copies=False)
        seen = seen or survey(source, quiet=settings.get("quiet", False), digest=digest)
        name = settings.pop("name", None) or getattr(examples.examples, "name", "examples")
        chosen = wanted.served_by(seen, name)
        return cls(examples, seen, chosen.metrics, name, notes=(*chosen.notes, *seen.notes), **settings)

    def metadata(self, table: ScoreTable) -> dict[str, Any]:
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

    @property
    def replies(self) -> Replay | None:
        """The replies, from which the report of a result can take texts."""
        return self.examples if isinstance(self.examples, Replay) else None

    def finished_table(self, table: ScoreTable) -> ScoreTable:
        """The table of finished scores of this run, with what a file of scores does not hold of its examples."""
        groups, slices = self.groups(), SliceFinder(self.by)
        for batch in in_batches(self.examples, BATCH):
            groups.add(batch)
            slices.add(batch)
        reasoning = Scorer(self.metrics, self.seen.systems).reasoning
        return replace(table, grouping=groups.found(), slices=slices.found(), replies=self.replies, reasoning=reasoning)

    def bar(self, doing: str) -> Any:
        """Progress over all replies."""
        return bar(doing, total=self.seen.count, unit="replies", quiet=self.quiet)


@contextmanager
def judges_limited(metrics: Iterable[Metric], most: float | None, *, quiet: bool) -> Iterator[None]:
    """Let the judges among the metrics together cost at most this much during the block, and be as quiet as the run."""
    if most is None and not any(map(_asks, metrics)):
        yield
        return
    from rejoinder.judge.judge import judges_in, limit_cost

    judges = judges_in(metrics)
    before = [(judge.asker, judge.asker.quiet, list(judge.asker.budgets)) for judge in judges]
    if most is not None:
        limit_cost(judges, most)
    try:
        for judge in judges:
            judge.asker.quiet = quiet
        yield
    finally:
        for asker, was_quiet, budgets in before:
            asker.quiet, asker.budgets[:] = was_quiet, budgets


# A run on this machine, in one process or several: metrics that need to know the whole corpus read it first, then every
# batch is scored. If there is an output file, the rows of a batch are on disk before the next batch begins.


KEPT = 16 * BATCH
"""Examples up to which the tokens made for a first pass over the corpus are kept in memory for scoring."""


@dataclass(frozen=True)
class LocalRun(ScoringRun):
    """A run on this machine."""

    def score(self, target: Path | None = None, *, resume: bool = False) -> ScoreTable:
        """The table of scores; with a target, its rows are written there too."""
        scorer = Scorer(self.metrics, self.seen.systems, self.intervals)
        count, names = self.seen.count, scorer.columns
        scores = {name: storage(count, np.float64, len(names)) for name in names}
        systems, ids = storage(count, np.int32), list[str]()
        groups, slices = self.groups(), SliceFinder(self.by)
        output, done, start = ScoreFile(target) if target else None, 0, 0
        with ExitStack() as stack:
            if output is not None:
                done = self._begun(output, scores, stack, resume=resume)
            size = batch_size(self.metrics, self.seen, BATCH)
            processes = processes_for(self.jobs, scorer, count, size)
            engine = InProcess(scorer) if processes == 1 else stack.enter_context(closing(Processes(scorer, processes)))
            batches = self._observed(engine, size)
            if not self.quiet:
                batches = announced(batches, scorer.ready, count - done, processes=processes)
            file = stack.enter_context(output.rows.appending()) if output is not None else None
            moving = stack.enter_context(self.bar("scoring"))
            ahead = Ahead(moving)
            scorer.advance = ahead.add
            for batch, found in engine.score(batches, done):
                stop = start + len(batch)
                if stop > count:
                    raise self._changed()
                systems[start:stop] = scorer.system_codes(batch.examples)
                groups.add(batch.examples)
                slices.add(batch.examples)
                if self.keep_ids:
                    ids.extend(example.id for example in batch.examples)
                for name, values in (found or {}).items():
                    scores[name][start:stop] = values
                if found and file is not None:
                    first = max(start, done)
                    rows = {name: column[first:stop] for name, column in scores.items()}
                    file.writelines(score_rows(batch.examples[first - start :], rows))
                    file.flush()
                start = stop
                ahead.finish(len(batch))
            if start < count:
                raise self._changed()
        table = scorer.table(
            scores,
            systems,
            notes=self.notes,
            ids=ids,
            grouping=groups.found(),
            slices=slices.found(),
            seed=self.seed,
            resamples=self.resamples,
            replies=self.replies,
        )
        if output is not None:
            output.publish(self.identity(), self.metadata(table), names)
        return table

    def _begun(self, output: ScoreFile, scores: Mapping[str, Scores], stack: ExitStack, *, resume: bool) -> int:
        """Begin the file of rows, or fill in the scores of an interrupted run; how many replies are done."""
        done = output.restore(self.identity(), scores, self.seen.count) if resume else 0
        if not done:
            output.rows.start(self.identity())
        stack.enter_context(output.rows.kept_only_for_resuming())
        return done

    def _observed(self, engine: InProcess | Processes, size: int) -> Iterator[Batch]:
        """The batches to score, after the metrics that must know the whole corpus have read it."""
        examples = self.examples
        if engine.scorer.must_observe:
            kept, in_memory = deque[Batch](), self.seen.count <= KEPT
            if not in_memory:
                examples = examples if isinstance(examples, Replay) else Replay(examples)
                examples.copies = True
            with self.bar("reading the corpus") as moving:
                for batch in engine.observe(Batch(part) for part in in_batches(examples, size)):
                    moving.update(len(batch))
                    if in_memory:
                        kept.append(batch)
            engine.finish_observing()
            if in_memory:
                return (kept.popleft() for _ in range(len(kept)))
        return (Batch(part) for part in in_batches(examples, size))

    def _changed(self) -> DataError:
        return DataError(f"changed while it was read: expected {self.seen.count} examples", file=self.name)


# Scores batches in this process.


@dataclass(frozen=True)
class InProcess:
    """One batch after the other."""

    scorer: Scorer

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


# Where batches are cut, and how many processes score them.
#
# Scores of an evaluator depend on the batch in the last bits. So batches are cut at places that depend on the data and
# the metrics only, and every number of processes gives the same scores; those of torch also depend on its number of
# threads in the last bits (docs/reference/determinism.md).


SLOW_BATCH = 512
"""Examples per batch where a reply takes milliseconds: some seconds of work, to be shared and to be resumed after."""
FEWEST_FAST = 300_000
"""Examples times metrics from which processes pay for fast metrics.

Measured (`benchmarks/scale.py --only fewest`, CPU time on a busy machine): starting two processes takes 1 to 2 s. Then
1,000 replies take 40 ms in the process that reads and sends them, and what the metrics take plus about 10 ms in the
others. In one process they take 34 ms with `bleu-2`, which is less than reading and sending, and 117 ms with seven
metrics. So two processes on two cores save 42 ms per 1,000 replies with seven metrics, and pay from 25,000 replies on;
with one metric they save little or nothing, whatever the number of replies. The limit is a little higher than that,
because short runs gain little.
"""

_is_slow = attrgetter("is_slow")

THREADS_USE = 0.65
"""The share of the cores that the threads of one process make use of: an evaluator on two threads takes 1.4 to 1.6
times the CPU time that it takes on one."""


def batch_size(metrics: Mapping[str, Metric], seen: Survey, largest: int = BATCH) -> int:
    """Examples per batch.

    Replies of several systems to one context may be far apart in a file. An evaluator reads their context once if they
    are in one batch, so such files are not cut into small ones.
    """
    slow = any(map(_is_slow, metrics.values()))
    return min(largest, SLOW_BATCH) if slow and len(seen.systems) == 1 else largest


def processes_for(jobs: int | None, scorer: Scorer, count: int, size: int) -> int:
    """How many processes score; 1: this one. `jobs` is what the user asked for; None: as many as pay."""
    batches, wanted = -(-count // size), jobs
    if wanted is None:
        slow = any(map(_is_slow, scorer.metrics.values()))
        cores = usable_cores() if slow or count * len(scorer.metrics) >= FEWEST_FAST else 1
        longest = size * -(-batches // cores)  # replies of the process that has most of them
        wanted = cores if longest < count / (cores * THREADS_USE) else 1
    if wanted > 1 and (reason := _one_process_only(scorer)):
        if jobs is not None:
            raise CallError(f"{reason}: expected jobs=1")
        return 1
    return max(1, min(wanted, batches))


def check_shareable(scorer: Scorer) -> None:
    """Raise a CallError for metrics that only one process can score with."""
    reason = _one_process_only(scorer)
    if reason:
        raise CallError(f"{reason}: expected --engine local")


def _one_process_only(scorer: Scorer) -> str:
    """Why the metrics cannot be shared among processes; "" where they can."""
    for label, metric in scorer.metrics.items():
        if any(part.one_process for part in (metric, *metric.parts)):
            return f"{label} has limits that several processes would each use up"
        if any(type(part).__module__ == "__main__" for part in (metric, *metric.parts)):
            return f"{label} is defined in a script, which other processes do not read"
    return "" if scorer.can_be_shared else "a metric counts in a way that cannot be shared (state and merge)"


# How long scoring will take, said before it starts, and what would be faster.
#
# The estimate is measured: a few of the replies are scored once more than needed, each metric by itself.


FEWEST = 500
"""Replies below which nothing is measured."""
MEASURED = 32
"""Replies that are measured first; more, where that took too little time to be measured well."""
ENOUGH = 0.05
"""Seconds that can be measured well."""
FASTER = {"default": "default-fast", "default@1": "default-fast", "default-large": "default"}
"""Evaluator that comes with the package -> a faster one with the same purpose."""
SAMPLE = 2000
"""Replies of a sample that is suggested."""
_NOTICED = 0.2
"""A metric that takes a smaller share of the time is not worth leaving out."""


@dataclass(frozen=True)
class TimeEstimate:
    """Seconds that each metric will take for all replies."""

    count: int
    seconds: Mapping[str, float]
    faster: Mapping[str, tuple[str, float]]
    """Metric -> a faster one in its place, and its seconds."""

    @property
    def total(self) -> float:
        """Seconds of all metrics together."""
        return sum(self.seconds.values())

    def sentences(self) -> list[str]:
        """How long it will take, and what would be faster; nothing for short work."""
        if self.total < LONG:
            return []
        slowest = max(self.seconds, key=lambda label: self.seconds[label])
        share = self.seconds[slowest] / self.total
        by = f"; {slowest} takes {share:.0%} of that" if len(self.seconds) > 1 else ""
        ways = [*self._replacements(), *self._omissions(), *self._sample()]
        return [
            f"Scoring {self.count:,} replies will take about {duration(self.total)} (measured on a few of them){by}.",
            *([f"Faster: {'; '.join(ways)}."] if ways else []),
        ]

    def _replacements(self) -> Iterator[str]:
        for label, (other, seconds) in self.faster.items():
            left = self.total - self.seconds[label] + seconds
            lost = f"`rejoinder metrics {other}` says what is lost"
            yield f"-m {other} in place of {label}, about {duration(left)} ({lost})"

    def _omissions(self) -> Iterator[str]:
        slow = [label for label, seconds in self.seconds.items() if seconds > _NOTICED * self.total]
        if slow and len(slow) < len(self.seconds):
            left = self.total - sum(self.seconds[label] for label in slow)
            yield f"without {listed(slow)}, about {duration(left)}"

    def _sample(self) -> Iterator[str]:
        if self.count >= 2 * SAMPLE:
            left = self.total * SAMPLE / self.count
            yield f"a random sample (`rejoinder convert --sample`), about {duration(left)} for {SAMPLE:,} replies"


def announced(
    batches: Iterator[Batch], metrics: Mapping[str, Metric], count: int, *, processes: int = 1
) -> Iterator[Batch]:
    """The same batches, after a note on standard error if scoring `count` replies will take long."""
    first = next(batches, None) if count >= FEWEST else None
    if first is None:
        return batches
    for sentence in estimate(metrics, first, count, processes=processes).sentences():
        print(one_line(f"note: {sentence}"), file=sys.stderr)
    return chain([first], batches)


def estimate(metrics: Mapping[str, Metric], batch: Batch, count: int, *, processes: int = 1) -> TimeEstimate:
    """The time for `count` replies, measured on some of the batch; metrics that ask a language model are left out."""
    per_reply = {label: _seconds(metric, batch.examples) for label, metric in metrics.items() if not _asks(metric)}
    seconds = {label: count * value / processes for label, value in per_reply.items()}
    faster = {}
    if sum(seconds.values()) >= LONG:
        for label in seconds:
            other = FASTER.get(label)
            if other is not None and other not in metrics and seconds[label] > _NOTICED * sum(seconds.values()):
                faster[label] = (other, count * _seconds(load(other), batch.examples) / processes)
    return TimeEstimate(count, seconds, faster)


def _seconds(metric: Metric, examples: Sequence[Example]) -> float:
    """Seconds per reply, without the time to load a model."""
    metric.score_batch(Batch(list(examples[:1])))
    size = MEASURED
    while True:
        some = list(examples[:: max(1, len(examples) // size)][:size])  # from all parts of the batch
        start = time.perf_counter()
        metric.score_batch(Batch(some))
        taken = time.perf_counter() - start
        if taken >= ENOUGH or len(some) == len(examples):
            return taken / len(some)
        size *= 4


def _asks(metric: Metric) -> bool:
    return metric.name in JUDGES or any(map(_asks, metric.parts))

"""How long scoring will take, said before it starts, and what would be faster.

The estimate is measured: a few of the replies are scored once more than needed, each metric by itself.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from rejoinder.errors import listed
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import Batch
from rejoinder.progress import LONG, duration
from rejoinder.registry import JUDGES, load
from rejoinder.text.terminal import one_line
from rejoinder.types import Example

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
class Estimate:
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
    first = next(batches, None)
    if first is None:
        return batches
    if count >= FEWEST:
        for sentence in estimate(metrics, first, count, processes=processes).sentences():
            print(one_line(f"note: {sentence}"), file=sys.stderr)
    return chain([first], batches)


def estimate(metrics: Mapping[str, Metric], batch: Batch, count: int, *, processes: int = 1) -> Estimate:
    """The time for `count` replies, measured on some of the batch; metrics that ask a language model are left out."""
    per_reply = {label: _seconds(metric, batch.examples) for label, metric in metrics.items() if not _asks(metric)}
    seconds = {label: count * value / processes for label, value in per_reply.items()}
    faster = {}
    if sum(seconds.values()) >= LONG:
        for label in seconds:
            other = FASTER.get(label)
            if other is not None and other not in metrics and seconds[label] > _NOTICED * sum(seconds.values()):
                faster[label] = (other, count * _seconds(load(other), batch.examples) / processes)
    return Estimate(count, seconds, faster)


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
    return metric.name in JUDGES or any(_asks(part) for part in metric.parts)

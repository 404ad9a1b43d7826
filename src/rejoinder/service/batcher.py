"""Dynamic batching: while one batch is scored in a thread, the requests that arrive gather for the next.

The thread takes its next batch itself, without waiting for the event loop, which may be busy with the answers to the
last one. A request with more replies than fit into a batch is scored in parts, and goes to the end of the queue after
each of them, so that small requests need not wait for all of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rejoinder.errors import RejoinderError
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import Batch
from rejoinder.registry import JUDGES
from rejoinder.scoring.reliability import Reliability, reply_reliability
from rejoinder.scoring.scorer import finite
from rejoinder.service.limits import Limits
from rejoinder.types import Example, Scores

T = TypeVar("T")
ScoreColumns = dict[str, list[float]]


@dataclass
class Scored:
    """The scores of some replies, and how far they can be relied on."""

    columns: ScoreColumns = field(default_factory=dict)
    """Label -> one score per reply."""
    reliability: dict[str, list[Reliability]] = field(default_factory=dict)
    """Label -> one entry per reply, of the metrics that know their limits."""

    def add(self, columns: Mapping[str, list[float]], found: Mapping[str, list[Reliability]], rows: slice) -> None:
        """Take some rows of a batch."""
        for label, column in columns.items():
            self.columns.setdefault(label, []).extend(column[rows])
        for label, each in found.items():
            self.reliability.setdefault(label, []).extend(each[rows])


_LONGEST_RETRY = 60


class QueueFullError(RejoinderError):
    """More waits than the service accepts."""

    def __init__(self, message: str, retry_after: int = 1) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds after which there should be room."""


@dataclass(eq=False)
class _Request:
    """Replies to score, or work to do alone in the scoring thread."""

    result: asyncio.Future[Any]
    examples: Sequence[Example] = ()
    work: Callable[[], Any] | None = None
    scored: Scored = field(default_factory=Scored)
    """The scores of the replies that have them."""
    taken: int = 0
    """Replies that have been scored, or are in the batch that is being scored."""


@dataclass
class Batcher:
    """Scores examples by several metrics; each request gets its own rows."""

    metrics: Mapping[str, Metric]
    limits: Limits
    waiting: int = 0
    """Replies that were accepted and are not scored yet."""
    scored: int = 0
    """Replies scored since the start."""
    batches: int = 0
    """Batches scored since the start."""
    busy: float = 0.0
    """Seconds of scoring since the start."""
    _requests: deque[_Request] = field(default_factory=deque)
    _arrived: threading.Condition = field(default_factory=threading.Condition)
    _closing: bool = False

    async def __aenter__(self) -> Batcher:
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, "scoring")
        await self._loop.run_in_executor(self._thread, self._load_models)
        self._work = self._loop.run_in_executor(self._thread, self._run)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Score what was accepted, then stop."""
        with self._arrived:
            self._closing = True
            self._arrived.notify()
        await self._work
        self._thread.shutdown()

    async def score(self, examples: Sequence[Example]) -> Scored:
        """One score per example and metric; a QueueFullError if too many wait, a TimeoutError if it takes long."""
        found: Scored = await self._result(_Request(self._loop.create_future(), examples), len(examples))
        return found

    async def run(self, work: Callable[[], T], cost: int) -> T:
        """What `work` returns, called alone in the scoring thread; `cost`: how many replies it counts as."""
        found: T = await self._result(_Request(self._loop.create_future(), work=work), cost)
        return found

    def retry_after(self) -> int:
        """Seconds until what waits is scored, from the rate since the start; at least 1."""
        rate = self.scored / self.busy if self.busy else math.inf
        return min(max(1, math.ceil(self.waiting / rate)), _LONGEST_RETRY)

    async def _result(self, request: _Request, cost: int) -> Any:
        if self.waiting + cost > self.limits.waiting:
            told = f"{self.waiting:,} replies are waiting: expected at most {self.limits.waiting:,} with this request"
            raise QueueFullError(told, self.retry_after())
        self.waiting += cost
        with self._arrived:
            self._requests.append(request)
            self._arrived.notify()
        try:
            return await asyncio.wait_for(request.result, self.limits.seconds)
        finally:
            self.waiting -= cost

    def _load_models(self) -> None:
        """Score one reply, so that no request waits until models are loaded; judges would ask, and cost, something."""
        batch = Batch([Example("", ("Hello.",), "Hi!", ("Hi!",))])
        for metric in self.metrics.values():
            if metric.name not in JUDGES:
                metric.score_batch(batch)

    def _run(self) -> None:
        """The scoring thread: batch after batch, until the service closes and nothing waits."""
        while taken := self._next():
            start = time.perf_counter()
            work = taken[0][0].work
            answers = self._scored(taken) if work is None else [(taken[0][0], _result_of(work))]
            self.busy += time.perf_counter() - start
            with contextlib.suppress(RuntimeError):  # the loop was stopped by force: nobody waits for the answers
                self._loop.call_soon_threadsafe(_deliver, answers)

    def _next(self) -> list[BatchPart]:
        """The replies to score together, or one request whose work is done alone; none where the service closes."""
        with self._arrived:
            while not (taken := self._taken()) and not self._closing:
                self._arrived.wait()
        return taken

    def _taken(self) -> list[BatchPart]:
        taken: list[BatchPart] = []
        room = self.limits.batch
        for _ in range(len(self._requests)):
            if room <= 0 or (taken and self._requests[0].work is not None):
                break
            request = self._requests.popleft()
            if request.result.done():  # nobody waits for it any more
                continue
            if request.work is not None:
                return [(request, slice(0))]
            part = slice(request.taken, min(request.taken + room, len(request.examples)))
            taken.append((request, part))
            room -= part.stop - part.start
            request.taken = part.stop
            if part.stop < len(request.examples):
                self._requests.append(request)
        return taken

    def _scored(self, parts: Sequence[BatchPart]) -> list[BatchAnswer]:
        """Score together; the requests whose last reply was among these, or all of them where a metric failed."""
        examples = [example for request, part in parts for example in request.examples[part]]
        found = _result_of(lambda: self._scores(examples))
        if isinstance(found, Exception):
            return [(request, found) for request, _ in parts]
        self.scored, self.batches = self.scored + len(examples), self.batches + 1
        scores, reliable = found
        columns, start = {label: column.tolist() for label, column in scores.items()}, 0
        for request, part in parts:
            end = start + part.stop - part.start
            request.scored.add(columns, reliable, slice(start, end))
            start = end
        return [(request, request.scored) for request, part in parts if part.stop == len(request.examples)]

    def _scores(self, examples: Sequence[Example]) -> tuple[dict[str, Scores], dict[str, list[Reliability]]]:
        batch = Batch(examples)
        scores = {label: finite(metric.score_batch(batch)) for label, metric in self.metrics.items()}
        knowing = {label: metric for label, metric in self.metrics.items() if metric.knows_limits}
        return scores, {label: reply_reliability(metric, batch) for label, metric in knowing.items()}


BatchPart = tuple[_Request, slice]
"""A request, and which of its replies are scored in this batch."""
BatchAnswer = tuple[_Request, Any]
"""A request, and its result or the error that it gets."""


def _result_of(work: Callable[[], T]) -> T | Exception:
    """The result, or the error, which belongs to the requests: the service goes on."""
    try:
        return work()
    except Exception as error:
        return error


def _deliver(answers: Sequence[BatchAnswer]) -> None:
    """Give requests their answers, in the event loop; one that took too long is not waited for any more."""
    for request, found in answers:
        if request.result.done():
            continue
        if isinstance(found, Exception):
            request.result.set_exception(found)
        else:
            request.result.set_result(found)

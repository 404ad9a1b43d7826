"""Dynamic batching: while one batch is scored in a thread, the requests that arrive gather for the next."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from rejoinder.errors import RejoinderError
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import Batch
from rejoinder.scoring.scorer import finite
from rejoinder.service.limits import Limits
from rejoinder.types import Example, Scores

Columns = dict[str, list[float]]


class QueueFullError(RejoinderError):
    """More replies wait than the service accepts."""


@dataclass(eq=False)
class _Request:
    examples: Sequence[Example]
    result: asyncio.Future[Columns]


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
    _requests: deque[_Request] = field(default_factory=deque)

    async def __aenter__(self) -> Batcher:
        self._arrived = asyncio.Event()
        self._closing = False
        self._thread = ThreadPoolExecutor(1, "scoring")
        self._work = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Score what was accepted, then stop."""
        self._closing = True
        self._arrived.set()
        await self._work
        self._thread.shutdown()

    async def score(self, examples: Sequence[Example]) -> Columns:
        """Label -> one score per example; a QueueFullError where too many wait, a TimeoutError where it takes long."""
        if self.waiting + len(examples) > self.limits.waiting:
            raise QueueFullError(f"{self.waiting:,} replies are waiting: expected at most {self.limits.waiting:,}")
        request = _Request(examples, asyncio.get_running_loop().create_future())
        self.waiting += len(examples)
        self._requests.append(request)
        self._arrived.set()
        return await asyncio.wait_for(request.result, self.limits.seconds)

    async def _run(self) -> None:
        while self._requests or not self._closing:
            if not self._requests:
                self._arrived.clear()
                await self._arrived.wait()
                continue
            await self._score_together(self._next())

    def _next(self) -> list[_Request]:
        """The requests that are scored together: at least one, and no more replies than fit into a batch."""
        taken = [self._requests.popleft()]
        room = self.limits.batch - len(taken[0].examples)
        while self._requests and len(self._requests[0].examples) <= room:
            taken.append(self._requests.popleft())
            room -= len(taken[-1].examples)
        return taken

    async def _score_together(self, requests: Sequence[_Request]) -> None:
        """Score, and give each request its rows, or the error; those that nobody waits for any more are left out."""
        wanted = [request for request in requests if not request.result.done()]
        if not wanted:
            self.waiting -= sum(len(request.examples) for request in requests)
            return
        examples = [example for request in wanted for example in request.examples]
        try:
            columns = await asyncio.get_running_loop().run_in_executor(self._thread, self._scores, examples)
        except Exception as error:  # it belongs to the requests, and the service goes on
            for request in wanted:
                if not request.result.done():
                    request.result.set_exception(error)
        else:
            self.scored, self.batches = self.scored + len(examples), self.batches + 1
            start = 0
            for request in wanted:
                end = start + len(request.examples)
                if not request.result.done():
                    request.result.set_result({label: column[start:end].tolist() for label, column in columns.items()})
                start = end
        finally:
            self.waiting -= sum(len(request.examples) for request in requests)

    def _scores(self, examples: Sequence[Example]) -> dict[str, Scores]:
        batch = Batch(examples)
        return {label: finite(metric.score_batch(batch)) for label, metric in self.metrics.items()}

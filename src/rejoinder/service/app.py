"""The routes of the service: /score, /metrics-list, /health, and /metrics for Prometheus.

Errors are JSON, {"error": "one line"}: 400 bad input, 401 no or a wrong token, 413 too large, 429 too many waiting, 503
took too long.
"""

from __future__ import annotations

import hmac
import json
import math
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from rejoinder._version import __version__
from rejoinder.data.record import FieldMap, data_error, example_of
from rejoinder.data.values import FieldError
from rejoinder.errors import CallError, RejoinderError
from rejoinder.metrics.base import Metric
from rejoinder.service.batcher import Batcher, QueueFullError
from rejoinder.service.limits import Limits
from rejoinder.types import Example


class TooLargeError(RejoinderError):
    """A request holds more than the service accepts."""


class NoAccessError(RejoinderError):
    """A request without the token."""


_STATUS: dict[type[Exception], int] = {
    NoAccessError: 401,
    TooLargeError: 413,
    QueueFullError: 429,
    TimeoutError: 503,
    RejoinderError: 400,
}


def make_app(metrics: Mapping[str, Metric], limits: Limits | None = None, token: str | None = None) -> Starlette:
    """The application, ready for any ASGI server; with a `token`, requests need it as a bearer token."""
    for label, metric in metrics.items():
        if metric.observer() is not None:
            raise CallError(f"{label} reads all replies before it scores one: it cannot be served")
    service = _Service(Batcher(metrics, limits or Limits()), token)

    @asynccontextmanager
    async def running(_: Starlette) -> AsyncIterator[None]:
        async with service.batcher:
            yield

    routes = [
        Route("/score", service.score, methods=["POST"]),
        Route("/metrics-list", service.metrics_list),
        Route("/health", service.health),
        Route("/metrics", service.counters),
    ]
    handlers = {**dict.fromkeys(_STATUS, service.refused), HTTPException: _no_route, Exception: service.failed}
    return Starlette(routes=routes, lifespan=running, exception_handlers=handlers)


class _Service:
    """What the routes do."""

    def __init__(self, batcher: Batcher, token: str | None) -> None:
        self.batcher, self.token = batcher, token
        self.answered: Counter[int] = Counter()
        """Status -> answers to /score since the start."""

    async def score(self, request: Request) -> JSONResponse:
        """The scores of one example, or of a list of them; null where a metric cannot score."""
        self._check_token(request)
        records = _records(await _body(request, self.batcher.limits.body))
        most = self.batcher.limits.examples
        if len(records) > most:
            raise TooLargeError(f"{len(records):,} examples in one request: expected at most {most:,}")
        examples = [_example(record, number) for number, record in enumerate(records, start=1)]
        columns = await self.batcher.score(examples)
        rows = [
            {
                "id": example.id,
                **({"system": example.system} if example.system else {}),
                "scores": {label: _plain(column[row]) for label, column in columns.items()},
            }
            for row, example in enumerate(examples)
        ]
        self.answered[200] += 1
        return JSONResponse({"results": rows, "signatures": self._signatures()})

    async def metrics_list(self, request: Request) -> JSONResponse:
        """The metrics that are served."""
        self._check_token(request)
        told = {
            label: {
                "measures": metric.measures,
                "needs": sorted(metric.needs),
                "range": [_plain(end) for end in metric.range],
                "higher_is_better": metric.higher_is_better,
                "signature": metric.signature,
            }
            for label, metric in self.batcher.metrics.items()
        }
        return JSONResponse({"metrics": told})

    async def health(self, _: Request) -> JSONResponse:
        """Whether the service runs, and how much waits; needs no token."""
        return JSONResponse({"status": "ok", "version": __version__, "waiting": self.batcher.waiting})

    async def counters(self, _: Request) -> Response:
        """Counters in Prometheus's text format; needs no token, and contains no text of a reply."""
        lines = ["# TYPE rejoinder_requests_total counter"]
        lines += [f'rejoinder_requests_total{{status="{code}"}} {n}' for code, n in sorted(self.answered.items())]
        lines += ["# TYPE rejoinder_replies_total counter", f"rejoinder_replies_total {self.batcher.scored}"]
        lines += ["# TYPE rejoinder_batches_total counter", f"rejoinder_batches_total {self.batcher.batches}"]
        lines += ["# TYPE rejoinder_waiting_replies gauge", f"rejoinder_waiting_replies {self.batcher.waiting}"]
        return PlainTextResponse("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")

    async def refused(self, _: Request, error: Exception) -> JSONResponse:
        """The answer to a request that cannot be served."""
        status = next(code for kind, code in _STATUS.items() if isinstance(error, kind))
        self.answered[status] += 1
        said = str(error) or "the scores took too long"
        return JSONResponse({"error": said}, status, {"Retry-After": "1"} if status in (429, 503) else None)

    async def failed(self, _: Request, __: Exception) -> JSONResponse:
        """The answer where the service itself failed; the server logs the error."""
        self.answered[500] += 1
        return JSONResponse({"error": "the service failed; its log says why"}, 500)

    def _signatures(self) -> dict[str, str]:
        return {label: metric.signature for label, metric in self.batcher.metrics.items()}

    def _check_token(self, request: Request) -> None:
        if self.token is None:
            return
        given = request.headers.get("authorization", "").encode()
        if not hmac.compare_digest(given, f"Bearer {self.token}".encode()):
            raise NoAccessError("expected the header Authorization: Bearer TOKEN, with the token of the service")


async def _no_route(_: Request, error: Exception) -> JSONResponse:
    """The answer to an unknown address or a wrong method."""
    status = error.status_code if isinstance(error, HTTPException) else 404
    known = "POST /score, GET /metrics-list, GET /health, GET /metrics"
    return JSONResponse({"error": f"no such route: expected {known}"}, status)


async def _body(request: Request, most: int) -> bytes:
    """The body, of which no more is read than is accepted."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise TooLargeError(f"the request is larger than {most:,} bytes")
        parts.append(part)
    return b"".join(parts)


def _records(body: bytes) -> list[Any]:
    """The examples of a request: one object, or a list of objects."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise CallError("the request is not valid JSON: expected an example, or a list of examples") from None
    records = found if isinstance(found, list) else [found]
    if not records:
        raise CallError("the request has no example: expected at least one")
    return records


def _example(record: Any, number: int) -> Example:
    """The example, checked as one of a file; a DataError names its position in the list."""
    try:
        return example_of(record, number, FieldMap())
    except FieldError as error:
        raise data_error(error, "example", number) from None


def _plain(score: float) -> float | None:
    return score if math.isfinite(score) else None

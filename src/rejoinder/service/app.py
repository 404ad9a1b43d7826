"""The application: what each route does, and the access log."""

from __future__ import annotations

import asyncio
import hmac
import json
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rejoinder._version import __version__
from rejoinder.errors import CallError, RejoinderError
from rejoinder.metrics.base import Metric
from rejoinder.registry import SHIPPED_EVALUATORS
from rejoinder.service.batcher import Batcher, QueueFullError
from rejoinder.service.bodies import (
    ComparisonRequest,
    RequestTooLargeError,
    SystemReplies,
    TooSlowError,
    body_of,
    example_of_body,
    examples_of,
)
from rejoinder.service.description import OPERATIONS, document
from rejoinder.service.limits import Limits
from rejoinder.service.why import COST, LONGEST, explained_reply

# The application: what each route does. The routes themselves are in `description`.
#
# Errors are JSON, {"error": "one line"}: 400 bad input, 401 no or a wrong token, 408 arrived too slowly, 413 too large,
# 429 too much is waiting, 503 took too long.


PAGES = Path(__file__).parent / "pages"


class NoAccessError(RejoinderError):
    """A request without the token."""


_STATUS: dict[type[Exception], int] = {
    NoAccessError: 401,
    TooSlowError: 408,
    RequestTooLargeError: 413,
    QueueFullError: 429,
    TimeoutError: 503,
    RejoinderError: 400,
}


def scoring_app(
    metrics: Mapping[str, Metric],
    limits: Limits | None = None,
    token: str | None = None,
    log: Callable[[str], object] | None = None,
) -> ASGIApp:
    """The application, ready for any ASGI server.

    With a `token`, requests need it as a bearer token. `log` gets one line of JSON per answer.
    """
    for label, metric in metrics.items():
        if metric.observer() is not None:
            raise CallError(f"{label} reads all replies before it scores one: it cannot be served")
    service = _Service(Batcher(metrics, limits or Limits()), token)
    routes = [
        Route(operation.path, getattr(service, operation.handler), methods=[operation.method])
        for operation in OPERATIONS
    ]
    files = [Route(f"/{name}", _file(name, kind)) for name, kind in _FILES.items()]
    handlers = {**dict.fromkeys(_STATUS, _refused), HTTPException: _no_route, Exception: _failed}
    app = Starlette(routes=[*routes, *files], lifespan=service.running, exception_handlers=handlers)
    service.log = AccessLog(app, log)
    return service.log


_FILES = {"page.css": "text/css", "page.js": "text/javascript"}


class _Service:
    """What the routes do."""

    log: AccessLog

    def __init__(self, batcher: Batcher, token: str | None) -> None:
        self.batcher, self.limits = batcher, batcher.limits
        self.token = None if token is None else token.encode()
        self.signatures = {label: metric.signature for label, metric in batcher.metrics.items()}
        self.comparing = 0
        """Comparisons that wait for their statistics, or are being computed."""

    @asynccontextmanager
    async def running(self, _: Starlette) -> AsyncIterator[None]:
        """While the application runs, so do the threads for scores and statistics."""
        with ThreadPoolExecutor(1, "statistics") as self.statistics:
            async with self.batcher:
                yield

    async def score(self, request: Request) -> Response:
        """The scores of one example, or of a list of them; null where a metric cannot score. Of metrics that know their
        limits, also whether they can be relied on."""
        self._check_token(request)
        examples = examples_of(await body_of(request, self.limits), self.limits)
        request.state.replies = len(examples)
        found = await self.batcher.score(examples)
        rows = [
            {
                "id": example.id,
                **({"system": example.system} if example.system else {}),
                "scores": {label: _plain(column[row]) for label, column in found.columns.items()},
                "reliability": {label: each[row].to_dict() for label, each in found.reliability.items()},
            }
            for row, example in enumerate(examples)
        ]
        return JSONResponse({"results": rows, "signatures": self.signatures})

    async def compare(self, request: Request) -> Response:
        """Whether one system's replies are better than another's: the object that `rejoinder compare --json` prints."""
        self._check_token(request)
        asked = ComparisonRequest.of(await body_of(request, self.limits), tuple(self.batcher.metrics), self.limits)
        replies = SystemReplies(asked, self.batcher.metrics)
        request.state.replies = len(replies.examples)
        if self.comparing >= self.limits.comparisons:
            raise QueueFullError(f"{self.comparing} comparisons are waiting: expected at most that many")
        self.comparing += 1
        try:
            async with asyncio.timeout(self.limits.seconds):
                scored = await self.batcher.score(replies.examples)
                loop = asyncio.get_running_loop()
                found = await loop.run_in_executor(self.statistics, replies.compared, scored)
        finally:
            self.comparing -= 1
        return JSONResponse(found)

    async def explain(self, request: Request) -> Response:
        """The scores of one reply, and why."""
        self._check_token(request)
        example = example_of_body(await body_of(request, self.limits), LONGEST)
        request.state.replies = 1
        return JSONResponse(await self.batcher.run(lambda: explained_reply(example, self.batcher.metrics), COST))

    async def metrics_list(self, request: Request) -> Response:
        """The metrics that are served."""
        self._check_token(request)
        told = {
            label: {
                "measures": SHIPPED_EVALUATORS.get(label, metric.measures),
                "needs": sorted(metric.needs),
                "range": [_plain(end) for end in metric.range],
                "higher_is_better": metric.higher_is_better,
                "signature": self.signatures[label],
            }
            for label, metric in self.batcher.metrics.items()
        }
        return JSONResponse({"metrics": told})

    async def health(self, _: Request) -> Response:
        """Whether the service runs, and how much waits; needs no token."""
        return JSONResponse({"status": "ok", "version": __version__, "waiting": self.batcher.waiting})

    async def counters(self, _: Request) -> Response:
        """Counters in Prometheus's text format; needs no token, and contains no text of a reply."""
        lines = self.log.prometheus()
        for name, kind, value in (
            ("replies_total", "counter", self.batcher.scored),
            ("batches_total", "counter", self.batcher.batches),
            ("scoring_seconds_total", "counter", round(self.batcher.busy, 6)),
            ("waiting_replies", "gauge", self.batcher.waiting),
        ):
            lines += [f"# TYPE rejoinder_{name} {kind}", f"rejoinder_{name} {value}"]
        return PlainTextResponse("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")

    async def openapi(self, _: Request) -> Response:
        """The OpenAPI document."""
        return JSONResponse(document(self.limits, tuple(self.signatures), needs_token=self.token is not None))

    async def page(self, _: Request) -> Response:
        """The page where a person pastes a dialogue."""
        return FileResponse(PAGES / "page.html", media_type="text/html")

    def _check_token(self, request: Request) -> None:
        if self.token is None:
            return
        header = next((value for name, value in request.headers.raw if name == b"authorization"), b"")
        scheme, _, given = header.partition(b" ")
        if not hmac.compare_digest(given.strip(), self.token) or scheme.lower() != b"bearer":
            raise NoAccessError("expected the header Authorization: Bearer TOKEN, with the token of the service")


async def _refused(_: Request, error: Exception) -> Response:
    """The answer to a request that cannot be served."""
    status = next(code for kind, code in _STATUS.items() if isinstance(error, kind))
    headers = {}
    if isinstance(error, QueueFullError | TimeoutError):
        headers["Retry-After"] = str(getattr(error, "retry_after", 1))
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if status in (408, 413):
        headers["Connection"] = "close"  # the rest of the body is not read
    return JSONResponse({"error": str(error) or "the scores took too long"}, status, headers)


async def _failed(_: Request, __: Exception) -> Response:
    """The answer where the service itself failed; the server logs the error."""
    return JSONResponse({"error": "the service failed; its log says why"}, 500)


async def _no_route(_: Request, error: Exception) -> Response:
    """The answer to an unknown address or a wrong method."""
    status = error.status_code if isinstance(error, HTTPException) else 404
    headers = error.headers if isinstance(error, HTTPException) else None
    return JSONResponse({"error": f"no such route: expected {', '.join(map(str, OPERATIONS))}"}, status, headers)


def _file(name: str, kind: str) -> Callable[[Request], Response]:
    return lambda _: FileResponse(PAGES / name, media_type=kind)


def _plain(score: float) -> float | None:
    return score if math.isfinite(score) else None


# Around every answer: security headers, counters for Prometheus, and one line of JSON in the access log.
#
# The log has neither texts nor addresses of clients: only routes of the service are named, and no query.


HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
}
_ENCODED = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
_ROUTES = {operation.path for operation in OPERATIONS}

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the histogram of answer times."""


class AccessLog:
    """Wraps the application; `write` gets one line per answer."""

    def __init__(self, app: ASGIApp, write: Callable[[str], object] | None = None) -> None:
        self.app, self.write = app, write
        self.answered: Counter[tuple[str, int]] = Counter()
        """Route and status -> answers since the start."""
        self.times: Counter[float] = Counter()
        """Upper bound -> answers to requests for scores that took no longer, and longer than the bound before."""
        self.seconds = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status, size = time.perf_counter(), 0, 0

        async def sent(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message["headers"], *_ENCODED]}
            else:
                size += len(message.get("body", b""))
            await send(message)

        try:
            await self.app(scope, receive, sent)
        finally:
            self._note(scope, status or 500, size, time.perf_counter() - start)

    def _note(self, scope: Scope, status: int, size: int, seconds: float) -> None:
        route = scope["path"] if scope["path"] in _ROUTES else "other"
        self.answered[route, status] += 1
        if scope["method"] == "POST":
            self.seconds += seconds
            self.times[next((bound for bound in SECONDS if seconds <= bound), float("inf"))] += 1
        if self.write is not None:
            entry: dict[str, Any] = {
                "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "method": scope["method"] if len(scope["method"]) < 10 else "other",
                "route": route,
                "status": status,
                "replies": scope.get("state", {}).get("replies", 0),
                "bytes": size,
                "ms": round(1000 * seconds, 1),
            }
            self.write(json.dumps(entry))

    def prometheus(self) -> list[str]:
        """The lines of the counters."""
        lines = ["# TYPE rejoinder_requests_total counter"]
        lines += [
            f'rejoinder_requests_total{{route="{route}",status="{code}"}} {n}'
            for (route, code), n in sorted(self.answered.items())
        ]
        lines.append("# TYPE rejoinder_request_seconds histogram")
        total = 0
        for bound in (*SECONDS, float("inf")):
            total += self.times[bound]
            shown = "+Inf" if bound == float("inf") else f"{bound:g}"
            lines.append(f'rejoinder_request_seconds_bucket{{le="{shown}"}} {total}')
        return [*lines, f"rejoinder_request_seconds_sum {self.seconds:.6f}", f"rejoinder_request_seconds_count {total}"]

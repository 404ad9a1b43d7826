"""The application: what each route does. The routes themselves are in `description`.

Errors are JSON, {"error": "one line"}: 400 bad input, 401 no or a wrong token, 408 arrived too slowly, 413 too large,
429 too much is waiting, 503 took too long.
"""

from __future__ import annotations

import asyncio
import hmac
import math
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from rejoinder._version import __version__
from rejoinder.errors import CallError, RejoinderError
from rejoinder.metrics.base import Metric
from rejoinder.registry import SHIPPED
from rejoinder.service.access_log import AccessLog
from rejoinder.service.batcher import Batcher, QueueFullError
from rejoinder.service.bodies import (
    ComparisonRequest,
    TooLargeError,
    TooSlowError,
    body_of,
    example_of_body,
    examples_of,
)
from rejoinder.service.comparing import SystemReplies
from rejoinder.service.description import OPERATIONS, document
from rejoinder.service.limits import Limits
from rejoinder.service.why import COST, LONGEST, explained

PAGES = Path(__file__).parent / "pages"


class NoAccessError(RejoinderError):
    """A request without the token."""


_STATUS: dict[type[Exception], int] = {
    NoAccessError: 401,
    TooSlowError: 408,
    TooLargeError: 413,
    QueueFullError: 429,
    TimeoutError: 503,
    RejoinderError: 400,
}


def make_app(
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
        """The scores of one example, or of a list of them; null where a metric cannot score."""
        self._check_token(request)
        examples = examples_of(await body_of(request, self.limits), self.limits)
        request.state.replies = len(examples)
        columns = await self.batcher.score(examples)
        rows = [
            {
                "id": example.id,
                **({"system": example.system} if example.system else {}),
                "scores": {label: _plain(column[row]) for label, column in columns.items()},
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
                columns = await self.batcher.score(replies.examples)
                loop = asyncio.get_running_loop()
                found = await loop.run_in_executor(self.statistics, replies.compared, columns)
        finally:
            self.comparing -= 1
        return JSONResponse(found)

    async def explain(self, request: Request) -> Response:
        """The scores of one reply, and why."""
        self._check_token(request)
        example = example_of_body(await body_of(request, self.limits), LONGEST)
        request.state.replies = 1
        return JSONResponse(await self.batcher.run(lambda: explained(example, self.batcher.metrics), COST))

    async def metrics_list(self, request: Request) -> Response:
        """The metrics that are served."""
        self._check_token(request)
        told = {
            label: {
                "measures": SHIPPED.get(label, metric.measures),
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

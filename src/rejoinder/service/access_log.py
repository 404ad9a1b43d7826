"""Around every answer: security headers, counters for Prometheus, and one line of JSON in the access log.

The log has neither texts nor addresses of clients: only routes of the service are named, and no query.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rejoinder.service.description import OPERATIONS

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

"""Access control of a study: secrets in links, signed cookies, limits on requests, and strict headers."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 64 * 1024
HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}


def new_token() -> str:
    """A secret of 192 bits, for a link."""
    return secrets.token_urlsafe(24)


def token_hash(token: str) -> str:
    """The hash of a secret, which is stored instead of it."""
    return hashlib.sha256(token.encode()).hexdigest()


def same(given: str, expected: str) -> bool:
    """Whether two secrets are equal, in a time that does not depend on where they differ."""
    return hmac.compare_digest(given.encode(), expected.encode())


def form_token(secret: str, who: str) -> str:
    """The CSRF token of a form: no other site can submit it in a rater's name."""
    return hmac.new(secret.encode(), f"form:{who}".encode(), hashlib.sha256).hexdigest()


@dataclass
class RateLimit:
    """A limit on requests per minute from one address."""

    most: int
    _seen: dict[str, deque[float]] = field(default_factory=lambda: defaultdict(deque))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def allows(self, address: str) -> bool:
        """Count a request, unless there were too many."""
        now = time.monotonic()
        with self._lock:
            if len(self._seen) > 10_000:  # so many addresses are no raters
                self._seen.clear()
            seen = self._seen[address]
            while seen and now - seen[0] > 60:
                seen.popleft()
            if len(seen) >= self.most:
                return False
            seen.append(now)
            return True


class Guard:
    """Wraps the application: limits on rate and body, and security headers on every answer."""

    def __init__(self, app: ASGIApp, per_minute: int) -> None:
        self.app, self.limit = app, RateLimit(per_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        address = (scope.get("client") or ("unknown", 0))[0]
        headers = {key.decode("latin-1").lower(): value.decode("latin-1") for key, value in scope["headers"]}
        if not self.limit.allows(address):
            await _plain(_with_headers(send), 429, "Too many requests: please wait a minute.", {"retry-after": "60"})
            return
        if _length(headers) > LARGEST_BODY:
            await _plain(_with_headers(send), 413, "The request is too large.")
            return
        await self.app(scope, _limited(receive), _with_headers(send))


class TooLargeError(Exception):
    """A body that grew beyond what was announced or allowed."""


def _limited(receive: Receive) -> Receive:
    size = 0

    async def limited() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > LARGEST_BODY:
            raise TooLargeError
        return message

    return limited


def _length(headers: dict[str, str]) -> int:
    try:
        return int(headers.get("content-length", "0"))
    except ValueError:
        return LARGEST_BODY + 1


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {key.lower() for key, _ in message["headers"]}
            extra = [(key.encode(), value.encode()) for key, value in HEADERS.items() if key.encode() not in present]
            message = {**message, "headers": [*message["headers"], *extra]}
        await send(message)

    return sent


async def _plain(send: Send, status: int, text: str, headers: dict[str, str] | None = None) -> None:
    body = text.encode()
    sent = {"content-type": "text/plain; charset=utf-8", "content-length": str(len(body)), **(headers or {})}
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(key.encode(), value.encode()) for key, value in sent.items()],
        }
    )
    await send({"type": "http.response.body", "body": body})

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
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode())


def form_token(secret: str, who: str) -> str:
    """The CSRF token of a form: no other site can submit it in a rater's name."""
    return _signature(secret, f"form:{who}")


def stamped(secret: str, moment: float, item: str) -> str:
    """A moment at which an item was shown, signed, so that a rater cannot pretend to have read for longer."""
    text = f"{moment:.3f}"
    return f"{text}.{_signature(secret, f'shown:{item}:{text}')}"


def stamp_moment(secret: str, stamp: str, item: str) -> float | None:
    """The moment of a stamp; None where the stamp is not ours."""
    text, _, signature = stamp.rpartition(".")
    return float(text) if same(signature, _signature(secret, f"shown:{item}:{text}")) else None


def _signature(secret: str, text: str) -> str:
    return hmac.new(secret.encode(), text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


@dataclass
class RateLimit:
    """A limit on requests per minute, of one rater or from one address."""

    most: int
    _seen: dict[str, deque[float]] = field(default_factory=lambda: defaultdict(deque))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def allows(self, visitor: str) -> bool:
        """Count a request, unless there were too many."""
        now = time.monotonic()
        with self._lock:
            if len(self._seen) > 10_000:  # so many visitors are no raters
                self._seen.clear()
            seen = self._seen[visitor]
            while seen and now - seen[0] > 60:
                seen.popleft()
            if len(seen) >= self.most:
                return False
            seen.append(now)
            return True


class Guard:
    """Limits rate and body of requests. It belongs inside the sessions' middleware.

    Raters are counted by their signed cookie, so that a classroom behind one router is not taken for one rater;
    everyone else, such as someone who guesses links, by address.
    """

    def __init__(self, app: ASGIApp, per_minute: int) -> None:
        self.app, self.limit = app, RateLimit(per_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {key.decode("latin-1").lower(): value.decode("latin-1") for key, value in scope["headers"]}
        address = (scope.get("client") or ("unknown", 0))[0]
        rater = scope.get("session", {}).get("rater")
        if not self.limit.allows(f"rater {rater}" if isinstance(rater, str) else f"address {address}"):
            await _plain(send, 429, "Too many requests: please wait a minute.", {"retry-after": "60"})
        elif _length(headers) > LARGEST_BODY:
            await _plain(send, 413, "The request is too large.")
        else:
            await self.app(scope, _limited(receive), send)


class SecurityHeaders:
    """Wraps the whole application: security headers on every answer, errors included."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self.app(scope, receive, _with_headers(send) if scope["type"] == "http" else send)


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

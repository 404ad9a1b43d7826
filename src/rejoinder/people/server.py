"""The web application of a study, its server, and what keeps it safe."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import threading
import time
from collections import defaultdict, deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rejoinder.errors import CallError, DataError
from rejoinder.folders.schema import json_value
from rejoinder.folders.sources import require_extra
from rejoinder.people.store import Store
from rejoinder.people.study import Study
from rejoinder.show.markdown import markdown_html

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

# The web application of a study, and the server that runs it.


PAGES = Path(__file__).parent / "html"
_SERVED = {"style.css": "text/css", "keys.js": "text/javascript"}
_PER_MINUTE = 600
"""Requests of one rater, or of all visitors without a session from one address."""
_CACHED = {"cache-control": "public, max-age=3600"}


@dataclass(frozen=True)
class Secrets:
    """The keys for cookies, forms and the organisers' link; in a file that only its owner can read."""

    signing: str
    admin: str

    @classmethod
    def beside(cls, study_file: Path) -> Secrets:
        """The secrets of the study, created at first use."""
        path = study_file.with_suffix(".secrets.json")
        if path.exists():
            try:
                found = json_value(path.read_text(encoding="utf-8"))
                return cls(str(found["signing"]), str(found["admin"]))
            except (ValueError, KeyError, TypeError) as error:
                raise DataError("is damaged: expected the secrets of a study", file=str(path)) from error
        fresh = cls(secrets.token_urlsafe(32), new_token())
        try:
            with open(path, "x", encoding="utf-8", opener=_private) as file:
                json.dump({"signing": fresh.signing, "admin": fresh.admin}, file)
        except OSError as error:
            raise CallError(f"{path} cannot be written ({error.strerror})") from error
        return fresh


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def rating_app(
    study: Study, store: Store, known: Secrets, *, open_to_all: bool = False, https: bool = False
) -> ASGIApp:
    """The application, ready for any ASGI server."""
    require_extra("annotate", "collecting ratings")
    from jinja2 import Environment, FileSystemLoader
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.sessions import SessionMiddleware
    from starlette.routing import Route
    from starlette.templating import Jinja2Templates

    from rejoinder.people.pages import AdminPages, RatingPages
    from rejoinder.people.queue import Assigner

    environment = Environment(loader=FileSystemLoader(PAGES), autoescape=True, auto_reload=False)
    environment.filters["formatted"] = lambda text: markdown_html(text) or text
    for page in PAGES.glob("*.html"):
        environment.get_template(page.name)  # compiled now, so that no rater waits for it
    templates = Jinja2Templates(env=environment)
    assigner = Assigner(study, store)
    assigner.prepare()
    rating = RatingPages(study, store, assigner, templates, known.signing, open_to_all)
    admin = AdminPages(study, store, assigner, templates, known.admin)
    sessions = Middleware(
        SessionMiddleware,
        secret_key=known.signing,
        session_cookie="study",
        max_age=30 * 24 * 3600,
        same_site="lax",
        https_only=https,
    )
    app = Starlette(
        routes=[*rating.routes, *admin.routes, Route("/pages/{name}", _file)],
        middleware=[sessions, Middleware(Guard, per_minute=_PER_MINUTE)],
        exception_handlers={BodyTooLargeError: _too_large},
    )
    return SecurityHeaders(app)


def _too_large(request: Request, error: Exception) -> Response:  # noqa: ARG001 - as Starlette calls it
    from starlette.responses import PlainTextResponse

    return PlainTextResponse("The request is too large.", 413)


def _file(request: Request) -> Response:
    """The style sheet and the script; templates are not sent as files."""
    from starlette.responses import FileResponse, PlainTextResponse

    name = request.path_params["name"]
    if name not in _SERVED:
        return PlainTextResponse("", 404)
    return FileResponse(PAGES / name, media_type=_SERVED[name], headers=_CACHED)


# Access control of a study: secrets in links, signed cookies, limits on requests, and strict headers.


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


class BodyTooLargeError(Exception):
    """A body that grew beyond what was announced or allowed."""


def _limited(receive: Receive) -> Receive:
    size = 0

    async def limited() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > LARGEST_BODY:
            raise BodyTooLargeError
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

"""The web application of a study, and the server that runs it."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rejoinder.annotation.security import Guard, SecurityHeaders, TooLargeError, new_token
from rejoinder.annotation.store import Store
from rejoinder.annotation.study import Study
from rejoinder.errors import CallError, DataError
from rejoinder.learning.extras import require_extra
from rejoinder.loading.schema import json_value

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp

PAGES = Path(__file__).parent / "pages"
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


def make_app(study: Study, store: Store, known: Secrets, *, open_to_all: bool = False, https: bool = False) -> ASGIApp:
    """The application, ready for any ASGI server."""
    require_extra("annotate", "collecting ratings")
    from jinja2 import Environment, FileSystemLoader
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.sessions import SessionMiddleware
    from starlette.routing import Route
    from starlette.templating import Jinja2Templates

    from rejoinder.annotation.admin import AdminPages
    from rejoinder.annotation.assignment import Assigner
    from rejoinder.annotation.rating import RatingPages

    environment = Environment(loader=FileSystemLoader(PAGES), autoescape=True, auto_reload=False)
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
        exception_handlers={TooLargeError: _too_large},
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

"""The page for those who run a study, behind a link of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from rejoinder.annotation.assignment import Assigner
from rejoinder.annotation.progress import state_of
from rejoinder.annotation.security import same, token_hash
from rejoinder.annotation.store import Store
from rejoinder.annotation.study import Study

if TYPE_CHECKING:
    from starlette.templating import Jinja2Templates


@dataclass(frozen=True)
class AdminPages:
    """The organisers' side of the application."""

    study: Study
    store: Store
    assigner: Assigner
    templates: Jinja2Templates
    token: str

    @property
    def routes(self) -> list[Route]:
        """The routes."""
        return [Route("/admin", self.show), Route("/admin/{token}", self.enter)]

    def enter(self, request: Request) -> Response:
        """The organisers' link."""
        if not same(token_hash(request.path_params["token"]), token_hash(self.token)):
            return PlainTextResponse("This link is not known.", 404)
        request.session["admin"] = True
        return RedirectResponse("/admin", 303)

    def show(self, request: Request) -> Response:
        """The page with the state of the study."""
        if request.session.get("admin") is not True:
            return PlainTextResponse("Please open the organisers' link that the server printed.", 403)
        state = state_of(self.study, self.store, self.assigner)
        return self.templates.TemplateResponse(request, "admin.html", {"study": self.study, "state": state})

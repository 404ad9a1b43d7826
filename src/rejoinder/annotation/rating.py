"""The pages that raters see: consent, one item at a time, and the end.

Every answer is stored before the next page is shown. Whoever comes back, or reloads, continues with the first item
that is not answered yet.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from rejoinder.annotation.assignment import Assigner
from rejoinder.annotation.items import Item
from rejoinder.annotation.security import form_token, new_token, same, stamp_moment, stamped, token_hash
from rejoinder.annotation.store import Answer, Rater, Store, latest
from rejoinder.annotation.study import Question, Study
from rejoinder.data.pairs import by_replier

if TYPE_CHECKING:
    from starlette.templating import Jinja2Templates

PLATFORM_IDS = ("PROLIFIC_PID", "workerId", "participant_id")
"""URL parameters in which crowd-sourcing platforms pass the identity of a worker."""
_LONGEST_IDENTITY = 128
_LONGEST_PAUSE = 3600.0
"""Seconds; longer times were not spent on the item."""


@dataclass(frozen=True)
class Place:
    """A rater's position: the next item and page of questions."""

    item: Item
    page: tuple[Question, ...]
    done: int
    """Items that are answered."""
    total: int
    first: bool
    """Whether it is the first page of the item."""


@dataclass(frozen=True)
class RatingPages:
    """The raters' side of the application."""

    study: Study
    store: Store
    assigner: Assigner
    templates: Jinja2Templates
    secret: str
    open_to_all: bool = False
    """Whether anyone may join by /join; else a personal link or a platform's identity is needed."""

    @property
    def routes(self) -> list[Route]:
        """The routes."""
        return [
            Route("/", self.start),
            Route("/r/{token}", self.enter),
            Route("/join", self.join),
            Route("/consent", self.consent, methods=["POST"]),
            Route("/rate", self.rate),
            Route("/answer", self.answer, methods=["POST"]),
        ]

    def start(self, request: Request) -> Response:
        """Known raters continue; others see how to join."""
        if self._rater(request) is not None:
            return RedirectResponse("/rate", 303)
        return self._page(request, "message.html", title=self.study.title, text="Please open your personal link.")

    def enter(self, request: Request) -> Response:
        """A personal link."""
        rater = self.store.rater_by("token", token_hash(request.path_params["token"]))
        if rater is None:
            return PlainTextResponse("This link is not known. Please check that it is complete.", 404)
        request.session["rater"] = rater.id
        return RedirectResponse("/rate", 303)

    def join(self, request: Request) -> Response:
        """Someone from a crowd-sourcing platform, or anyone where the study is open."""
        identity = next((found for name in PLATFORM_IDS if (found := request.query_params.get(name))), "")
        if len(identity) > _LONGEST_IDENTITY or not identity.isprintable():
            return PlainTextResponse("This link is not complete.", 400)
        if not identity and not self.open_to_all:
            return PlainTextResponse("This link lacks the identity that your platform adds to it.", 400)
        known = self.store.rater_by("source", f"platform:{identity}") if identity else None
        request.session["rater"] = known.id if known is not None else self._new_rater(identity)
        return RedirectResponse("/rate", 303)

    async def consent(self, request: Request) -> Response:
        """The answer to the consent text."""
        rater = self._rater(request)
        form = await request.form()
        if rater is None or not self._is_ours(rater, str(form.get("form", ""))):
            return PlainTextResponse("Please open your personal link again.", 403)
        if form.get("agree") == "yes":
            self.store.mark(rater.id, consented=True)
            return RedirectResponse("/rate", 303)
        self.store.mark(rater.id, outcome="declined")
        return self._end(request, "declined")

    def rate(self, request: Request) -> Response:
        """The next page of questions, or the end."""
        rater = self._rater(request)
        if rater is None:
            return RedirectResponse("/", 303)
        if rater.outcome == "declined":
            return self._end(request, "declined")
        if self.study.consent and rater.consented is None:
            return self._page(request, "consent.html", rater=rater)
        place = self._place(rater)
        if isinstance(place, str):
            self.store.mark(rater.id, outcome=place)
            return self._end(request, place)
        return self._show(request, rater, place)

    async def answer(self, request: Request) -> Response:
        """Store the answers of one page."""
        rater = self._rater(request)
        form = await request.form()
        if rater is None or not self._is_ours(rater, str(form.get("form", ""))):
            return PlainTextResponse("Please open your personal link again.", 403)
        place = self._place(rater)
        if isinstance(place, str) or place.item.id != form.get("item") or str(place.page[0].page) != form.get("page"):
            return RedirectResponse("/rate", 303)  # answered before, in another window or by the back button
        # PostgreSQL cannot store NUL, which no keyboard types.
        values = {one.name: str(form.get(one.name, "")).replace("\0", "").strip() for one in place.page}
        problems = {question.name: question.problem(values[question.name]) for question in place.page}
        if any(problems.values()):
            return self._show(request, rater, place, values, problems, status=422)
        now = time.time()
        shown = stamp_moment(self.secret, str(form.get("shown", "")), place.item.id)
        seconds = min(_LONGEST_PAUSE, max(0.0, now - shown)) if shown is not None else 0.0
        answers = [
            Answer(rater.id, place.item.id, name, self._unshuffled(rater, place.item, value), seconds, now)
            for name, value in values.items()
        ]
        self.store.add_answers(answers)
        return RedirectResponse("/rate", 303)

    def _place(self, rater: Rater) -> Place | str:
        """The rater's position, or the outcome if the rater has finished."""
        given = self.assigner.hand_out(rater.id)
        if not given:
            return "nothing_left"
        answered = {(item, question) for _, item, question in latest(self.store.answers(rater.id))}
        whole = [item for item in given if all((item, one.name) in answered for one in self.study.questions)]
        for item in given:
            for number, page in enumerate(self.study.pages):
                if any((item, question.name) not in answered for question in page):
                    return Place(self.assigner.items[item], page, len(whole), len(given), number == 0)
        return "done"

    def _show(
        self,
        request: Request,
        rater: Rater,
        place: Place,
        values: dict[str, str] | None = None,
        problems: dict[str, str] | None = None,
        status: int = 200,
    ) -> Response:
        item = place.item
        own = by_replier(len(item.context), item.speakers)
        replies = item.replies[::-1] if self._swapped(rater, item) else item.replies
        return self._page(
            request,
            "rate.html",
            status=status,
            rater=rater,
            place=place,
            turns=list(zip(own, item.context, strict=True)),
            replies=replies,
            values=values or {},
            problems=problems or {},
            shown=stamped(self.secret, time.time(), item.id),
        )

    def _end(self, request: Request, outcome: str) -> Response:
        return self._page(request, "end.html", outcome=outcome, code=getattr(self.study.codes, outcome))

    def _page(self, request: Request, name: str, status: int = 200, **values: Any) -> Response:
        rater = values.get("rater")
        form = form_token(self.secret, rater.id) if isinstance(rater, Rater) else ""
        given = {"study": self.study, "form": form, **values}
        return self.templates.TemplateResponse(request, name, given, status_code=status)

    def _rater(self, request: Request) -> Rater | None:
        known = request.session.get("rater")
        return self.store.rater_by("id", known) if isinstance(known, str) else None

    def _new_rater(self, identity: str) -> str:
        rater = new_token()[:16]
        with self.store.transaction():
            self.store.add_rater(rater, token_hash(new_token()), f"platform:{identity}" if identity else "")
        return rater

    def _is_ours(self, rater: Rater, given: str) -> bool:
        return same(given, form_token(self.secret, rater.id))

    def _swapped(self, rater: Rater, item: Item) -> bool:
        """Whether a pair is shown the other way round: pseudo-random, and the same after a reload."""
        return bool(blake2b(f"{rater.id}:{item.id}".encode(), digest_size=1).digest()[0] % 2)

    def _unshuffled(self, rater: Rater, item: Item, value: str) -> str:
        """A choice between A and B in the order of the item."""
        if self.study.kind == "pair" and self._swapped(rater, item):
            return {"A": "B", "B": "A"}.get(value, value)
        return value

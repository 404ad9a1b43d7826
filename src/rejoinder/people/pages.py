"""The pages of a study, for raters and for organisers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from rejoinder.data.dialogues import by_replier
from rejoinder.people.items import Item, other_way_round, swapped
from rejoinder.people.progress import state_of
from rejoinder.people.queue import Assigner
from rejoinder.people.server import form_token, new_token, same, stamp_moment, stamped, token_hash
from rejoinder.people.store import MISUNDERSTOOD, PASTED, UNDERSTOOD, Observation, Rater, RaterAnswer, Store
from rejoinder.people.study import Question, Study

if TYPE_CHECKING:
    from starlette.templating import Jinja2Templates

# The pages that raters see: consent, questions about the instructions, one item at a time, and the end.
#
# Every answer is stored before the next page is shown. Whoever comes back, or reloads, continues with the first item
# that is not answered yet. Pages are made in the event loop, where reading takes a fraction of a millisecond; whatever
# writes, and may wait for the disk, runs in a thread.


PLATFORM_IDS = ("PROLIFIC_PID", "workerId", "participant_id")
"""URL parameters in which crowd-sourcing platforms pass the identity of a worker."""
_LONGEST_IDENTITY = 128
_LONGEST_PAUSE = 3600.0
"""Seconds; longer times were not spent on the item."""
_MOST_FIELDS = 100


@dataclass(frozen=True)
class RaterPosition:
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
    _understood: set[str] = field(default_factory=set)
    """Raters who are known to have answered the questions about the instructions rightly."""

    @property
    def routes(self) -> list[Route]:
        """The routes."""
        return [
            Route("/", self.start),
            Route("/r/{token}", self.enter),
            Route("/join", self.join),
            Route("/consent", self.consent, methods=["POST"]),
            Route("/comprehension", self.comprehension, methods=["POST"]),
            Route("/rate", self.rate),
            Route("/answer", self.answer, methods=["POST"]),
        ]

    async def start(self, request: Request) -> Response:
        """Known raters continue; others see how to join."""
        if self._rater(request) is not None:
            return RedirectResponse("/rate", 303)
        return self._page(request, "message.html", text="Please open your personal link.")

    async def enter(self, request: Request) -> Response:
        """A personal link."""
        rater = self.store.rater_by("token", token_hash(request.path_params["token"]))
        if rater is None:
            return self._told(request, 404, "This link is not known. Please check that it is complete.")
        request.session["rater"] = rater.id
        return RedirectResponse("/rate", 303)

    async def join(self, request: Request) -> Response:
        """Someone from a crowd-sourcing platform, or anyone where the study is open."""
        identity = next((found for name in PLATFORM_IDS if (found := request.query_params.get(name))), "")
        if len(identity) > _LONGEST_IDENTITY or not identity.isprintable():
            return self._told(request, 400, "This link is not complete.")
        if not identity and not self.open_to_all:
            return self._told(request, 400, "This link lacks the identity that your platform adds to it.")
        request.session["rater"] = await run_in_threadpool(self._joined, identity)
        return RedirectResponse("/rate", 303)

    async def consent(self, request: Request) -> Response:
        """The answer to the consent text."""
        rater, form = self._rater(request), await _form(request)
        if rater is None or not self._is_ours(rater, form):
            return self._told(request, 403, "Please open your personal link again.")
        if form.get("agree") == "yes":
            await run_in_threadpool(self.store.mark, rater.id, consented=True)
            return RedirectResponse("/rate", 303)
        await run_in_threadpool(self.store.mark, rater.id, outcome="declined")
        return self._end(request, "declined")

    async def comprehension(self, request: Request) -> Response:
        """The answers to the questions about the instructions; wrong ones are counted and asked again."""
        rater, form = self._rater(request), await _form(request)
        if rater is None or not self._is_ours(rater, form):
            return self._told(request, 403, "Please open your personal link again.")
        chosen = {number: form.get(f"choice-{number}", "") for number in range(len(self.study.comprehension))}
        wrong = [number for number, one in enumerate(self.study.comprehension) if chosen[number] != one.right]
        if any(chosen[number] not in one.choices for number, one in enumerate(self.study.comprehension)):
            return self._page(request, "comprehension.html", status=422, rater=rater, chosen=chosen, wrong=wrong)
        noted = [Observation(rater.id, str(number), MISUNDERSTOOD, chosen[number]) for number in wrong]
        await run_in_threadpool(self.store.observe, noted or [Observation(rater.id, "", UNDERSTOOD, "")])
        if wrong:
            return self._page(request, "comprehension.html", status=422, rater=rater, chosen=chosen, wrong=wrong)
        return RedirectResponse("/rate", 303)

    async def rate(self, request: Request) -> Response:
        """The next page of questions, or the end."""
        rater = self._rater(request)
        if rater is None:
            return RedirectResponse("/", 303)
        if rater.outcome == "declined":
            return self._end(request, "declined")
        if self.study.consent and rater.consented is None:
            return self._page(request, "consent.html", rater=rater)
        if self.study.comprehension and not self._has_understood(rater):
            return self._page(request, "comprehension.html", rater=rater, chosen={}, wrong=[])
        place = await self._place(rater)
        if isinstance(place, str):
            if rater.outcome != place:
                await run_in_threadpool(self.store.mark, rater.id, outcome=place)
            return self._end(request, place)
        return self._show(request, rater, place)

    async def answer(self, request: Request) -> Response:
        """Store the answers of one page."""
        rater, form = self._rater(request), await _form(request)
        if rater is None or not self._is_ours(rater, form):
            return self._told(request, 403, "Please open your personal link again.")
        if self.study.consent and rater.consented is None:
            return RedirectResponse("/rate", 303)
        place = await self._place(rater)
        if isinstance(place, str) or place.item.id != form.get("item") or str(place.page[0].page) != form.get("page"):
            return RedirectResponse("/rate", 303)  # answered before, in another window or by the back button
        # PostgreSQL cannot store NUL, which no keyboard types.
        values = {one.name: form.get(one.name, "").replace("\0", "").strip() for one in place.page}
        problems = {question.name: question.problem(values[question.name]) for question in place.page}
        if any(problems.values()):
            return self._show(request, rater, place, values, problems, status=422)
        now = time.time()
        shown = stamp_moment(self.secret, form.get("shown", ""), place.item.id)
        seconds = min(_LONGEST_PAUSE, max(0.0, now - shown)) if shown is not None else 0.0
        answers = [
            RaterAnswer(rater.id, place.item.id, name, self._in_order(rater, place.item, value), seconds, now)
            for name, value in values.items()
        ]
        await run_in_threadpool(self.store.add_answers, answers)
        if self.study.kind == "write" and form.get("pasted", "0").isdecimal() and form.get("pasted", "0") != "0":
            pasted = Observation(rater.id, place.item.id, PASTED, form["pasted"][:9])
            await run_in_threadpool(self.store.observe, [pasted])
        return RedirectResponse("/rate", 303)

    async def _place(self, rater: Rater) -> RaterPosition | str:
        """The rater's position, or the outcome if the rater has finished."""
        given = self.assigner.known(rater.id) or await run_in_threadpool(self.assigner.hand_out, rater.id)
        if not given:
            return "nothing_left"
        answered = self.store.answered(rater.id)
        done = sum(all((item, one.name) in answered for one in self.study.questions) for item in given)
        for item in given:
            for number, page in enumerate(self.study.pages):
                if any((item, question.name) not in answered for question in page):
                    return RaterPosition(self.assigner.items[item], page, done, len(given), number == 0)
        return "done"

    def _has_understood(self, rater: Rater) -> bool:
        if rater.id not in self._understood and any(
            one.kind == UNDERSTOOD for one in self.store.observations(rater.id)
        ):
            self._understood.add(rater.id)
        return rater.id in self._understood

    def _show(
        self,
        request: Request,
        rater: Rater,
        place: RaterPosition,
        values: dict[str, str] | None = None,
        problems: dict[str, str] | None = None,
        status: int = 200,
    ) -> Response:
        item = place.item
        own = by_replier(len(item.context), item.speakers)
        replies = item.replies[::-1] if swapped(rater.id, item.id) else item.replies
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
        code = getattr(self.study.codes, outcome)
        link = self.study.codes.link.replace("{code}", quote(code, safe="")) if code else ""
        return self._page(request, "end.html", outcome=outcome, code=code, link=link)

    def _told(self, request: Request, status: int, text: str) -> Response:
        """A page with one sentence."""
        return self._page(request, "message.html", status=status, text=text)

    def _page(self, request: Request, name: str, status: int = 200, **values: Any) -> Response:
        rater = values.get("rater")
        form = form_token(self.secret, rater.id) if isinstance(rater, Rater) else ""
        given = {"study": self.study, "form": form, **values}
        return self.templates.TemplateResponse(request, name, given, status_code=status)

    def _rater(self, request: Request) -> Rater | None:
        known = request.session.get("rater")
        return self.store.rater_by("id", known) if isinstance(known, str) else None

    def _joined(self, identity: str) -> str:
        """The id of a rater with this identity on a platform; a new one where the identity is new or empty."""
        source = f"platform:{identity}" if identity else ""
        with self.store.transaction():  # so that two windows of one person do not make two raters
            known = self.store.rater_by("source", source) if identity else None
            if known is not None:
                return known.id
            rater = new_token()[:16]
            self.store.add_rater(rater, token_hash(new_token()), source)
            return rater

    def _is_ours(self, rater: Rater, form: Mapping[str, str]) -> bool:
        return same(form.get("form", ""), form_token(self.secret, rater.id))

    def _in_order(self, rater: Rater, item: Item, value: str) -> str:
        """A choice between A and B in the order of the item."""
        turned = self.study.kind == "pair" and swapped(rater.id, item.id)
        return other_way_round(value) if turned else value


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form; none where there are too many."""
    body = (await request.body()).decode("utf-8", "replace")
    try:
        return dict(parse_qsl(body, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        return {}


# The page for those who run a study, behind a link of its own.


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

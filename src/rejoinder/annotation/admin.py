"""The page for those who run a study: progress, agreement of raters, and raters to check."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from rejoinder.annotation.assignment import Assigner
from rejoinder.annotation.flags import Flag, flags_of
from rejoinder.annotation.items import Item
from rejoinder.annotation.security import same, token_hash
from rejoinder.annotation.store import Answer, Store, latest
from rejoinder.annotation.study import Study
from rejoinder.stats.agreement.item_bootstrap import alpha_interval
from rejoinder.stats.intervals import Interval
from rejoinder.stats.mixed.crossed import SystemDifference, crossed_means
from rejoinder.stats.multiple import ALPHA

if TYPE_CHECKING:
    from starlette.templating import Jinja2Templates

_RESAMPLES = 400
"""For intervals on a page that is loaded often; `rejoinder agree` takes more."""
_FEWEST = 30
"""Ratings below which systems are not compared."""


@dataclass(frozen=True)
class QuestionState:
    """Agreement and means of one question."""

    name: str
    answers: int
    alpha: Interval
    """Krippendorff's alpha over items with two raters or more; NaN where there are none."""
    means: tuple[tuple[str, int, float], ...]
    """System, number of ratings, mean."""
    pairs: tuple[SystemDifference, ...]
    """Differences between systems, for other contexts and raters; empty where the ratings do not suffice for them."""

    @property
    def separated(self) -> int:
        """Pairs of systems whose difference is significant, after Holm's correction."""
        return sum(pair.p_adjusted < ALPHA for pair in self.pairs)


@dataclass(frozen=True)
class State:
    """The state of a study."""

    raters: int
    finished: int
    items: int
    complete: int
    """Items that have all their raters."""
    seconds: float
    """The median time that a rater spent on an item, all its pages together."""
    questions: tuple[QuestionState, ...]
    flags: tuple[Flag, ...]

    @property
    def share(self) -> float:
        """How much of the study is done."""
        return self.complete / self.items if self.items else 1.0


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


def state_of(study: Study, store: Store, assigner: Assigner) -> State:
    """Progress, agreement and flags, from all answers so far."""
    answers = list(latest(store.answers()).values())
    raters = store.raters()
    real = [item for item in assigner.items.values() if item.role == "real"]
    counts: dict[str, set[str]] = defaultdict(set)
    for answer in answers:
        counts[answer.item].add(answer.rater)
    seconds = _seconds_per_item(answers)
    return State(
        len(raters),
        sum(rater.outcome == "done" for rater in raters),
        len(real),
        sum(len(counts[item.id]) >= study.raters_per_item for item in real),
        statistics.median(seconds) if seconds else math.nan,
        tuple(
            _question_state(question.name, answers, assigner.items)
            for question in study.questions
            if question.kind == "scale"
        ),
        tuple(flags_of(study, answers, assigner.items)),
    )


def _question_state(name: str, answers: Sequence[Answer], items: dict[str, Item]) -> QuestionState:
    own = [one for one in answers if one.question == name and items[one.item].role == "real"]
    by_system: dict[str, list[float]] = defaultdict(list)
    for one in own:
        by_system[items[one.item].examples[0][1]].append(float(one.value))
    means = tuple((system, len(found), statistics.fmean(found)) for system, found in sorted(by_system.items()))
    return QuestionState(name, len(own), _alpha(own), means, _pairs(own, items))


def _alpha(answers: Sequence[Answer]) -> Interval:
    items = {item: row for row, item in enumerate(sorted({one.item for one in answers}))}
    raters = {rater: column for column, rater in enumerate(sorted({one.rater for one in answers}))}
    ratings = np.full((len(items), len(raters)), np.nan)
    for one in answers:
        ratings[items[one.item], raters[one.rater]] = float(one.value)
    if not ratings.size or not ((~np.isnan(ratings)).sum(axis=1) > 1).any():
        return Interval(math.nan, math.nan, math.nan)
    return alpha_interval(ratings, n_resamples=_RESAMPLES)


def _pairs(answers: Sequence[Answer], items: dict[str, Item]) -> tuple[SystemDifference, ...]:
    systems = [items[one.item].stratum for one in answers]
    if len(answers) < _FEWEST or len(set(systems)) < 2:
        return ()
    found = crossed_means(
        [float(one.value) for one in answers],
        systems,
        [items[one.item].group for one in answers],
        [one.item for one in answers],
        [one.rater for one in answers],
    )
    return found.differences if found is not None else ()


def _seconds_per_item(answers: Sequence[Answer]) -> list[float]:
    """One time per rater and item. Answers of one page have the same time, which counts once."""
    pages = {(one.rater, one.item, one.given): one.seconds for one in answers}
    totals: dict[tuple[str, str], float] = defaultdict(float)
    for (rater, item, _), seconds in pages.items():
        totals[rater, item] += seconds
    return list(totals.values())

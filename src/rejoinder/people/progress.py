"""The state of a study: progress, agreement so far, what the answers say about the systems, and raters to look at."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.people.flags import PAIR_VALUES, Flag, flags_of
from rejoinder.people.items import Item
from rejoinder.people.queue import Assigner
from rejoinder.people.store import RaterAnswer, Store, latest
from rejoinder.people.study import ItemKind, Question, Study
from rejoinder.stats.intervals import Interval
from rejoinder.stats.mixed import crossed_means
from rejoinder.stats.preferences import LOSS, TIE, WIN, Contests, rank
from rejoinder.stats.rater_intervals import alpha_interval
from rejoinder.stats.resampling import ALPHA

_RESAMPLES = 400
"""For intervals on a page that is loaded often; `rejoinder agree` takes more."""
_FEWEST = 30
"""Answers below which systems are not compared."""


@dataclass(frozen=True)
class SystemState:
    """What the answers so far say about one system."""

    system: str
    answers: int
    value: float
    """The mean score; for pairs the share of comparisons that it won, with ties as half."""


@dataclass(frozen=True)
class StudyDifference:
    """Two systems compared."""

    a: str
    b: str
    estimate: Interval
    """The mean of B minus that of A; for pairs the probability that B is preferred to A."""
    p_adjusted: float
    """Holm-corrected over all pairs of systems."""


@dataclass(frozen=True)
class QuestionState:
    """Agreement and results of one question."""

    name: str
    kind: ItemKind
    answers: int
    alpha: Interval
    """Krippendorff's alpha over items with two raters or more; NaN where there are none."""
    systems: tuple[SystemState, ...]
    differences: tuple[StudyDifference, ...]
    """For other contexts and, where the ratings suffice, other raters; empty where the answers do not suffice."""

    constant: bool = False
    """Whether all answers are equal, so that agreement cannot be measured."""

    @property
    def separated(self) -> int:
        """Pairs of systems whose difference is significant, after Holm's correction."""
        return sum(one.p_adjusted < ALPHA for one in self.differences)


@dataclass(frozen=True)
class StudyState:
    """The state of a study."""

    raters: int
    finished: int
    items: int
    """Items that should be rated: in a study with a queue as many as it will draw."""
    complete: int
    """Items that have all their raters."""
    seconds: float
    """The median time that a rater spent on an item, all its pages together."""
    questions: tuple[QuestionState, ...]
    flags: tuple[Flag, ...]

    @property
    def share(self) -> float:
        """How much of the study is done."""
        return min(1.0, self.complete / self.items) if self.items else 1.0

    @property
    def flagged(self) -> dict[str, list[Flag]]:
        """Rater -> what was noticed."""
        found: dict[str, list[Flag]] = defaultdict(list)
        for flag in self.flags:
            found[flag.rater].append(flag)
        return found


def state_of(study: Study, store: Store, assigner: Assigner) -> StudyState:
    """Progress, agreement and flags, from all answers so far."""
    answers = list(latest(store.answers()).values())
    raters = store.raters()
    wanted = assigner.to_rate()
    counts: dict[str, set[str]] = defaultdict(set)
    for answer in answers:
        counts[answer.item].add(answer.rater)
    seconds = _seconds_per_item(answers)
    return StudyState(
        len(raters),
        sum(rater.outcome == "done" for rater in raters),
        study.queue.labels if study.queue is not None else len(wanted),
        sum(len(counts[item.id]) >= study.raters_per_item for item in wanted),
        statistics.median(seconds) if seconds else math.nan,
        tuple(_question_state(question, answers, assigner.items) for question in study.questions),
        tuple(flags_of(study, answers, assigner.items, store.observations())),
    )


def _question_state(question: Question, answers: Sequence[RaterAnswer], items: Mapping[str, Item]) -> QuestionState:
    own = [one for one in answers if one.question == question.name and items[one.item].role == "real"]
    if question.kind == "write":
        nothing = Interval(math.nan, math.nan, math.nan)
        return QuestionState(question.name, question.kind, len(own), nothing, (), ())
    of_kind = _scores if question.kind == "scale" else _preferences
    systems, differences = of_kind(own, items)
    constant = len({one.value for one in own}) == 1
    return QuestionState(question.name, question.kind, len(own), _alpha(own), systems, differences, constant)


def _alpha(answers: Sequence[RaterAnswer]) -> Interval:
    items = {item: row for row, item in enumerate(sorted({one.item for one in answers}))}
    raters = {rater: column for column, rater in enumerate(sorted({one.rater for one in answers}))}
    ratings = np.full((len(items), len(raters)), np.nan)
    for one in answers:
        number = PAIR_VALUES.get(one.value)
        ratings[items[one.item], raters[one.rater]] = float(one.value) if number is None else number
    if not ratings.size or not ((~np.isnan(ratings)).sum(axis=1) > 1).any():
        return Interval(math.nan, math.nan, math.nan)
    return alpha_interval(ratings, n_resamples=_RESAMPLES)


_Found = tuple[tuple[SystemState, ...], tuple[StudyDifference, ...]]


def _scores(answers: Sequence[RaterAnswer], items: Mapping[str, Item]) -> _Found:
    by_system: dict[str, list[float]] = defaultdict(list)
    for one in answers:
        by_system[items[one.item].stratum].append(float(one.value))
    means = tuple(SystemState(name, len(of), statistics.fmean(of)) for name, of in sorted(by_system.items()))
    if len(answers) < _FEWEST or len(by_system) < 2:
        return means, ()
    found = crossed_means(
        [float(one.value) for one in answers],
        [items[one.item].stratum for one in answers],
        [items[one.item].group for one in answers],
        [one.item for one in answers],
        [one.rater for one in answers],
    )
    differences = found.differences if found is not None else ()
    return means, tuple(StudyDifference(one.a, one.b, one.contrast.interval, one.p_adjusted) for one in differences)


def _preferences(answers: Sequence[RaterAnswer], items: Mapping[str, Item]) -> _Found:
    compared: Counter[str] = Counter()
    won: dict[str, float] = defaultdict(float)
    for one in answers:
        for (_, system), points in zip(items[one.item].examples, _POINTS[one.value], strict=True):
            compared[system] += 1
            won[system] += points
    names = sorted(compared)
    states = tuple(SystemState(name, compared[name], won[name] / compared[name]) for name in names)
    if len(answers) < _FEWEST:
        return states, ()
    code = {name: number for number, name in enumerate(names)}
    sides = np.array([[code[system] for _, system in items[one.item].examples] for one in answers])
    outcomes = [_OUTCOMES[one.value] for one in answers]
    contests = Contests.of(sides[:, 0], sides[:, 1], outcomes, [items[one.item].group for one in answers])
    if len(set(contests.components.tolist())) > 1:
        return states, ()
    duels = rank(contests, n_resamples=_RESAMPLES).duels
    return states, tuple(
        StudyDifference(names[one.first], names[one.second], _as_probability(one.difference), one.p_adjusted)
        for one in duels
    )


_POINTS = {"A": (1.0, 0.0), "B": (0.0, 1.0), "tie": (0.5, 0.5)}
_OUTCOMES = {"A": WIN, "B": LOSS, "tie": TIE}


def _as_probability(log_odds: Interval) -> Interval:
    return Interval(*(1 / (1 + math.exp(-value)) for value in (log_odds.estimate, log_odds.low, log_odds.high)))


def _seconds_per_item(answers: Sequence[RaterAnswer]) -> list[float]:
    """One time per rater and item. Answers of one page have the same time, which counts once."""
    pages = {(one.rater, one.item, one.given): one.seconds for one in answers}
    totals: dict[tuple[str, str], float] = defaultdict(float)
    for (rater, item, _), seconds in pages.items():
        totals[rater, item] += seconds
    return list(totals.values())

"""Raters that an organiser should check, with figures. The program itself excludes nobody."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rejoinder.annotation.items import Item
from rejoinder.annotation.store import Answer
from rejoinder.annotation.study import Question, Study

_SHARE_TOO_FAST = 0.25
_FEWEST = 4
"""Minimum number of answers for a rater to be checked for patterns."""


@dataclass(frozen=True)
class Flag:
    """Something that a person should look at."""

    rater: str
    kind: str
    evidence: str


def flags_of(study: Study, answers: Sequence[Answer], items: Mapping[str, Item]) -> Iterator[Flag]:
    """Every rater who failed checks, answered too quickly, gave equal answers, or repeated a text."""
    by_rater: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        by_rater[answer.rater].append(answer)
    for rater, own in sorted(by_rater.items()):
        own.sort(key=lambda answer: answer.given)
        yield from _garbled(study, rater, own, items)
        yield from _repeated(study, rater, own, items)
        yield from _too_fast(study, rater, own)
        for question in study.questions:
            values = [answer.value for answer in own if answer.question == question.name]
            yield from _alike(study, rater, question, values)


def _garbled(study: Study, rater: str, own: Sequence[Answer], items: Mapping[str, Item]) -> Iterator[Flag]:
    """High scores for shuffled words."""
    shown = [answer for answer in own if items[answer.item].role == "garbled"]
    fooled = [one for one in shown if _in_upper_half(study.question(one.question), one.value)]
    if len(fooled) * 2 > len(shown):
        yield Flag(rater, "garbled replies", f"{len(fooled)} of {len(shown)} answers on shuffled replies were high")


def _repeated(study: Study, rater: str, own: Sequence[Answer], items: Mapping[str, Item]) -> Iterator[Flag]:
    """Inconsistent answers about the same item."""
    first = {(answer.item, answer.question): answer.value for answer in own}
    far = pairs = 0
    for answer in own:
        item, question = items[answer.item], study.question(answer.question)
        before = first.get((item.of, answer.question))
        if item.role == "repeated" and before is not None and question.kind == "scale":
            pairs += 1
            far += abs(float(answer.value) - float(before)) > (question.high - question.low) / 2
    if pairs >= 2 and far * 2 > pairs:
        yield Flag(
            rater, "repeated items", f"{far} of {pairs} answers differ by more than half the scale the second time"
        )


def _too_fast(study: Study, rater: str, own: Sequence[Answer]) -> Iterator[Flag]:
    fast = [answer for answer in own if answer.seconds < study.checks.fastest]
    if len(own) >= _FEWEST and len(fast) > _SHARE_TOO_FAST * len(own):
        yield Flag(rater, "too fast", f"{len(fast)} of {len(own)} answers came within {study.checks.fastest:g} seconds")


def _alike(study: Study, rater: str, question: Question, values: Sequence[str]) -> Iterator[Flag]:
    """Straight-lining, or the same text for several contexts."""
    if question.kind == "write":
        again = len(values) - len({value.casefold().strip() for value in values})
        if again:
            yield Flag(rater, "same text", f"{again} of {len(values)} written replies repeat another one")
        return
    longest = run = 0
    for place, value in enumerate(values):
        run = run + 1 if place and value == values[place - 1] else 1
        longest = max(longest, run)
    if longest >= study.checks.same:
        yield Flag(rater, "straight-lining", f"{longest} equal answers to {question.name} in a row")


def _in_upper_half(question: Question, value: str) -> bool:
    return question.kind == "scale" and float(value) > (question.low + question.high) / 2

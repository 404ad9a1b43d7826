"""Raters that an organiser should check, with figures. The program itself excludes nobody."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from rejoinder.annotation.consensus import agreement_with_others
from rejoinder.annotation.items import Item, other_way_round, swapped
from rejoinder.annotation.store import MISUNDERSTOOD, PASTED, Answer, Observation
from rejoinder.annotation.study import Question, Study

_SHARE_TOO_FAST = 0.25
_FEWEST = 4
"""Minimum number of answers for a rater to be checked for patterns."""
_RARE = 0.01
"""A run of equal answers that so few raters would have by chance, if they answered like the others, is no chance."""
_FEWEST_RATERS = 5
"""Minimum number of raters for one to be compared with the rest."""
_FASTEST_TYPING = 15
"""Characters per second; fast typists have about ten."""


@dataclass(frozen=True)
class Flag:
    """Something that a person should look at."""

    rater: str
    kind: str
    evidence: str


def flags_of(
    study: Study, answers: Sequence[Answer], items: Mapping[str, Item], observations: Sequence[Observation] = ()
) -> list[Flag]:
    """Every rater whose answers fail a check, with the evidence, by rater."""
    by_rater: dict[str, list[Answer]] = defaultdict(list)
    for answer in sorted(answers, key=lambda answer: answer.given):
        by_rater[answer.rater].append(answer)
    found = [flag for rater, own in by_rater.items() for flag in _own_flags(study, rater, own, items)]
    found += _observed(observations)
    if study.kind == "write":
        found += _copied(answers, items)
    else:
        found += [flag for question in study.questions for flag in _straight_lining(study, question, by_rater)]
        found += _disagreeing(study, answers, items, {flag.rater for flag in found})
    return sorted(found, key=lambda flag: (flag.rater, flag.kind))


def _own_flags(study: Study, rater: str, own: Sequence[Answer], items: Mapping[str, Item]) -> Iterator[Flag]:
    """What a rater's answers alone show."""
    yield from _garbled(study, rater, own, items)
    yield from _repeated(study, rater, own, items)
    yield from _too_fast(study, rater, own)


def _disagreeing(
    study: Study, answers: Sequence[Answer], items: Mapping[str, Item], suspect: set[str]
) -> Iterator[Flag]:
    """Raters whose answers have less to do with those of others than is usual in this study.

    The upper bound of such a rater's correlation is below the median of all raters. Raters with another flag,
    and in the second round those who disagree, do not count among the others.
    """
    low: set[str] = set()
    for _ in range(2):
        found = agreement_with_others(study, answers, items, suspect | low)
        usual = [one.correlation.estimate for rater, one in found.items() if rater not in suspect | low]
        if len(usual) < _FEWEST_RATERS:
            return
        median = statistics.median(usual)
        low = {rater for rater, one in found.items() if one.correlation.high < median}
    for rater in low:
        r, n = found[rater].correlation, found[rater].items
        yield Flag(
            rater,
            "disagrees with others",
            f"correlation with the other raters {r.estimate:.2f} (99 % interval {r.low:.2f} to {r.high:.2f}) over "
            f"{n} items; the median rater has {median:.2f}",
        )


def _garbled(study: Study, rater: str, own: Sequence[Answer], items: Mapping[str, Item]) -> Iterator[Flag]:
    """High scores for shuffled words, or shuffled words chosen before the same words in order."""
    shown = [answer for answer in own if items[answer.item].role == "garbled"]
    fooled = [one for one in shown if _is_fooled(study.question(one.question), one.value)]
    if len(fooled) * 2 > len(shown) and len({one.item for one in fooled}) > 1:
        how = "were high" if study.kind == "scale" else "preferred them to the same reply in order"
        yield Flag(rater, "garbled replies", f"{len(fooled)} of {len(shown)} answers on shuffled replies {how}")


def _repeated(study: Study, rater: str, own: Sequence[Answer], items: Mapping[str, Item]) -> Iterator[Flag]:
    """Inconsistent answers about the same item."""
    first = {(answer.item, answer.question): answer.value for answer in own}
    far = pairs = 0
    for answer in own:
        item = items[answer.item]
        before = first.get((item.of, answer.question))
        if item.role == "repeated" and before is not None:
            pairs += 1
            far += _is_far(study.question(answer.question), answer.value, before)
    if pairs >= 2 and far * 2 > pairs:
        what = "differ by more than half the scale" if study.kind == "scale" else "are the opposite"
        yield Flag(rater, "repeated items", f"{far} of {pairs} answers {what} the second time")


def _too_fast(study: Study, rater: str, own: Sequence[Answer]) -> Iterator[Flag]:
    fast = [answer for answer in own if answer.seconds < study.checks.fastest]
    if len(own) >= _FEWEST and len(fast) > _SHARE_TOO_FAST * len(own):
        yield Flag(rater, "too fast", f"{len(fast)} of {len(own)} answers came within {study.checks.fastest:g} seconds")


def _straight_lining(study: Study, question: Question, by_rater: Mapping[str, Sequence[Answer]]) -> Iterator[Flag]:
    """The same answer many times in a row, where the other raters give other answers too.

    For pairs it is the same side, as it was shown.
    """
    shown = {
        rater: [_as_shown(study, one) for one in own if one.question == question.name]
        for rater, own in by_rater.items()
    }
    everyone = Counter(value for values in shown.values() for value in values)
    for rater, values in shown.items():
        longest, value = max(((len(list(run)), value) for value, run in groupby(values)), default=(0, ""))
        if longest >= study.checks.same:
            own = Counter(values)
            others = everyone.total() - own.total()
            share = (everyone[value] - own[value] + 1) / (others + len(question.points))
            if len(values) * share**longest < _RARE:
                yield Flag(rater, "straight-lining", f"{longest} equal answers to {question.name} in a row")


def _observed(observations: Sequence[Observation]) -> Iterator[Flag]:
    """Pasted texts, and instructions that were misunderstood more than once."""
    pasted = Counter(one.rater for one in observations if one.kind == PASTED)
    for rater, count in pasted.items():
        yield Flag(rater, "pasted text", f"{count} written replies contain pasted text")
    wrong = Counter(one.rater for one in observations if one.kind == MISUNDERSTOOD)
    for rater, count in wrong.items():
        if count > 1:
            yield Flag(rater, "comprehension", f"{count} wrong answers to the questions about the instructions")


def _copied(answers: Sequence[Answer], items: Mapping[str, Item]) -> Iterator[Flag]:
    """Written replies that occur more than once, repeat the conversation, or came faster than anyone types."""
    by_text: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        by_text[_folded(answer.value)].append(answer)
    again = Counter(one.rater for same in by_text.values() if len(same) > 1 for one in same)
    echoed = Counter(
        one.rater for one in answers if _folded(one.value) in {_folded(turn) for turn in items[one.item].context}
    )
    fast = Counter(one.rater for one in answers if len(one.value) > _FASTEST_TYPING * max(one.seconds, 1.0))
    written = Counter(one.rater for one in answers)
    for counts, kind, what in (
        (again, "same text", "written replies were written for another conversation or by another rater too"),
        (echoed, "copied text", "written replies repeat a turn of the conversation"),
        (fast, "too fast to type", f"written replies came at more than {_FASTEST_TYPING} characters per second"),
    ):
        for rater, count in counts.items():
            yield Flag(rater, kind, f"{count} of {written[rater]} {what}")


def _folded(text: str) -> str:
    """A text without differences in case, spaces and punctuation."""
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split()) or text


def _is_fooled(question: Question, value: str) -> bool:
    if question.kind == "pair":
        return value == "B"  # the shuffled reply is the second of the item
    return float(value) > (question.low + question.high) / 2


def _is_far(question: Question, value: str, before: str) -> bool:
    if question.kind == "pair":
        return {value, before} == {"A", "B"}
    return abs(float(value) - float(before)) > (question.high - question.low) / 2


def _as_shown(study: Study, answer: Answer) -> str:
    turned = study.kind == "pair" and swapped(answer.rater, answer.item)
    return other_way_round(answer.value) if turned else answer.value

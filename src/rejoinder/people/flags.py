"""Raters that an organiser should check, and consensus on what they answered. The program itself excludes nobody."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from rejoinder.people.items import Item, other_way_round, swapped
from rejoinder.people.store import MISUNDERSTOOD, PASTED, Observation, RaterAnswer
from rejoinder.people.study import Question, Study
from rejoinder.stats.intervals import Interval

# Raters that an organiser should check, with figures. The program itself excludes nobody.


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
    study: Study, answers: Sequence[RaterAnswer], items: Mapping[str, Item], observations: Sequence[Observation] = ()
) -> list[Flag]:
    """Every rater whose answers fail a check, with the evidence, by rater."""
    by_rater: dict[str, list[RaterAnswer]] = defaultdict(list)
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


def _own_flags(study: Study, rater: str, own: Sequence[RaterAnswer], items: Mapping[str, Item]) -> Iterator[Flag]:
    """What a rater's answers alone show."""
    yield from _garbled(study, rater, own, items)
    yield from _repeated(study, rater, own, items)
    yield from _too_fast(study, rater, own)


def _disagreeing(
    study: Study, answers: Sequence[RaterAnswer], items: Mapping[str, Item], suspect: set[str]
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


def _garbled(study: Study, rater: str, own: Sequence[RaterAnswer], items: Mapping[str, Item]) -> Iterator[Flag]:
    """High scores for shuffled words, or shuffled words chosen before the same words in order."""
    shown = [answer for answer in own if items[answer.item].role == "garbled"]
    fooled = [one for one in shown if _is_fooled(study.question(one.question), one.value)]
    if len(fooled) * 2 > len(shown) and len({one.item for one in fooled}) > 1:
        how = "were high" if study.kind == "scale" else "preferred them to the same reply in order"
        yield Flag(rater, "garbled replies", f"{len(fooled)} of {len(shown)} answers on shuffled replies {how}")


def _repeated(study: Study, rater: str, own: Sequence[RaterAnswer], items: Mapping[str, Item]) -> Iterator[Flag]:
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


def _too_fast(study: Study, rater: str, own: Sequence[RaterAnswer]) -> Iterator[Flag]:
    fast = [answer for answer in own if answer.seconds < study.checks.fastest]
    if len(own) >= _FEWEST and len(fast) > _SHARE_TOO_FAST * len(own):
        yield Flag(rater, "too fast", f"{len(fast)} of {len(own)} answers came within {study.checks.fastest:g} seconds")


def _straight_lining(study: Study, question: Question, by_rater: Mapping[str, Sequence[RaterAnswer]]) -> Iterator[Flag]:
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


def _copied(answers: Sequence[RaterAnswer], items: Mapping[str, Item]) -> Iterator[Flag]:
    """Written replies that occur more than once, repeat the conversation, or came faster than anyone types."""
    by_text: dict[str, list[RaterAnswer]] = defaultdict(list)
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


def _as_shown(study: Study, answer: RaterAnswer) -> str:
    turned = study.kind == "pair" and swapped(answer.rater, answer.item)
    return other_way_round(answer.value) if turned else answer.value


# How well each rater agrees with the others, as a correlation with its interval.
#
# The correlation is between a rater's answers and what the other raters' answers suggest for the same items. Shuffled
# replies count as well: they suggest what the others gave to shuffled replies. Every rater's mean is subtracted, so
# that strict and lenient raters agree. Those who answer without reading have a correlation near zero, and those who
# turn the scale around a negative one, however slowly they answer.


FEWEST_ITEMS = 12
"""Items that a rater must share with others before anything is said."""
Z = 2.576
"""Bounds of the interval in standard deviations: 99 % of intervals cover."""
PAIR_VALUES = {"A": 1.0, "tie": 0.0, "B": -1.0}
"""Choices between two replies as numbers."""
_Values = dict[str, dict[str, float]]
"""Rater -> item -> answer to one question, as a number."""


@dataclass(frozen=True)
class OneRaterAgreement:
    """The agreement of one rater with the others."""

    correlation: Interval
    items: int


def agreement_with_others(
    study: Study, answers: Sequence[RaterAnswer], items: Mapping[str, Item], without: Collection[str] = ()
) -> dict[str, OneRaterAgreement]:
    """Rater -> agreement with all others but those of `without`; the mean over questions where there are several."""
    found: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for question in study.questions:
        values = _values(answers, items, question.name)
        centred = {rater: _centred(own, items) for rater, own in values.items()}
        trusted = {rater: own for rater, own in centred.items() if rater not in set(without)}
        totals, garbled = _totals(trusted, items)
        for rater, own in centred.items():
            part = trusted.get(rater, {})
            pairs = [
                (value, expected)
                for item, value in own.items()
                if (expected := _expected(items[item], item, part, totals, garbled)) is not None
            ]
            if len(pairs) >= FEWEST_ITEMS:
                found[rater].append((_correlation(pairs), len(pairs)))
    return {
        rater: _with_interval(statistics.fmean(r for r, _ in of), min(n for _, n in of)) for rater, of in found.items()
    }


def _values(answers: Sequence[RaterAnswer], items: Mapping[str, Item], question: str) -> _Values:
    values: _Values = defaultdict(dict)
    for answer in answers:
        if answer.question == question and items[answer.item].role != "repeated":
            number = PAIR_VALUES.get(answer.value)
            values[answer.rater][answer.item] = float(answer.value) if number is None else number
    return values


def _centred(own: Mapping[str, float], items: Mapping[str, Item]) -> dict[str, float]:
    """A rater's answers minus the mean of those on real items."""
    real = [value for item, value in own.items() if items[item].role == "real"]
    mean = statistics.fmean(real) if real else 0.0
    return {item: value - mean for item, value in own.items()}


def _totals(trusted: _Values, items: Mapping[str, Item]) -> tuple[dict[str, tuple[float, int]], tuple[float, int]]:
    """Sum and number of the answers to each real item, and to all shuffled items together."""
    totals: dict[str, tuple[float, int]] = defaultdict(lambda: (0.0, 0))
    garbled = (0.0, 0)
    for own in trusted.values():
        for item, value in own.items():
            if items[item].role == "real":
                totals[item] = (totals[item][0] + value, totals[item][1] + 1)
            else:
                garbled = (garbled[0] + value, garbled[1] + 1)
    return totals, garbled


def _expected(
    item: Item, name: str, own: Mapping[str, float], totals: Mapping[str, tuple[float, int]], garbled: tuple[float, int]
) -> float | None:
    """What the others suggest for an item; None where nobody else has rated it.

    The mean is drawn towards zero as if there were one more answer in the middle: few answers say little.
    """
    if item.role == "real":
        total, count = totals.get(name, (0.0, 0))
        total, count = (total - own[name], count - 1) if name in own else (total, count)
    else:
        mine = [value for other, value in own.items() if other == name]
        total, count = garbled[0] - sum(mine), garbled[1] - len(mine)
    return total / (count + 1) if count else None


def _correlation(pairs: Sequence[tuple[float, float]]) -> float:
    """Pearson's; 0 where one side is constant, and so has nothing to do with the other."""
    x, y = np.array(pairs).T
    x, y = x - x.mean(), y - y.mean()
    scale = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / scale if scale > 1e-12 else 0.0


def _with_interval(correlation: float, n: int) -> OneRaterAgreement:
    """Fisher's interval."""
    middle, margin = math.atanh(max(-0.999, min(0.999, correlation))), Z / math.sqrt(n - 3)
    return OneRaterAgreement(Interval(correlation, math.tanh(middle - margin), math.tanh(middle + margin)), n)

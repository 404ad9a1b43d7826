"""How well each rater agrees with the others, as a correlation with its interval.

The correlation is between a rater's answers and what the other raters' answers suggest for the same items. Shuffled
replies count as well: they suggest what the others gave to shuffled replies. Every rater's mean is subtracted, so that
strict and lenient raters agree. Those who answer without reading have a correlation near zero, and those who turn the
scale around a negative one, however slowly they answer.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.annotation.items import Item
from rejoinder.annotation.store import Answer
from rejoinder.annotation.study import Study
from rejoinder.stats.intervals import Interval

FEWEST_ITEMS = 12
"""Items that a rater must share with others before anything is said."""
Z = 2.576
"""Bounds of the interval in standard deviations: 99 % of intervals cover."""
PAIR_VALUES = {"A": 1.0, "tie": 0.0, "B": -1.0}
"""Choices between two replies as numbers."""
_Values = dict[str, dict[str, float]]
"""Rater -> item -> answer to one question, as a number."""


@dataclass(frozen=True)
class RaterAgreement:
    """The agreement of one rater with the others."""

    correlation: Interval
    items: int


def agreement_with_others(
    study: Study, answers: Sequence[Answer], items: Mapping[str, Item], without: Collection[str] = ()
) -> dict[str, RaterAgreement]:
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


def _values(answers: Sequence[Answer], items: Mapping[str, Item], question: str) -> _Values:
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


def _with_interval(correlation: float, n: int) -> RaterAgreement:
    """Fisher's interval."""
    middle, margin = math.atanh(max(-0.999, min(0.999, correlation))), Z / math.sqrt(n - 3)
    return RaterAgreement(Interval(correlation, math.tanh(middle - margin), math.tanh(middle + margin)), n)

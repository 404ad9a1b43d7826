"""What probes share: the human scale, true replies, and wording."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.show.text import counted, signed
from rejoinder.stats.intervals import Interval
from rejoinder.trusting.probing import ScoredSet
from rejoinder.types import Example, Scores

# The human rating scale, and metric scores mapped to it so that they can be compared with ratings.


FEWEST = 10
"""Fewest replies, scored by people and all metrics, that a probe needs."""
MOST_STEPS = 10
USUAL_STEPS = 4
"""A scale from 1 to 5 has four steps."""


@dataclass(frozen=True, slots=True)
class HumanScale:
    """The lowest and the highest rating in the data, and the distance between neighbouring ratings."""

    low: float
    high: float
    step: float

    @classmethod
    def of(cls, ratings: NDArray[np.float64]) -> HumanScale:
        """The scale of the ratings.

        Ratings that are not whole numbers are means or slider positions. For those, and for scales of more than ten
        steps, a step is a quarter of the range, as on a five-point scale.
        """
        values = np.unique(ratings[~np.isnan(ratings)])
        low, high = float(values[0]), float(values[-1])
        step = float(np.diff(values).min()) if len(values) > 1 else 1.0
        whole = bool(np.array_equal(values, np.round(values)))
        if high > low and (not whole or (high - low) / step > MOST_STEPS):
            step = (high - low) / USUAL_STEPS
        return cls(low, high, step)

    @property
    def good(self) -> float:
        """Where the upper quarter of the scale begins: 4 on 1..5, as in Table 6 of Lowe et al. 2017."""
        return self.low + 0.75 * (self.high - self.low)

    @property
    def bad(self) -> float:
        """Where the lower quarter ends: 2 on 1..5."""
        return self.low + 0.25 * (self.high - self.low)

    def rounded(self, values: Scores) -> Scores:
        """The values moved to the nearest step."""
        moved: Scores = self.low + np.round((values - self.low) / self.step) * self.step
        return moved

    def __str__(self) -> str:
        return f"{self.low:g}..{self.high:g}"


def scale_of(scored: ScoredSet) -> HumanScale:
    """The scale of the set's dimension."""
    return HumanScale.of(scored.judged.ratings[scored.dimension])


def comparable(scored: ScoredSet, also: NDArray[Any] | None = None) -> ScoredSet | None:
    """The examples that people and all metrics scored and that `also` selects; None where there are too few."""
    rows = np.flatnonzero(scored.complete if also is None else scored.complete & also)
    if len(rows) < FEWEST or not scored.scores:
        return None
    part = scored.take(rows)
    return part if np.ptp(part.human) > 0 else None


def normalised(scored: ScoredSet, label: str) -> Scores:
    """The metric's scores, moved to the mean and variance of the ratings (Lowe et al. 2017, section 5.2).

    A constant metric gets the human mean. The set must be complete: see `comparable`.
    """
    scores, human = scored.oriented(label), scored.human
    spread = float(scores.std())
    factor = float(human.std()) / spread if spread > 0 else 0.0
    moved: Scores = human.mean() + (scores - scores.mean()) * factor
    return moved


def clipped(scored: ScoredSet, label: str, scale: HumanScale) -> Scores:
    """The normalised scores, clipped to the human scale."""
    return np.clip(normalised(scored, label), scale.low, scale.high)


# Which replies are the true ones: what a person really answered, rather than what a system generated.
#
# A reply is true where it equals one of its references, up to case and spaces, or where its system has a name such as
# "ground truth". A metric that compares with references gives replies of the first kind its maximum, however good or
# bad the metric is, so probes of metrics leave them out, as the papers' data do.


TRUE_SYSTEMS = frozenset({"ground truth", "original ground truth", "human", "true", "true reply", "true response"})
"""Names of systems whose replies are true ones, in lower case with spaces between words."""


def own_references(examples: Sequence[Example]) -> NDArray[np.bool_]:
    """Which replies equal one of their references."""
    return np.array([_equals_a_reference(example) for example in examples], np.bool_)


def of_true_systems(examples: Sequence[Example]) -> NDArray[np.bool_]:
    """Which replies come from a system with a name such as "ground truth"."""
    return np.array([_is_true(example.system) for example in examples], np.bool_)


def left_out(own: NDArray[np.bool_]) -> str:
    """The sentence that says how many replies a probe leaves out; empty where there are none."""
    count = int(own.sum())
    verbs = ("equals", "is") if count == 1 else ("equal", "are")
    return f" {replies(count)} that {verbs[0]} a reference {verbs[1]} left out." if count else ""


def _equals_a_reference(example: Example) -> bool:
    return _plain(example.response) in {_plain(reference) for reference in example.references}


def _is_true(system: str) -> bool:
    return " ".join(re.findall(r"\w+", system.lower().replace("_", " "))) in TRUE_SYSTEMS


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


# Phrases that the sentences of probes share: lists of names, counts, intervals above or below a value.


RATING_ROUNDING = 1e-9
"""Differences up to this are rounding errors."""


def enumerated(names: Sequence[str]) -> str:
    """The names as "a, b and c"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def listed_with(values: Mapping[str, float]) -> str:
    """The names with their signed numbers, "a (+0.31) and b (-0.02)", the largest first."""
    ordered = sorted(values.items(), key=lambda item: -abs(item[1]))
    return enumerated([f"{name} ({signed(value)})" for name, value in ordered])


def above(interval: Interval, value: float = 0.0) -> bool:
    """Whether the whole interval is above the value, by more than rounding."""
    return interval.low > value + RATING_ROUNDING


def below(interval: Interval, value: float = 0.0) -> bool:
    """Whether the whole interval is below the value, by more than rounding."""
    return interval.high < value - RATING_ROUNDING


def replies(count: int) -> str:
    """The count with its noun: "1 reply", "1,200 replies"."""
    return counted(count, "reply", "replies")

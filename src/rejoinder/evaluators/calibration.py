"""From scores to ratings, with prediction intervals, and to a scale from 1 to 5: docs/guide/calibration.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Bools, Floats, Ints
from rejoinder.errors import CallError, DataError
from rejoinder.folders.schema import checked_object, record
from rejoinder.learning.data import fold_of_groups, labels
from rejoinder.options import LEVEL
from rejoinder.stats.correlation import midranks
from rejoinder.stats.intervals import Interval, check_confidence
from rejoinder.stats.resampling import Groups, group_codes, mean_interval
from rejoinder.types import JudgedExample, Scores

# Calibration: from an evaluator's scores to ratings, with prediction intervals: docs/guide/calibration.md.
#
# A *raw* score is an evaluator's own; a *human* score is a mean rating on 1..5. A *group* is a context: replies to one
# context are not independent, so that folds consist of whole contexts, and the coverage guarantee is over contexts.


# The scale of scores that resemble human ratings, 1 to 5, and the mapping of ratings to it.


LOWEST, HIGHEST = 1.0, 5.0
OVERFLOW = "numbers that overflow in the model"
"""Why a trained network may give no score (NaN) although the reply has all that it needs. Its weights are finite, which
is checked when it is loaded, but may be so large that its output is not."""
ROUNDING = 1e-9
"""Ratings may lie outside their scale by this much."""


def observed_scale(judged: Sequence[JudgedExample], dimension: str | None) -> tuple[float, float]:
    """The lowest and the highest rating of any rater on a dimension."""
    single = [
        JudgedExample(item.example, {name: (rating,)})
        for item in judged
        for name, ratings in item.scores.items()
        for rating in ratings
    ]
    _, human = labels(single, dimension)
    lowest, highest = float(human.min()), float(human.max())
    if lowest == highest:
        raise CallError(f"every judged example has the score {lowest:g}: expected scores that differ, or a scale")
    return lowest, highest


def on_our_scale(ratings: ArrayLike, scale: tuple[float, float]) -> Scores:
    """Ratings mapped linearly from `scale` to 1..5; CallError if one lies outside. NaN stays NaN."""
    lowest, highest = scale
    if not (math.isfinite(lowest) and math.isfinite(highest) and lowest < highest):
        raise CallError(f"the scale must be the lowest rating and a higher one, not {lowest:g} and {highest:g}")
    values = np.asarray(ratings, np.float64)
    outside = values[(values < lowest - ROUNDING) | (values > highest + ROUNDING)]
    if len(outside):
        raise CallError(f"a judged reply has the score {outside[0]:g}: expected {lowest:g} to {highest:g}, the scale")
    moved: Scores = LOWEST + (values - lowest) / (highest - lowest) * (HIGHEST - LOWEST)
    return np.clip(moved, LOWEST, HIGHEST)


FOLDS = 5
FEWEST_CONTEXTS = 20
"""The smallest number of contexts for a calibration."""

_MOST_KNOTS = 10
_REPLIES_PER_KNOT = 25
_TILT = 0.01  # the share of a straight line in the curve, which is then never flat and keeps the order of raw scores
_PRIOR = 20.0  # weight of the overall spread in that of a knot, in replies
_LEAST_SPREAD = 0.01  # on 1..5; a smaller spread makes no difference


@dataclass(frozen=True, slots=True)
class CalibrationCurve:
    """The mean rating of replies as a function of their raw score, and how far ratings are from it."""

    raw: tuple[float, ...]
    """The knots, increasing."""
    human: tuple[float, ...]
    """The mean rating at each knot: increasing, above 1 and below 5."""
    spread: tuple[float, ...]
    """The mean distance of a rating from the curve at each knot."""

    @classmethod
    def fit(cls, raw: Floats, human: Floats) -> Self:
        """The increasing curve through the means of replies with similar raw scores (isotonic regression over bins)."""
        from scipy.optimize import isotonic_regression

        bins = max(2, min(_MOST_KNOTS, len(raw) // _REPLIES_PER_KNOT))
        # Equal raw scores have the same rank, so that they are in the same bin.
        _, bin_of = np.unique(((midranks(raw) - 0.5) / len(raw) * bins).astype(np.int64), return_inverse=True)
        count = np.bincount(bin_of).astype(np.float64)
        knots, means = (np.bincount(bin_of, weights=values) / count for values in (raw, human))
        if len(knots) < 2 or not (np.diff(knots) > 0).all():
            raise CallError("cannot be calibrated: the evaluator gives all judged replies the same score")
        rising = isotonic_regression(means, weights=count).x
        line = LOWEST + (HIGHEST - LOWEST) * np.arange(1, len(knots) + 1) / (len(knots) + 1)
        curve = (1 - _TILT) * rising + _TILT * line
        apart = np.abs(human - cls(tuple(knots), tuple(curve), ()).at(raw))
        spread = (np.bincount(bin_of, weights=apart) + _PRIOR * apart.mean()) / (count + _PRIOR)
        return cls(*(tuple(values.tolist()) for values in (knots, curve, np.maximum(spread, _LEAST_SPREAD))))

    def at(self, raw: Scores) -> Scores:
        """The rating on the curve: linear between knots, and approaching 1 and 5 beyond them."""
        knots, human = np.array(self.raw), np.array(self.human)
        rise = np.diff(human) / np.diff(knots)
        below, above = np.maximum(knots[0] - raw, 0.0), np.maximum(raw - knots[-1], 0.0)
        met: Scores = np.interp(raw, knots, human)
        met -= _towards(human[0] - LOWEST, below * rise[0])
        met += _towards(HIGHEST - human[-1], above * rise[-1])
        return met

    def spread_at(self, raw: Scores) -> Scores:
        """The mean distance of a rating from the curve."""
        spread: Scores = np.interp(raw, self.raw, self.spread)
        return spread


def _towards(room: float, way: Scores) -> Scores:
    """A distance with the slope of `way` at first, which approaches `room` and never exceeds it."""
    gone: Scores = room * (1 - 1 / (1 + way / room))
    return gone


@dataclass(frozen=True, slots=True)
class Calibration:
    """An increasing map from raw scores to 1..5, and intervals that contain ratings with probability `level`."""

    curve: CalibrationCurve
    reach: float
    """Half the width of an interval, in spreads."""
    level: float
    replies: int
    contexts: int
    scale: tuple[float, float]
    """The lowest and highest rating of the scale that people used."""

    @classmethod
    def fit(
        cls,
        raw: ArrayLike,
        human: ArrayLike,
        groups: Groups = None,
        *,
        scale: tuple[float, float] = (LOWEST, HIGHEST),
        level: float = LEVEL,
        folds: int = FOLDS,
        seed: int = 0,
    ) -> Self:
        """From raw scores of an evaluator that was not trained on these labels, or from out-of-fold scores.

        With several folds each reply is compared with a curve that was fitted without its context. With `folds=1` the
        curve is fitted on half of the contexts and the intervals on the other half: split-conformal inference, whose
        coverage is guaranteed, but whose curve is fitted on half of the data.
        """
        known = _Known.of(raw, human, groups, scale, level)
        if folds > 1:
            curve = CalibrationCurve.fit(known.raw, known.human)
            apart = np.empty(len(known.raw))
            for rows in known.parts(folds, seed):
                apart[rows] = _apart(CalibrationCurve.fit(known.raw[~rows], known.human[~rows]), known, rows)
            reach = _reach(apart, known.codes, level)
        else:
            rows = known.parts(2, seed)[0]
            curve = CalibrationCurve.fit(known.raw[~rows], known.human[~rows])
            reach = _reach(_apart(curve, known, rows), known.codes[rows], level)
        return cls(curve, reach, level, len(known.raw), known.n_groups, scale)

    def human(self, raw: Scores) -> Scores:
        """The expected rating, from 1 to 5, in the order of the raw scores."""
        return self.curve.at(raw)

    def intervals(self, raw: Scores) -> tuple[Scores, Scores]:
        """The lower and upper bounds of the intervals expected to contain the ratings."""
        middle, way = self.curve.at(raw), self.reach * self.curve.spread_at(raw)
        return np.clip(middle - way, LOWEST, HIGHEST), np.clip(middle + way, LOWEST, HIGHEST)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: object, file: str = "") -> Self:
        """From plain values; DataError if they are not those of a calibration. `file` is where they were read."""
        where = "calibration"
        given = checked_object(plain, file, where)
        curve = record(CalibrationCurve, given.get("curve"), file, f"{where}.curve")
        made = record(cls, {**given, "curve": curve}, file, where)
        if not made._is_sound():
            raise DataError("must be a curve that increases from above 1 to below 5", file=file, field=where)
        return made

    def _is_sound(self) -> bool:
        raw, human, spread = map(np.array, (self.curve.raw, self.curve.human, self.curve.spread))
        return bool(
            1 < len(raw) == len(human) == len(spread)
            and np.isfinite([*raw, *human, *spread, self.reach]).all()
            and (np.diff(raw) > 0).all()
            and (np.diff(human) > 0).all()
            and human[0] > LOWEST
            and human[-1] < HIGHEST
            and (spread > 0).all()
            and self.reach >= 0
            and 0 < self.level < 1
            and self.scale[0] < self.scale[1]
        )


@dataclass(frozen=True, slots=True)
class CalibrationAssessment:
    """The quality of a calibration on contexts that it was fitted without. NaN for replies without score or rating."""

    human: Scores
    """The ratings, on 1..5."""
    scores: Scores
    """The calibrated scores."""
    low: Scores
    high: Scores
    coverage: Interval
    """The share of replies whose rating lies in the interval, with a 95 % confidence interval over contexts."""

    @property
    def error(self) -> float:
        """The mean absolute difference of calibrated scores and ratings."""
        return float(np.nanmean(np.abs(self.scores - self.human)))

    @property
    def width(self) -> float:
        """The mean width of the intervals."""
        return float(np.nanmean(self.high - self.low))


def assess(
    raw: ArrayLike,
    human: ArrayLike,
    groups: Groups = None,
    *,
    scale: tuple[float, float] = (LOWEST, HIGHEST),
    level: float = LEVEL,
    folds: int = FOLDS,
    seed: int = 0,
) -> CalibrationAssessment:
    """Cross-validation of `Calibration.fit`: each fold is assessed with a calibration fitted on the others."""
    known = _Known.of(raw, human, groups, scale, level)
    scores, low, high = (np.empty(len(known.raw)) for _ in range(3))
    for rows in known.parts(FOLDS, seed):
        made = Calibration.fit(
            known.raw[~rows], known.human[~rows], known.codes[~rows], level=level, folds=folds, seed=seed + 1
        )
        scores[rows] = made.human(known.raw[rows])
        low[rows], high[rows] = made.intervals(known.raw[rows])
    covered = (low - ROUNDING <= known.human) & (known.human <= high + ROUNDING)
    coverage = mean_interval(covered.astype(np.float64), known.codes, seed=seed, limits=(0.0, 1.0))
    spread_out = known.spread_out
    return CalibrationAssessment(
        spread_out(known.human), spread_out(scores), spread_out(low), spread_out(high), coverage
    )


@dataclass(frozen=True, slots=True)
class _Known:
    """The replies that have a raw score and a rating."""

    raw: Floats
    human: Floats
    codes: Ints
    n_groups: int
    place: Ints
    """The row of each among all replies."""
    count: int

    @classmethod
    def of(cls, raw: ArrayLike, human: ArrayLike, groups: Groups, scale: tuple[float, float], level: float) -> _Known:
        check_confidence(level)
        scores, people = np.asarray(raw, np.float64), on_our_scale(human, scale)
        if scores.ndim != 1 or scores.shape != people.shape:
            raise ValueError(
                f"raw scores and ratings must be two vectors of one length, not {scores.shape}, {people.shape}"
            )
        place = np.flatnonzero(np.isfinite(scores) & np.isfinite(people))
        codes, n_groups = group_codes(np.asarray(group_codes(groups, len(scores))[0])[place], len(place))
        # Half of them, which `folds=1` uses, must be enough for intervals of finite width.
        fewest = max(FEWEST_CONTEXTS, 2 * math.ceil(level / (1 - level)))
        if n_groups < fewest:
            raise CallError(
                f"{n_groups} contexts with scored and judged replies are too few for {level:.0%} intervals: "
                f"expected at least {fewest}"
            )
        return cls(scores[place], people[place], codes, n_groups, place, len(scores))

    def parts(self, folds: int, seed: int) -> list[Bools]:
        """The rows of each fold, as a mask; no context is in two."""
        fold_of = fold_of_groups(self.codes, folds, seed, by_size=False)
        return [fold_of == fold for fold in range(folds)]

    def spread_out(self, values: Floats) -> Scores:
        """The values in the rows of all replies, with NaN for the others."""
        everywhere = np.full(self.count, np.nan)
        everywhere[self.place] = values
        return everywhere


def _apart(curve: CalibrationCurve, known: _Known, rows: Bools) -> Floats:
    """The distance of each rating from the curve, in spreads."""
    distance: Floats = np.abs(known.human[rows] - curve.at(known.raw[rows])) / curve.spread_at(known.raw[rows])
    return distance


def _reach(apart: Floats, codes: Ints, level: float) -> float:
    """The distance that a reply to a new context does not exceed with probability `level`.

    All contexts have equal weight, including the new one, whose distance is unknown: Lee, Barber and Willett 2023,
    "Distribution-free inference with hierarchical data". With one reply per context it is split-conformal inference.
    """
    _, group, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    weight = 1 / ((len(sizes) + 1) * sizes[group])
    order = np.argsort(apart)
    place = int(np.searchsorted(np.cumsum(weight[order]), level - ROUNDING))
    return float(apart[order[min(place, len(order) - 1)]])

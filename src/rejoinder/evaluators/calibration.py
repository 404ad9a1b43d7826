"""From what an evaluator says of a reply to what people would say, with an interval: docs/guide/calibration.md.

A *raw* score is an evaluator's own; a *human* score is a mean rating on 1..5. A *group* is a context: replies to one
context are not independent, so that contexts are what folds are made of and what the guarantee counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Floats, Ints
from rejoinder.errors import CallError
from rejoinder.evaluators.scale import HIGHEST, LOWEST
from rejoinder.stats.correlation import midranks
from rejoinder.stats.intervals import Interval, check_confidence
from rejoinder.stats.resampling import Groups, group_codes, mean_interval
from rejoinder.types import Scores

LEVEL = 0.9
FOLDS = 5
FEWEST_CONTEXTS = 20
"""Contexts below which neither the curve nor the length of an interval can be told."""

_MOST_KNOTS = 10
_REPLIES_A_KNOT = 25
_TILT = 0.01  # the share of a straight line in the curve: it never lies flat, so that ranks are kept
_PRIOR = 20.0  # replies that a knot's spread is drawn towards the overall one by
_LEAST_SPREAD = 0.01  # on 1..5; below, people and evaluator are as good as equal
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Curve:
    """What people say on average of replies with some raw score, and how far they stray from that."""

    raw: tuple[float, ...]
    """The knots, rising."""
    human: tuple[float, ...]
    """Their mean human score: rising, above 1 and below 5."""
    spread: tuple[float, ...]
    """How far a human score is from the curve there, on average."""

    @classmethod
    def fit(cls, raw: Floats, human: Floats) -> Self:
        """The rising curve through the means of replies with like raw scores (isotonic regression over bins)."""
        from scipy.optimize import isotonic_regression

        bins = max(2, min(_MOST_KNOTS, len(raw) // _REPLIES_A_KNOT))
        # Equal raw scores have one rank, so that they are never in two bins.
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
        """The human score on the curve: straight between knots, and ever flatter towards 1 and 5 beyond the last."""
        knots, human = np.array(self.raw), np.array(self.human)
        rise = np.diff(human) / np.diff(knots)
        below, above = np.maximum(knots[0] - raw, 0.0), np.maximum(raw - knots[-1], 0.0)
        met: Scores = np.interp(raw, knots, human)
        met -= _towards(human[0] - LOWEST, below * rise[0])
        met += _towards(HIGHEST - human[-1], above * rise[-1])
        return met

    def spread_at(self, raw: Scores) -> Scores:
        """How far from the curve a human score is on average."""
        spread: Scores = np.interp(raw, self.raw, self.spread)
        return spread


def _towards(room: float, way: Scores) -> Scores:
    """A way that begins as the given one and never gets past the room."""
    gone: Scores = room * (1 - 1 / (1 + way / room))
    return gone


@dataclass(frozen=True, slots=True)
class Calibration:
    """A rising map from raw scores to 1..5, and intervals that hold the human score as often as `level` says."""

    curve: Curve
    reach: float
    """How many spreads an interval goes from the curve to either side."""
    level: float
    replies: int
    contexts: int
    scale: tuple[float, float]
    """The ends of the scale that people used."""

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
        """From raw scores that do not come of these labels: of an evaluator that saw none of them, or out of fold.

        With several folds each reply is held against a curve that was made without its context. With `folds=1` half of
        the contexts make the curve and the other half the intervals: split-conformal, whose coverage is guaranteed,
        but whose curve knows half as much.
        """
        known = _Known.of(raw, human, groups, scale, level)
        if folds > 1:
            curve = Curve.fit(known.raw, known.human)
            apart = np.empty(len(known.raw))
            for rows in known.parts(folds, seed):
                apart[rows] = _apart(Curve.fit(known.raw[~rows], known.human[~rows]), known, rows)
            reach = _reach(apart, known.codes, level)
        else:
            rows = known.parts(2, seed)[0]
            curve = Curve.fit(known.raw[~rows], known.human[~rows])
            reach = _reach(_apart(curve, known, rows), known.codes[rows], level)
        return cls(curve, reach, level, len(known.raw), known.n_groups, scale)

    def human(self, raw: Scores) -> Scores:
        """What people would say on average, from 1 to 5, in the order of the raw scores."""
        return self.curve.at(raw)

    def intervals(self, raw: Scores) -> tuple[Scores, Scores]:
        """Between what people would say of each reply."""
        middle, way = self.curve.at(raw), self.reach * self.curve.spread_at(raw)
        return np.clip(middle - way, LOWEST, HIGHEST), np.clip(middle + way, LOWEST, HIGHEST)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """From plain values; ValueError where they are not those of a calibration."""
        try:
            curve = Curve(**{field.name: tuple(map(float, plain["curve"][field.name])) for field in fields(Curve)})
            counts = {name: int(plain[name]) for name in ("replies", "contexts")}
            lowest, highest = map(float, plain["scale"])
            made = cls(curve, float(plain["reach"]), float(plain["level"]), **counts, scale=(lowest, highest))
        except (LookupError, TypeError) as error:
            raise ValueError(f"lacks a value: {error}") from error
        if not made._is_sound():
            raise ValueError("expected a curve that rises from above 1 to below 5")
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
        )


@dataclass(frozen=True, slots=True)
class Assessment:
    """How a calibration fares on contexts that it was made without. NaN where a reply was not scored or judged."""

    human: Scores
    """What people said, on 1..5."""
    scores: Scores
    """What the calibration said."""
    low: Scores
    high: Scores
    coverage: Interval
    """The share of replies whose human score lies within its interval, with a 95 % interval over contexts."""

    @property
    def error(self) -> float:
        """The mean distance of score and human score."""
        return float(np.nanmean(np.abs(self.scores - self.human)))

    @property
    def width(self) -> float:
        """The mean length of the intervals."""
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
) -> Assessment:
    """Cross-validation of `Calibration.fit`: each fold's contexts are met by a calibration made on the others."""
    known = _Known.of(raw, human, groups, scale, level)
    scores, low, high = (np.empty(len(known.raw)) for _ in range(3))
    for rows in known.parts(FOLDS, seed):
        made = Calibration.fit(
            known.raw[~rows], known.human[~rows], known.codes[~rows], level=level, folds=folds, seed=seed + 1
        )
        scores[rows] = made.human(known.raw[rows])
        low[rows], high[rows] = made.intervals(known.raw[rows])
    covered = (low - _ROUNDING <= known.human) & (known.human <= high + _ROUNDING)
    coverage = mean_interval(covered.astype(np.float64), known.codes, seed=seed, limits=(0.0, 1.0))
    spread_out = known.spread_out
    return Assessment(spread_out(known.human), spread_out(scores), spread_out(low), spread_out(high), coverage)


def on_human_scale(ratings: ArrayLike, scale: tuple[float, float]) -> Scores:
    """Ratings from the scale that people used to 1..5; CallError where one lies outside."""
    lowest, highest = scale
    if not (math.isfinite(lowest) and math.isfinite(highest) and lowest < highest):
        raise CallError(f"the scale must be the lowest rating and a higher one, not {lowest:g} and {highest:g}")
    values = np.asarray(ratings, np.float64)
    outside = values[(values < lowest - _ROUNDING) | (values > highest + _ROUNDING)]
    if len(outside):
        raise CallError(f"a judged reply has the score {outside[0]:g}: expected {lowest:g} to {highest:g}, the scale")
    moved: Scores = LOWEST + (HIGHEST - LOWEST) * (values - lowest) / (highest - lowest)
    return np.clip(moved, LOWEST, HIGHEST)


@dataclass(frozen=True, slots=True)
class _Known:
    """The replies with a raw and a human score."""

    raw: Floats
    human: Floats
    codes: Ints
    n_groups: int
    place: Ints
    """Where each stands among all."""
    count: int

    @classmethod
    def of(cls, raw: ArrayLike, human: ArrayLike, groups: Groups, scale: tuple[float, float], level: float) -> _Known:
        check_confidence(level)
        scores, people = np.asarray(raw, np.float64), on_human_scale(human, scale)
        if scores.ndim != 1 or scores.shape != people.shape:
            raise ValueError(
                f"raw and human scores must be two vectors of one length, not {scores.shape}, {people.shape}"
            )
        place = np.flatnonzero(np.isfinite(scores) & np.isfinite(people))
        codes, n_groups = group_codes(np.asarray(group_codes(groups, len(scores))[0])[place], len(place))
        # Half of them, which `folds=1` counts, must be enough for an interval that ends.
        fewest = max(FEWEST_CONTEXTS, 2 * math.ceil(level / (1 - level)))
        if n_groups < fewest:
            raise CallError(
                f"{n_groups} contexts with scored and judged replies are too few for {level:.0%} intervals: "
                f"expected at least {fewest}"
            )
        return cls(scores[place], people[place], codes, n_groups, place, len(scores))

    def parts(self, folds: int, seed: int) -> list[Any]:
        """The rows of each fold, as a mask; no context is in two."""
        fold_of = np.random.default_rng(seed).permutation(self.n_groups)[self.codes] % folds
        return [fold_of == fold for fold in range(folds)]

    def spread_out(self, values: Floats) -> Scores:
        """The values in their places among all replies, with NaN between."""
        everywhere = np.full(self.count, np.nan)
        everywhere[self.place] = values
        return everywhere


def _apart(curve: Curve, known: _Known, rows: Any) -> Floats:
    """How many spreads each human score is from the curve."""
    distance: Floats = np.abs(known.human[rows] - curve.at(known.raw[rows])) / curve.spread_at(known.raw[rows])
    return distance


def _reach(apart: Floats, codes: Ints, level: float) -> float:
    """The distance that a reply to a new context keeps within with the given probability.

    Each context weighs the same, and so does the new one, whose distance may be any: Lee, Barber and Willett 2023,
    "Distribution-free inference with hierarchical data". One reply a context makes it plain split-conformal inference.
    """
    _, group, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    weight = 1 / ((len(sizes) + 1) * sizes[group])
    order = np.argsort(apart)
    place = int(np.searchsorted(np.cumsum(weight[order]), level - _ROUNDING))
    return float(apart[order[min(place, len(order) - 1)]])

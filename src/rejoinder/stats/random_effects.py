"""Estimates of several data sets pooled into one, by a random-effects model.

The true effect of data set i is normal around a common mean, with the variance tau^2 between sets; its estimate y_i has
the known variance v_i. tau^2 is estimated by restricted maximum likelihood (REML; Viechtbauer 2005) or by DerSimonian
and Laird 1986. The mean has the interval of Hartung and Knapp 2001, with Student's t and a variance that is never
smaller than the usual one (Knapp and Hartung 2003). The prediction interval is where the true effect of a
new data set is expected (Higgins, Thompson and Spiegelhalter 2009). I^2 is the share of the variance of the estimates
that is not sampling error (Higgins and Thompson 2002).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Floats
from rejoinder.stats.intervals import Interval, t_quantile

METHODS = ("reml", "dersimonian-laird")
_STEPS = 1000
_SMALL = 1e-12


@dataclass(frozen=True, slots=True)
class PooledEffect:
    """The mean effect over data sets."""

    mean: Interval
    prediction: Interval
    """Where the true effect of a new data set is expected; NaN bounds with fewer than three sets."""
    tau: float
    """The standard deviation of the true effects between data sets."""
    i_squared: float
    q: float
    """Cochran's Q."""
    q_p_value: float
    """The p-value of the hypothesis that the true effects are equal."""
    n_sets: int


def pool_effects(
    effects: ArrayLike, variances: ArrayLike, *, method: str = "reml", confidence: float = 0.95
) -> PooledEffect:
    """The mean of effects with known sampling variances; NaN bounds with a single effect."""
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    y, v = np.asarray(effects, np.float64), np.asarray(variances, np.float64)
    if y.shape != v.shape or y.ndim != 1 or not y.size:
        raise ValueError("effects and variances must be vectors of equal length, and not empty")
    if not (v > 0).all() or not np.isfinite(y).all():
        raise ValueError("variances must be above 0, and effects finite")
    if y.size == 1:
        unknown = Interval(float(y[0]), math.nan, math.nan)
        return PooledEffect(unknown, unknown, math.nan, math.nan, 0.0, math.nan, 1)
    q = _q(y, 1 / v)
    between = _dersimonian_laird(y, v, q)
    if method == "reml":
        between = _reml(y, v, between)
    w, degrees = 1 / (v + between), y.size - 1
    mean = float(w @ y / w.sum())
    scale = max(1.0, _q(y, w) / degrees)
    error = math.sqrt(scale / float(w.sum()))
    reach = t_quantile(confidence, degrees)
    # With k - 2 degrees of freedom, as Higgins et al. have it: with k - 1, few sets give intervals that are too short.
    ahead = t_quantile(confidence, degrees - 1) * math.sqrt(between + error**2) if y.size > 2 else math.nan
    fixed = 1 / v
    typical = degrees * float(fixed.sum()) / float(fixed.sum() ** 2 - fixed @ fixed)
    from scipy.special import chdtrc

    return PooledEffect(
        Interval(mean, mean - reach * error, mean + reach * error),
        Interval(mean, mean - ahead, mean + ahead),
        math.sqrt(between),
        between / (between + typical),
        q,
        float(chdtrc(degrees, q)),
        y.size,
    )


def pool_correlations(
    correlations: ArrayLike, errors: ArrayLike, *, method: str = "reml", confidence: float = 0.95
) -> PooledEffect:
    """The mean correlation, pooled on Fisher's z scale; `errors` are the standard errors of the z values.

    `tau`, Q and I^2 are those of the z values.
    """
    z = np.arctanh(np.asarray(correlations, np.float64))
    pooled = pool_effects(z, np.asarray(errors, np.float64) ** 2, method=method, confidence=confidence)
    return PooledEffect(
        _back(pooled.mean),
        _back(pooled.prediction),
        pooled.tau,
        pooled.i_squared,
        pooled.q,
        pooled.q_p_value,
        pooled.n_sets,
    )


def _q(y: Floats, w: Floats) -> float:
    """The weighted sum of squared deviations from the weighted mean."""
    return float(w @ (y - w @ y / w.sum()) ** 2)


def _dersimonian_laird(y: Floats, v: Floats, q: float) -> float:
    w = 1 / v
    return max(0.0, (q - (y.size - 1)) / float(w.sum() - w @ w / w.sum()))


def _reml(y: Floats, v: Floats, between: float) -> float:
    """The fixed point of the REML equation (Veroniki et al. 2016)."""
    for _ in range(_STEPS):
        w = 1 / (v + between)
        squares = (y - w @ y / w.sum()) ** 2
        new = max(0.0, float((w**2) @ (squares - v) / (w @ w) + 1 / w.sum()))
        if abs(new - between) < _SMALL:
            return new
        between = new
    return between


def _back(interval: Interval) -> Interval:
    return Interval(*(math.tanh(bound) for bound in (interval.estimate, interval.low, interval.high)))

"""System means of ratings with items and raters drawn at random: a mixed model, its likelihood and its intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rejoinder.arrays import Floats, Ints
from rejoinder.stats.intervals import Interval, check_confidence, rating_limits, t_quantile
from rejoinder.stats.resampling import holm

# System means of human ratings, for other items and other raters than those at hand.
#
# Each rating is the mean of its system plus effects of the context, the reply, the rater (lenient or strict) and noise:
#
#     rating = system + context + reply + rater + noise
#
# Systems are fixed; contexts, replies and raters are random samples, so that the intervals say how much the means would
# vary with others (Baayen, Davidson and Bates 2008, "Mixed-effects modeling with crossed random effects for subjects
# and items"). Raters who rated different replies are compared through the replies and systems that they share: a
# strict rater does not pull down the systems that she happened to rate. Raters may differ in severity, but are
# assumed to rank the systems alike up to noise.


FEWEST_RATERS = 3
"""Raters below whom nothing can be said about how raters vary."""


@dataclass(frozen=True, slots=True)
class Severity:
    """How much lower (negative) or higher than others a rater's scores are for the same replies."""

    rater: str
    effect: Interval
    n_ratings: int


@dataclass(frozen=True, slots=True)
class SystemDifference:
    """The mean of system B minus that of system A."""

    a: str
    b: str
    contrast: Contrast
    p_adjusted: float
    """Holm-corrected over all pairs of systems."""


@dataclass(frozen=True, slots=True)
class CrossedMeans:
    """Means of systems, their differences, and the severity of raters."""

    means: dict[str, Contrast]
    differences: tuple[SystemDifference, ...]
    severities: tuple[Severity, ...]
    """In the order of the raters' names; empty where raters are not in the model."""
    variances: dict[str, float]
    """`context`, `reply`, `rater` where they are in the model, and `noise`."""
    n_ratings: int


def crossed_means(
    scores: ArrayLike,
    systems: Sequence[Any] | NDArray[Any],
    contexts: Sequence[Any] | NDArray[Any],
    replies: Sequence[Any] | NDArray[Any],
    raters: Sequence[Any] | NDArray[Any],
    *,
    confidence: float = 0.95,
) -> CrossedMeans | None:
    """The estimates from one score per rating, with its system, context, reply and rater.

    A factor is left out where the data cannot separate it from another or from noise: contexts with one reply each,
    replies with one rating each, fewer than three raters. None where no factor remains, or all scores are equal.
    Means stay within the scale of the ratings, where it is known (`rating_limits`).
    """
    check_confidence(confidence)
    values = np.asarray(scores, np.float64)
    names, system_of = np.unique(np.asarray(systems), return_inverse=True)
    rater_names, rater_of = np.unique(np.asarray(raters), return_inverse=True)
    factors = _separable(
        {
            "context": np.unique(np.asarray(contexts), return_inverse=True)[1],
            "reply": np.unique(np.asarray(replies), return_inverse=True)[1],
            "rater": rater_of,
        }
    )
    if not factors or np.ptp(values) == 0 or len(values) <= len(names) + len(factors):
        return None
    fit = fit_reml(values, np.eye(len(names))[system_of], list(factors.values()))
    units, labels = np.eye(len(names)), [str(name) for name in names]
    pairs = list(combinations(range(len(names)), 2))
    contrasts = [fit.contrast(units[b] - units[a], confidence) for a, b in pairs]
    limits, means = rating_limits(values), [fit.contrast(unit, confidence) for unit in units]
    adjusted = holm([contrast.p_value for contrast in contrasts]).tolist()
    return CrossedMeans(
        means={
            label: replace(mean, interval=mean.interval.within(limits))
            for label, mean in zip(labels, means, strict=True)
        },
        differences=tuple(
            SystemDifference(labels[a], labels[b], contrast, p)
            for (a, b), contrast, p in zip(pairs, contrasts, adjusted, strict=True)
        ),
        severities=_severities(fit, list(factors), rater_names, rater_of, confidence),
        variances={**dict(zip(factors, fit.variances.tolist(), strict=True)), "noise": fit.residual_variance},
        n_ratings=len(values),
    )


def _separable(factors: dict[str, Ints]) -> dict[str, Ints]:
    """The factors whose effects can be separated from each other and from noise."""
    kept: dict[str, Ints] = {}
    for name, codes in factors.items():
        levels, n = int(codes.max(initial=0)) + 1, len(codes)
        fewest = FEWEST_RATERS if name == "rater" else 2
        # Two partitions are the same where they have as many levels as their crossing.
        same = any(
            len(np.unique(codes * (other.max() + 1) + other)) == levels
            for other in kept.values()
            if int(other.max()) + 1 == levels
        )
        if fewest <= levels < n and not same:
            kept[name] = codes
    return kept


def _severities(
    fit: MixedFit, factors: list[str], names: NDArray[Any], rater_of: Ints, confidence: float
) -> tuple[Severity, ...]:
    """Each rater's effect; quantiles of t, because the variance between few raters is uncertain."""
    if "rater" not in factors:
        return ()
    effects, errors = fit.effects(factors.index("rater"))
    margins = t_quantile(confidence, len(names) - 1) * errors
    counts = np.bincount(rater_of, minlength=len(names)).tolist()
    return tuple(
        Severity(str(name), Interval(e, e - m, e + m) if m > 0 else Interval(e, math.nan, math.nan), count)
        for name, e, m, count in zip(names, effects.tolist(), margins.tolist(), counts, strict=True)
    )


# The equations of a linear mixed model, for given standard deviations of its random effects.
#
# y = X b + Z u + e, where each column of Z marks the rows of one level of one factor (one item, one rater), the
# effects u of a factor have the standard deviation theta sigma, and e has sigma. With D the diagonal matrix of theta,
#
#     A = D Z'Z D + I,   M = X'X - X'Z D A^-1 D Z'X,
#
# the restricted deviance is  log|A| + log|M| + (n - p) log sigma^2 + r^2 / sigma^2, where r^2 is the penalised residual
# sum of squares (Bates et al. 2015, "Fitting linear mixed-effects models using lme4", section 3). A is sparse: its
# factorisation costs little even for thousands of items.


@dataclass(frozen=True, slots=True)
class MixedSolution:
    """Estimates for given theta."""

    theta: Floats
    coefficients: Floats
    """b. (p,)"""
    precision: Floats
    """M, the inverse of the covariance of b times sigma^2. (p, p)"""
    residual: float
    """r^2."""
    log_determinants: float
    """log|A| + log|M|."""
    factorised: Any
    """Solves equations with A."""


class MixedEquations:
    """The products of a model's matrices, computed once."""

    def __init__(self, y: Floats, x: Floats, factors: Sequence[Ints]) -> None:
        from scipy import sparse

        self.n, self.p = x.shape
        self.shift = float(y.mean())  # centred values lose no digits in the differences of squares
        y = y - self.shift
        self.sizes = [int(codes.max()) + 1 for codes in factors]
        z = sparse.hstack([_indicators(codes, size) for codes, size in zip(factors, self.sizes, strict=True)]).tocsc()
        self.zz = (z.T @ z).tocsc()
        self.columns = np.repeat(np.arange(self.zz.shape[1]), np.diff(self.zz.indptr))
        self.diagonal = np.flatnonzero(self.zz.indices == self.columns)
        self.zx, self.zy = np.asarray(z.T @ x), np.asarray(z.T @ y)
        self.xx, self.xy, self.yy = x.T @ x, x.T @ y, float(y @ y)

    def solve(self, theta: Floats) -> MixedSolution:
        """The best coefficients for the given relative standard deviations."""
        from scipy.sparse.linalg import splu

        scale = self.scale(theta)
        a = self.zz.copy()
        a.data *= scale[self.zz.indices] * scale[self.columns]
        a.data[self.diagonal] += 1
        factorised = splu(a, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        inner_x, inner_y = scale[:, None] * self.zx, scale * self.zy
        solved = factorised.solve(np.column_stack([inner_x, inner_y]))
        precision = self.xx - inner_x.T @ solved[:, :-1]
        right = self.xy - inner_x.T @ solved[:, -1]
        coefficients = np.linalg.solve(precision, right)
        residual = self.yy - float(inner_y @ solved[:, -1]) - float(right @ coefficients)
        log_a = float(np.sum(np.log(np.abs(factorised.U.diagonal()))))  # L has a diagonal of ones
        log_m = float(np.linalg.slogdet(precision)[1])
        return MixedSolution(theta, coefficients, precision, max(residual, 0.0), log_a + log_m, factorised)

    def scale(self, theta: Floats) -> Floats:
        """theta of each random effect. (q,)"""
        return np.repeat(theta, self.sizes)

    def deviance(self, theta: Floats, variance: float) -> float:
        """The restricted deviance, up to a constant, for given theta and residual variance."""
        solution = self.solve(theta)
        return float(solution.log_determinants + (self.n - self.p) * np.log(variance) + solution.residual / variance)

    def profiled_deviance(self, theta: Floats) -> float:
        """The restricted deviance with the best residual variance."""
        solution = self.solve(theta)
        return float(solution.log_determinants + (self.n - self.p) * np.log(max(solution.residual, 1e-300)))


def _indicators(codes: Ints, size: int) -> Any:
    from scipy import sparse

    n = len(codes)
    return sparse.csc_matrix((np.ones(n), (np.arange(n), codes)), shape=(n, size))


# Linear mixed models fitted by restricted maximum likelihood, with t intervals of contrasts.
#
# The variances minimise the restricted deviance of `profile`. A contrast c'b has the variance c' C c, where C depends
# on the estimated variances; its degrees of freedom are Satterthwaite's (1946), 2 v^2 / (g' W g), with v the variance
# of the contrast, g its gradient and W the covariance of the variances, from the curvature of the deviance
# (Kuznetsova, Brockhoff and Christensen 2017, "lmerTest package").


NO_VARIANCE = 1e-6
"""Variance, divided by that of the residuals, below which a factor is taken to have no effect."""
FIRST_RATIO, LARGEST_RATIO = 0.25, 1e6
"""Where the search for these ratios begins, and the largest that is tried."""
_STEP = 0.02
"""Step of the logarithm of a variance, for numerical derivatives."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """A sum of coefficients with its t interval and test."""

    interval: Interval
    error: float
    """The standard error."""
    degrees: float
    """Satterthwaite's degrees of freedom."""
    p_value: float
    """Two-sided, that it is 0."""


@dataclass(frozen=True)
class MixedFit:
    """A fitted model."""

    equations: MixedEquations
    solution: MixedSolution
    residual_variance: float

    @property
    def coefficients(self) -> Floats:
        """The fixed effects, less `shift`. (p,)"""
        return self.solution.coefficients

    @cached_property
    def covariance(self) -> Floats:
        """The covariance of the fixed effects. (p, p)"""
        return (self.residual_variance * np.linalg.inv(self.solution.precision)).astype(np.float64)

    @property
    def variances(self) -> Floats:
        """The variance of each factor's effects. (factors,)"""
        return self.solution.theta**2 * self.residual_variance

    def contrast(self, weights: ArrayLike, confidence: float = 0.95) -> Contrast:
        """The weighted sum of the coefficients; the shift of the data is added where the weights sum to 1."""
        from scipy.special import stdtr

        c = np.asarray(weights, np.float64)
        estimate = float(c @ self.coefficients) + float(c.sum()) * self.equations.shift
        variance = float(c @ self.covariance @ c)
        degrees = self._degrees(c, variance)
        if not variance > 0 or math.isnan(degrees):
            return Contrast(Interval(estimate, math.nan, math.nan), math.nan, math.nan, math.nan)
        error = math.sqrt(variance)
        margin = t_quantile(confidence, degrees) * error
        p_value = float(2 * stdtr(degrees, -abs(estimate) / error))
        return Contrast(Interval(estimate, estimate - margin, estimate + margin), error, degrees, p_value)

    def effects(self, factor: int) -> tuple[Floats, Floats]:
        """The predicted effects of a factor's levels (BLUPs) and the standard errors of their predictions. (levels,)

        The errors include the uncertainty of the fixed effects (Henderson 1975), but not that of the variances.
        """
        equations, solution = self.equations, self.solution
        start = sum(equations.sizes[:factor])
        size, theta = equations.sizes[factor], float(solution.theta[factor])
        levels = slice(start, start + size)
        scale = equations.scale(solution.theta)
        right = scale * (equations.zy - equations.zx @ solution.coefficients)
        effects = theta * solution.factorised.solve(right)[levels]
        solved_x = theta * solution.factorised.solve(scale[:, None] * equations.zx)[levels]
        units = np.zeros((len(scale), size))
        units[np.arange(start, start + size), np.arange(size)] = 1
        inverse = np.diagonal(solution.factorised.solve(units)[levels])
        spread = theta**2 * inverse + np.einsum("ij,jk,ik->i", solved_x, np.linalg.inv(solution.precision), solved_x)
        return effects, np.sqrt(self.residual_variance * spread)

    def _degrees(self, c: Floats, variance: float) -> float:
        """Satterthwaite's degrees of freedom of a contrast; those of the residuals where no variance is in doubt."""
        residual = float(self.equations.n - self.equations.p)
        gradient = np.array([_variance(c, *above) - _variance(c, *below) for above, below in self._moved]) / (2 * _STEP)
        spread = float(gradient @ self._log_covariance @ gradient)
        return min(max(2 * variance**2 / spread, 1.0), residual) if spread > 0 else residual

    @cached_property
    def _present(self) -> Ints:
        return np.flatnonzero(self.solution.theta)

    @cached_property
    def _logs(self) -> Floats:
        """The logarithms of the variances that are not 0, that of the residuals last."""
        logs: Floats = np.log(np.append(self.variances[self._present], self.residual_variance))
        return logs

    def _theta_at(self, logs: Floats) -> Floats:
        theta = np.zeros(len(self.solution.theta))
        theta[self._present] = np.exp((logs[:-1] - logs[-1]) / 2)
        return theta

    @cached_property
    def _moved(self) -> list[tuple[tuple[float, Floats], tuple[float, Floats]]]:
        """Residual variance and precision where each logarithm is a step higher, and where it is a step lower."""
        steps = [self._logs + sign * step for step in _STEP * np.eye(len(self._logs)) for sign in (1, -1)]
        found = [(math.exp(at[-1]), self.equations.solve(self._theta_at(at)).precision) for at in steps]
        return list(zip(found[::2], found[1::2], strict=True))

    @cached_property
    def _log_covariance(self) -> Floats:
        """The covariance of the logarithms of the variances: twice the inverse of the deviance's second derivatives."""
        logs, k = self._logs, len(self._logs)
        steps = _STEP * np.eye(k)

        def at(change: Floats) -> float:
            moved = logs + change
            return self.equations.deviance(self._theta_at(moved), float(np.exp(moved[-1])))

        centre, hessian = at(np.zeros(k)), np.zeros((k, k))
        for i in range(k):
            hessian[i, i] = (at(steps[i]) + at(-steps[i]) - 2 * centre) / _STEP**2
            for j in range(i):
                crossed = at(steps[i] + steps[j]) + at(-steps[i] - steps[j])
                crossed -= at(steps[i] - steps[j]) + at(steps[j] - steps[i])
                hessian[i, j] = hessian[j, i] = crossed / (4 * _STEP**2)
        values, vectors = np.linalg.eigh(hessian)
        # A direction in which the deviance is flat is one in which nothing is known of the variances.
        kept = values > 1e-6 * values.max()
        covariance: Floats = 2 * (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
        return covariance


def _variance(c: Floats, residual_variance: float, precision: Floats) -> float:
    """The variance of a contrast."""
    return residual_variance * float(c @ np.linalg.solve(precision, c))


def fit_reml(y: ArrayLike, x: ArrayLike, factors: Sequence[Ints]) -> MixedFit:
    """The model of y on the columns of x, with random effects of the factors (the level of each row, from 0)."""
    from scipy.optimize import minimize

    values, design = np.asarray(y, np.float64), np.asarray(x, np.float64)
    if design.ndim != 2 or values.shape != design.shape[:1] or any(len(codes) != len(values) for codes in factors):
        raise ValueError(f"y, x and factors must have as many rows, not {values.shape} and {design.shape}")
    if len(values) <= design.shape[1] or not factors:
        raise ValueError("a mixed model needs more rows than fixed effects, and at least one factor")
    equations = MixedEquations(values, design, factors)
    # Over variances, not deviations: at 0 the derivative by a deviation is 0, and a search that gets there would stay.
    found = minimize(
        lambda ratios: equations.profiled_deviance(np.sqrt(ratios)),
        np.full(len(factors), FIRST_RATIO),
        method="L-BFGS-B",
        jac="3-point",
        bounds=[(0, LARGEST_RATIO)] * len(factors),
        options={"ftol": 1e-12, "gtol": 1e-6},
    )
    theta = np.sqrt(np.where(found.x > NO_VARIANCE, found.x, 0.0))
    solution = equations.solve(theta)
    return MixedFit(equations, solution, solution.residual / (equations.n - equations.p))

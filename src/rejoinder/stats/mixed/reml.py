"""Linear mixed models fitted by restricted maximum likelihood, with t intervals of contrasts.

The variances minimise the restricted deviance of `profile`. A contrast c'b has the variance c' C c, where C depends on
the estimated variances; its degrees of freedom are Satterthwaite's (1946), 2 v^2 / (g' W g), with v the variance of the
contrast, g its gradient and W the covariance of the variances, from the curvature of the deviance (Kuznetsova,
Brockhoff and Christensen 2017, "lmerTest package").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Floats, Ints
from rejoinder.stats.intervals import Interval, t_quantile
from rejoinder.stats.mixed.profile import Equations, Solution

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

    equations: Equations
    solution: Solution
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
    equations = Equations(values, design, factors)
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

"""The equations of a linear mixed model, for given standard deviations of its random effects.

y = X b + Z u + e, where each column of Z marks the rows of one level of one factor (one item, one rater), the effects u
of a factor have the standard deviation theta sigma, and e has sigma. With D the diagonal matrix of theta,

    A = D Z'Z D + I,   M = X'X - X'Z D A^-1 D Z'X,

the restricted deviance is  log|A| + log|M| + (n - p) log sigma^2 + r^2 / sigma^2, where r^2 is the penalised residual
sum of squares (Bates et al. 2015, "Fitting linear mixed-effects models using lme4", section 3). A is sparse: its
factorisation costs little even for thousands of items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rejoinder.arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class Solution:
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


class Equations:
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

    def solve(self, theta: Floats) -> Solution:
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
        return Solution(theta, coefficients, precision, max(residual, 0.0), log_a + log_m, factorised)

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

"""Pearson, Spearman and Kendall correlation with p-values; an example with a NaN is left out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rejoinder.arrays import Floats

KINDS = ("pearson", "spearman", "kendall")


@dataclass(frozen=True, slots=True)
class Correlation:
    """A coefficient, its two-sided p-value against no correlation, and the number of examples."""

    coefficient: float
    p_value: float
    n: int


UNKNOWN = math.nan


def correlate(x: ArrayLike, y: ArrayLike, kind: str = "pearson") -> Correlation:
    """The correlation of the given kind; NaN with fewer than two joint examples or where one side is constant."""
    if kind not in KINDS:
        raise ValueError(f"unknown correlation {kind!r}; known: {', '.join(KINDS)}")
    measures: dict[str, Callable[[ArrayLike, ArrayLike], Correlation]]
    measures = {"pearson": pearson, "spearman": spearman, "kendall": kendall}
    return measures[kind](x, y)


def pearson(x: ArrayLike, y: ArrayLike) -> Correlation:
    """The linear correlation, with the p-value of `scipy.stats.pearsonr` (a t-test)."""
    first, second = jointly_known(x, y)
    return _with_t_test(product_moment(first, second), first.size)


def spearman(x: ArrayLike, y: ArrayLike) -> Correlation:
    """The linear correlation of midranks, with the p-value of `scipy.stats.spearmanr` (a t-test)."""
    first, second = jointly_known(x, y)
    return _with_t_test(product_moment(midranks(first), midranks(second)), first.size)


def kendall(x: ArrayLike, y: ArrayLike) -> Correlation:
    """Kendall's tau-b, with the p-value of `scipy.stats.kendalltau` (exact for few examples without ties)."""
    first, second = jointly_known(x, y)
    if first.size < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return Correlation(UNKNOWN, UNKNOWN, first.size)
    from scipy.stats import kendalltau

    result = kendalltau(first, second)
    return Correlation(float(result.statistic), float(result.pvalue), first.size)


def jointly_known(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    """Both vectors, without the positions where either is NaN."""
    first, second = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(f"x and y must be vectors of equal length, not of shapes {first.shape} and {second.shape}")
    known = ~(np.isnan(first) | np.isnan(second))
    return first[known], second[known]


def product_moment(x: Floats, y: Floats) -> float:
    """Pearson's coefficient of two vectors without NaN; NaN where one is constant."""
    if x.size < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return UNKNOWN
    coefficient = float(_unit(x) @ _unit(y))
    # Rounding may put a perfect correlation slightly below or above 1.
    return coefficient if abs(coefficient) < 1 - 1e-14 else math.copysign(1.0, coefficient)


def dot(first: NDArray[Any], second: NDArray[Any]) -> float:
    """The inner product of two vectors without BLAS, for inner loops.

    BLAS would use several threads per vector, which costs more than it saves: up to twenty times as much on busy cores.
    """
    return float(np.einsum("i,i->", first, second))


def dense_codes(values: Floats) -> NDArray[np.int64]:
    """The rank of each value among the distinct values, from 0: equal values get equal codes."""
    return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)


def midranks(values: Floats) -> Floats:
    """Ranks from 1, tied values sharing the mean of their ranks."""
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[codes.reshape(-1)]
    return ranks


def _unit(values: Floats) -> Floats:
    """The centred values, scaled to length 1."""
    centred = values - values.mean()
    centred /= np.abs(centred).max()  # first, so that the squares of huge values do not overflow
    unit: Floats = centred / np.linalg.norm(centred)
    return unit


def _with_t_test(coefficient: float, n: int) -> Correlation:
    from scipy.special import stdtr

    if math.isnan(coefficient):
        return Correlation(UNKNOWN, UNKNOWN, n)
    if n == 2:  # two points are always on a line
        return Correlation(coefficient, 1.0, n)
    unexplained = (1 - coefficient) * (1 + coefficient)
    t = abs(coefficient) * math.sqrt((n - 2) / unexplained) if unexplained > 0 else math.inf
    return Correlation(coefficient, float(2 * stdtr(n - 2, -t)), n)

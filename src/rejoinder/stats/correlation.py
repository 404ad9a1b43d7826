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
    """A coefficient, its two-sided p-value against no correlation, and the examples it rests on."""

    coefficient: float
    p_value: float
    n: int


UNKNOWN = math.nan


def correlate(x: ArrayLike, y: ArrayLike, kind: str = "pearson") -> Correlation:
    """The correlation of the given kind; NaN under two joint examples or where one side does not vary."""
    if kind not in KINDS:
        raise ValueError(f"unknown correlation {kind!r}; known: {', '.join(KINDS)}")
    measures: dict[str, Callable[[ArrayLike, ArrayLike], Correlation]]
    measures = {"pearson": pearson, "spearman": spearman, "kendall": kendall}
    return measures[kind](x, y)


def pearson(x: ArrayLike, y: ArrayLike) -> Correlation:
    """The linear correlation; its p-value is the t-test that `scipy.stats.pearsonr` also makes."""
    first, second = jointly_known(x, y)
    return _with_t_test(product_moment(first, second), first.size)


def spearman(x: ArrayLike, y: ArrayLike) -> Correlation:
    """The linear correlation of midranks, with the t-test of `scipy.stats.spearmanr`."""
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
    """Both vectors at the places where neither is NaN."""
    first, second = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(f"x and y must be vectors of one length, not of shapes {first.shape} and {second.shape}")
    known = ~(np.isnan(first) | np.isnan(second))
    return first[known], second[known]


def product_moment(x: Floats, y: Floats) -> float:
    """Pearson's coefficient of two vectors without NaN; NaN where one does not vary."""
    if x.size < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return UNKNOWN
    coefficient = float(_unit(x) @ _unit(y))
    # A perfect correlation may come out a rounding away from 1 on either side.
    return coefficient if abs(coefficient) < 1 - 1e-14 else math.copysign(1.0, coefficient)


def dot(first: NDArray[Any], second: NDArray[Any]) -> float:
    """The inner product of two vectors without BLAS, for inner loops.

    BLAS would put threads to each vector, which costs more than it saves: on busy cores, twenty times the work.
    """
    return float(np.einsum("i,i->", first, second))


def dense_codes(values: Floats) -> NDArray[np.int64]:
    """The place of each value among the distinct values, from 0: equal values get equal codes."""
    return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)


def midranks(values: Floats) -> Floats:
    """Ranks from 1, tied values sharing the mean of their ranks."""
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[codes.reshape(-1)]
    return ranks


def _unit(values: Floats) -> Floats:
    """The values less their mean, of length 1."""
    centred = values - values.mean()
    centred /= np.abs(centred).max()  # first, lest the squares of huge values overflow
    unit: Floats = centred / np.linalg.norm(centred)
    return unit


def _with_t_test(coefficient: float, n: int) -> Correlation:
    from scipy.special import stdtr

    if math.isnan(coefficient):
        return Correlation(UNKNOWN, UNKNOWN, n)
    if n == 2:  # two points always lie on a line
        return Correlation(coefficient, 1.0, n)
    unexplained = (1 - coefficient) * (1 + coefficient)
    t = abs(coefficient) * math.sqrt((n - 2) / unexplained) if unexplained > 0 else math.inf
    return Correlation(coefficient, float(2 * stdtr(n - 2, -t)), n)

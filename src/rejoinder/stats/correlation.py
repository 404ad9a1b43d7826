"""Pearson, Spearman, Kendall and concordance, with and without weights."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rejoinder.arrays import Floats, Ints
from rejoinder.stats.resampling import group_sums

# Pearson, Spearman and Kendall correlation with p-values; an example with a NaN is left out.


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


# Concordant minus discordant pairs under example weights, for thousands of weightings of the same data.
#
# Kendall's tau of a bootstrap resample is a weighted count over pairs. Only the weights change between resamples, not
# which pairs agree, so the pairs are arranged once, and each resample costs a few passes over the examples.
#
# The arrangement: write the rank of y among its distinct values as a binary number. Two examples with different y share
# a prefix of bits, then one has 0 and the other 1, so each pair is counted at exactly one bit. Among the examples that
# share a prefix, ordered by x, a running sum of the weights with bit 0 gives for each example with bit 1 the weight
# before it in x (concordant) and after it (discordant). The number of passes is log2 of the number of distinct y: 6 for
# human means on 41 levels, 16 for 40,000 distinct scores.


@dataclass(frozen=True, slots=True)
class _Pass:
    """The examples with bit 0 and with bit 1, and where each of the latter reads the running sum."""

    zeros: Ints
    ones: Ints
    first: Ints  # before the first zero of the same prefix
    before: Ints  # before the zeros of the same prefix and x
    after: Ints  # after them
    last: Ints  # after the last zero of the same prefix


class Concordance:
    """Weighted concordance and tau-b of two vectors without NaN."""

    def __init__(self, x: Floats, y: Floats) -> None:
        by_levels = sorted((dense_codes(x), dense_codes(y)), key=_levels)
        self._few, self._many = by_levels  # tau is symmetric, so the passes run over the side with fewer values
        bits = int(_levels(self._few) - 1).bit_length()
        self._passes = [_arrange(self._many, self._few, bit) for bit in range(bits)]

    def balance(self, weights: NDArray[np.int64]) -> float:
        """The weight of concordant minus that of discordant pairs, under whole-number example weights."""
        total = 0.0
        for step in self._passes:
            running = np.zeros(step.zeros.size + 1, np.int64)
            np.cumsum(weights[step.zeros], out=running[1:])
            read = running[step.before] + running[step.after] - running[step.first] - running[step.last]
            total += dot(weights[step.ones], read)
        return total

    def tau_b(self, weights: NDArray[np.int64]) -> float:
        """Kendall's tau-b with each example repeated `weights` times; NaN where one side is constant."""
        n = float(weights.sum())
        pairs = n * (n - 1) / 2
        untied = [pairs - _tied_pairs(codes, weights) for codes in (self._few, self._many)]
        if min(untied) <= 0:
            return float("nan")
        return self.balance(weights) / float(np.sqrt(untied[0]) * np.sqrt(untied[1]))


def _levels(codes: Ints) -> int:
    return int(codes.max()) + 1 if codes.size else 0


def _tied_pairs(codes: Ints, weights: NDArray[np.int64]) -> float:
    sizes = np.bincount(codes, weights=weights)
    return dot(sizes, sizes - 1) / 2


def _arrange(x: Ints, y: Ints, bit: int) -> _Pass:
    """The pass over one bit of y."""
    prefix, is_one = y >> (bit + 1), (y >> bit & 1).astype(bool)
    place = prefix * (_levels(x) + 1) + x  # orders by prefix, then by x
    order = np.argsort(place, kind="stable")
    zeros, ones = order[~is_one[order]], order[is_one[order]]
    return _Pass(
        zeros,
        ones,
        first=np.searchsorted(prefix[zeros], prefix[ones], "left"),
        before=np.searchsorted(place[zeros], place[ones], "left"),
        after=np.searchsorted(place[zeros], place[ones], "right"),
        last=np.searchsorted(prefix[zeros], prefix[ones], "right"),
    )


# Correlations of many resamples of the same data, each resample given by how often each group was drawn.
#
# Each is exact, including ranks and ties, as if the resample had been written out, but nothing is sorted twice. Pearson
# needs weighted sums of products, one matrix product for all resamples. For Spearman the distinct values of a metric
# are sorted once; the midranks of a resample are running sums of its counts over them. Kendall's tau is in
# `concordance`.


@dataclass(frozen=True, slots=True)
class ScoreSample:
    """Scores of several metrics and of people, without NaN, and the group of each example."""

    scores: Floats  # (examples, metrics)
    human: Floats  # (examples,)
    codes: Ints  # (examples,)
    n_groups: int


class WeightedCorrelation(ABC):
    """Counts of groups in, correlations out."""

    @abstractmethod
    def __init__(self, sample: ScoreSample) -> None: ...

    @abstractmethod
    def of_counts(self, counts: Floats) -> Floats:
        """The correlation of each metric with people: (resamples, groups) -> (resamples, metrics)."""


class WeightedPearson(WeightedCorrelation):
    """Linear correlations, from the groups' sums of 1, h, h^2, x, x^2 and x h."""

    def __init__(self, sample: ScoreSample) -> None:
        x, h = _standardised(sample.scores), _standardised(sample.human[:, None])
        columns = np.concatenate([np.ones_like(h), h, h**2, x, x**2, x * h], axis=1)
        self._moments = group_sums(columns, sample.codes, sample.n_groups)
        self._metrics = x.shape[1]

    def of_counts(self, counts: Floats) -> Floats:
        """See `WeightedCorrelation`."""
        sums = counts @ self._moments
        n, h, hh = sums[:, :3].T[:, :, None]
        x, xx, xh = np.split(sums[:, 3:], 3, axis=1)
        return _coefficient(n * xh - x * h, n * xx - x**2, n * hh - h**2)


class WeightedSpearman(WeightedCorrelation):
    """Rank correlations, from midranks that are running sums over the distinct values."""

    def __init__(self, sample: ScoreSample) -> None:
        self._codes = sample.codes
        self._human = dense_codes(sample.human)
        self._scores = [dense_codes(column) for column in sample.scores.T]

    def of_counts(self, counts: Floats) -> Floats:
        """See `WeightedCorrelation`."""
        return np.stack([self._of_weights(row[self._codes]) for row in counts])

    def _of_weights(self, weights: Floats) -> Floats:
        human_ranks, human_spread = _centred_midranks(self._human, weights)
        weighted_ranks = weights * human_ranks[self._human]
        products, spreads = np.empty(len(self._scores)), np.empty(len(self._scores))
        for j, codes in enumerate(self._scores):
            ranks, spreads[j] = _centred_midranks(codes, weights)
            products[j] = dot(weighted_ranks, ranks[codes])
        return _coefficient(products, spreads, np.asarray(human_spread))


class WeightedKendall(WeightedCorrelation):
    """Kendall's tau-b, from weighted counts of concordant pairs."""

    def __init__(self, sample: ScoreSample) -> None:
        self._codes = sample.codes
        self._concordances = [Concordance(column, sample.human) for column in sample.scores.T]

    def of_counts(self, counts: Floats) -> Floats:
        """See `WeightedCorrelation`."""
        weights = counts.astype(np.int64)
        return np.array([[c.tau_b(row[self._codes]) for c in self._concordances] for row in weights])


def _centred_midranks(codes: Ints, weights: Floats) -> tuple[Floats, float]:
    """The midrank of each distinct value less the mean rank, and the sum of their weighted squares."""
    totals = np.bincount(codes, weights=weights)
    # The mean midrank is half of the total weight, with or without ties.
    ranks = np.cumsum(totals, dtype=np.float64) - totals / 2 - weights.sum() / 2
    return ranks, dot(totals, ranks**2)


def _standardised(columns: Floats) -> Floats:
    """Columns with mean 0 and standard deviation 1, so that sums of squares keep precision; constant ones are 0."""
    centred = columns - columns.mean(axis=0)
    centred[:, np.ptp(columns, axis=0) == 0] = 0
    deviation = centred.std(axis=0)
    scaled: Floats = centred / np.where(deviation > 0, deviation, 1)
    return scaled


def _coefficient(products: Floats, spreads: Floats, human_spread: Floats) -> Floats:
    """products / sqrt(spreads x human spread), NaN where one side is constant (up to rounding)."""
    scale = np.sqrt(np.maximum(spreads, 0)) * np.sqrt(np.maximum(human_spread, 0))
    varied = scale > 1e-12
    ratio = np.divide(products, scale, out=np.full(products.shape, np.nan), where=varied)
    clipped: Floats = np.clip(ratio, -1.0, 1.0)
    return clipped

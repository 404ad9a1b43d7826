"""Correlations of many resamples of the same data, each resample given by how often each group was drawn.

Each is exact, including ranks and ties, as if the resample had been written out, but nothing is sorted twice. Pearson
needs weighted sums of products, one matrix product for all resamples. For Spearman the distinct values of a metric are
sorted once; the midranks of a resample are running sums of its counts over them. Kendall's tau is in `concordance`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from rejoinder.arrays import Floats, Ints
from rejoinder.stats.concordance import Concordance
from rejoinder.stats.correlation import dense_codes, dot
from rejoinder.stats.resampling import group_sums


@dataclass(frozen=True, slots=True)
class Sample:
    """Scores of several metrics and of people, without NaN, and the group of each example."""

    scores: Floats  # (examples, metrics)
    human: Floats  # (examples,)
    codes: Ints  # (examples,)
    n_groups: int


class WeightedCorrelation(ABC):
    """Counts of groups in, correlations out."""

    @abstractmethod
    def __init__(self, sample: Sample) -> None: ...

    @abstractmethod
    def of_counts(self, counts: Floats) -> Floats:
        """The correlation of each metric with people: (resamples, groups) -> (resamples, metrics)."""


class WeightedPearson(WeightedCorrelation):
    """Linear correlations, from the groups' sums of 1, h, h^2, x, x^2 and x h."""

    def __init__(self, sample: Sample) -> None:
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

    def __init__(self, sample: Sample) -> None:
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

    def __init__(self, sample: Sample) -> None:
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

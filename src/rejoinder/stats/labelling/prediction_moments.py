"""Variances and covariances of the means of labels and of automatic scores: what `prediction_powered` is built on.

The labelled replies are a random sample, so their scores have the same distribution as those of the other replies, and
the variance of a mean score is estimated from all of them together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Floats, Ints
from rejoinder.stats.resampling import Groups


@dataclass(frozen=True, slots=True)
class LabelledScores:
    """One system's labelled replies with their automatic scores, and the scores of its other replies.

    Groups (contexts) have the same names in the labelled and the unlabelled part, and in two systems to be compared.
    """

    labels: ArrayLike
    scores: ArrayLike
    unlabelled: ArrayLike
    groups: Groups = None
    unlabelled_groups: Groups = None


@dataclass(frozen=True, slots=True)
class System:
    """One system's known labels and scores, with the number of each reply's group."""

    labels: Floats
    scores: Floats
    others: Floats  # the scores of the unlabelled
    codes: Ints
    other_codes: Ints
    n_codes: int

    @property
    def label_mean(self) -> float:
        """The mean label; NaN without labels."""
        return float(self.labels.mean()) if self.labels.size else math.nan

    @property
    def score_gap(self) -> float:
        """The mean score of the unlabelled minus that of the labelled."""
        return float(self.others.mean() - self.scores.mean()) if self.labels.size and self.others.size else 0.0

    @property
    def n_groups(self) -> int:
        """The number of groups with labels."""
        return np.unique(self.codes).size


@dataclass(frozen=True, slots=True)
class Moments:
    """Variances and covariances of the label mean and the score gaps, signed and summed over systems."""

    labels: float  # variance of the label mean
    covariance: Floats  # (systems,): of the label mean with each score gap
    gaps: Floats  # (systems, systems): of the score gaps, without the part that follows
    unlabelled: Floats  # (systems, systems): the part of it that only unlabelled replies cause
    labelled: Floats  # (systems, systems): of the mean scores of the labelled

    def residual(self, weights: Floats) -> float:
        """The variance of the estimate without the part that only unlabelled replies cause."""
        return max(float(self.labels + 2 * weights @ self.covariance + weights @ self.gaps @ weights), 0.0)

    def variance(self, weights: Floats, scale: float) -> float:
        """The variance of the estimate; `scale` corrects the part with labels for lost degrees of freedom."""
        return scale * self.residual(weights) + float(weights @ self.unlabelled @ weights)


def systems_of(*given: LabelledScores) -> list[System]:
    """The systems over one numbering of all their groups; a reply with a NaN is left out."""
    parts = []
    for system in given:
        labels, scores = np.asarray(system.labels, np.float64), np.asarray(system.scores, np.float64)
        others = np.asarray(system.unlabelled, np.float64)
        if labels.ndim != 1 or labels.shape != scores.shape or others.ndim != 1:
            raise ValueError(
                f"labels and scores must be vectors of equal length, and unlabelled a vector, "
                f"not {labels.shape}, {scores.shape}, {others.shape}"
            )
        parts.append((labels, scores, others))
    sizes = [size for labels, _, others in parts for size in (labels.size, others.size)]
    groups = [g for system in given for g in (system.groups, system.unlabelled_groups)]
    codes, n_codes = _common_codes(sizes, groups)
    return [_system(*part, codes[2 * i], codes[2 * i + 1], n_codes) for i, part in enumerate(parts)]


def _common_codes(sizes: list[int], groups: list[Groups]) -> tuple[list[Ints], int]:
    """One numbering of the groups of several vectors; without groups every element is its own."""
    if all(g is None for g in groups):
        ends = np.cumsum([0, *sizes]).tolist()
        return [np.arange(start, end) for start, end in pairwise(ends)], ends[-1]
    for size, g in zip(sizes, groups, strict=True):
        if size and (g is None or len(g) != size):
            raise ValueError(f"groups must be given for all vectors or none, and {size} for a vector of {size}")
    names = np.concatenate([np.asarray(g) for size, g in zip(sizes, groups, strict=True) if size])
    found, codes = np.unique(names, return_inverse=True)
    return np.split(codes.reshape(-1).astype(np.int64), np.cumsum(sizes)[:-1]), len(found)


def _system(labels: Floats, scores: Floats, others: Floats, codes: Ints, other_codes: Ints, n_codes: int) -> System:
    known, other_known = ~(np.isnan(labels) | np.isnan(scores)), ~np.isnan(others)
    return System(labels[known], scores[known], others[other_known], codes[known], other_codes[other_known], n_codes)


def moments_of(systems: Sequence[System], signs: Sequence[int]) -> Moments:
    """Sums over groups of products of influences; the variance of unlabelled means comes from all scores."""
    signed = list(zip(signs, systems, strict=True))
    labels = np.sum([sign * _influence(p.labels, p.codes, p.n_codes) for sign, p in signed], axis=0)
    # Without unlabelled replies there is no gap to close, and the scores must not count.
    labelled = np.stack(
        [sign * bool(p.others.size) * _influence(p.scores, p.codes, p.n_codes) for sign, p in signed], axis=1
    )
    pooled = [_pooled_scores(p) for p in systems]
    unlabelled = np.stack(
        [
            sign * np.bincount(p.other_codes, scores[p.scores.size :], minlength=p.n_codes) / max(p.others.size, 1)
            for (sign, p), (scores, _) in zip(signed, pooled, strict=True)
        ],
        axis=1,
    )
    crossed = labelled.T @ unlabelled
    return Moments(
        labels=float(labels @ labels),
        covariance=labels @ (unlabelled - labelled),
        gaps=labelled.T @ labelled - crossed - crossed.T,
        unlabelled=_unlabelled_covariance(systems, pooled, np.array(signs)),
        labelled=labelled.T @ labelled,
    )


def _pooled_scores(system: System) -> tuple[Floats, Ints]:
    """All scores of the system, labelled first, less their common mean; and their groups."""
    scores = np.concatenate([system.scores, system.others])
    return _centred(scores), np.concatenate([system.codes, system.other_codes])


def _unlabelled_covariance(systems: Sequence[System], pooled: Sequence[tuple[Floats, Ints]], signs: Ints) -> Floats:
    """The covariance of the mean scores of the systems' unlabelled replies. (systems, systems)

    Two replies of one group are taken to have the same covariance in all groups, likewise two replies of two systems.
    This covariance and the variance of a single score, both estimated from all scores, give the variance of a mean.
    """
    shares = [np.bincount(p.other_codes, minlength=p.n_codes) / max(p.others.size, 1) for p in systems]
    found = np.zeros((len(systems), len(systems)))
    for i, system in enumerate(systems):
        scores = pooled[i][0]
        for j in range(i + 1 if system.others.size else 0):
            products, pairs = _group_products(pooled[i], pooled[j], system.n_codes)
            if i != j:
                found[i, j] = found[j, i] = signs[i] * signs[j] * products / max(pairs, 1) * (shares[i] @ shares[j])
                continue
            squares = float(scores @ scores)
            single = squares / scores.size
            common = (products - squares) / (pairs - scores.size) if pairs > scores.size else 0.0
            common = min(max(common, 0.0), single)
            found[i, i] = (single - common) / system.others.size + common * (shares[i] @ shares[i])
    n_groups = min((np.unique(codes).size for _, codes in pooled), default=0)
    return found * n_groups / max(n_groups - 1, 1)


def _group_products(first: tuple[Floats, Ints], second: tuple[Floats, Ints], n_codes: int) -> tuple[float, float]:
    """The sum of the products of two replies of one group, over all such pairs; and the number of pairs."""
    sums = [np.bincount(codes, values, n_codes) for values, codes in (first, second)]
    sizes = [np.bincount(codes, minlength=n_codes) for _, codes in (first, second)]
    return float(sums[0] @ sums[1]), float(sizes[0] @ sizes[1])


def _influence(values: Floats, codes: Ints, n_codes: int) -> Floats:
    """The influence of each group on the mean of the values. (groups,)"""
    return np.bincount(codes, weights=_centred(values) / max(values.size, 1), minlength=n_codes).astype(np.float64)


def _centred(values: Floats) -> Floats:
    """The values less their mean; equal values, up to rounding, are 0."""
    if not values.size:
        return values
    centred: Floats = values - values.mean()
    centred[np.abs(centred) <= 1e-12 * np.abs(values).max()] = 0
    return centred

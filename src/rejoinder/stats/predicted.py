"""Human means from automatic scores of all replies and labels of some (prediction-powered inference)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Floats, Ints
from rejoinder.stats.intervals import Interval, check_confidence, t_quantile
from rejoinder.stats.resampling import Groups

# Variances and covariances of the means of labels and of automatic scores: what `prediction_powered` is built on.
#
# The labelled replies are a random sample, so their scores have the same distribution as those of the other replies,
# and the variance of a mean score is estimated from all of them together.


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
class ScoredSystem:
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


def scored_systems(*given: LabelledScores) -> list[ScoredSystem]:
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


def _system(
    labels: Floats, scores: Floats, others: Floats, codes: Ints, other_codes: Ints, n_codes: int
) -> ScoredSystem:
    known, other_known = ~(np.isnan(labels) | np.isnan(scores)), ~np.isnan(others)
    return ScoredSystem(
        labels[known], scores[known], others[other_known], codes[known], other_codes[other_known], n_codes
    )


def moments_of(systems: Sequence[ScoredSystem], signs: Sequence[int]) -> Moments:
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


def _pooled_scores(system: ScoredSystem) -> tuple[Floats, Ints]:
    """All scores of the system, labelled first, less their common mean; and their groups."""
    scores = np.concatenate([system.scores, system.others])
    return _centred(scores), np.concatenate([system.codes, system.other_codes])


def _unlabelled_covariance(
    systems: Sequence[ScoredSystem], pooled: Sequence[tuple[Floats, Ints]], signs: Ints
) -> Floats:
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


# Prediction-powered inference for means: a few human labels and many automatic scores combined.
#
# The mean of the automatic scores over all replies is precise but may be biased; the labelled replies estimate the
# bias. With labels y and scores f on n labelled replies, and scores on N others, the estimate
#
#     theta = mean(y) + lambda (mean of f over the others - mean of f over the labelled)
#
# is unbiased however good or bad the scores are (Angelopoulos et al. 2023, with lambda = 1). Tuning lambda to minimise
# the variance (Angelopoulos, Duchi and Zrnic 2023, PPI++) makes it no worse than the labels alone, up to the noise in
# lambda: useless scores get a lambda near 0, and scores on a different scale one that converts them. Replies to one
# context are not independent: with groups, every variance is that of sums over groups, and two systems that answered
# the same contexts are compared as pairs.
#
# The variance of the scores is estimated from labelled and unlabelled replies together, so that a few unlabelled
# replies suffice. Labels with only two values (yes/no) get pseudo-labels, as in the interval of Agresti and Coull
# 1998 for a proportion (two of each value) and of Agresti and Caffo 2000 for a difference (one of each value per
# system).


FEWEST_DEGREES = 2
"""Fewest degrees of freedom that tuned weights must leave: the quantile of t for one is 12.7."""


@dataclass(frozen=True, slots=True)
class PredictionPowered:
    """A mean, or a difference of means, from labels and scores together, and from the labels alone."""

    interval: Interval
    labels_only: Interval
    weights: tuple[float, ...]
    """lambda of each system: the weight of its scores, in units of the labels."""
    n_labelled: int
    n_unlabelled: int
    p_value: float
    """Two-sided, that the mean or difference is 0: below .05 where the 95 % interval excludes 0."""
    gain: float
    """How many times as many labels would be needed for the same precision without scores."""
    label_variance: float
    """The part of the estimate's variance that more labels would reduce."""
    score_variance: float
    """The part that only more unlabelled replies would reduce."""


def prediction_powered_mean(
    system: LabelledScores,
    *,
    weight: float | None = None,
    confidence: float = 0.95,
    label_values: tuple[float, float] | None = None,
) -> PredictionPowered:
    """The estimated mean label over all of the system's replies; `weight` fixes lambda, else it is tuned.

    `label_values` are the two values of yes/no labels; by default 0 and 1 where there are no others.
    """
    return _infer(scored_systems(system), (1,), weight, confidence, label_values)


def prediction_powered_difference(
    a: LabelledScores,
    b: LabelledScores,
    *,
    weight: float | None = None,
    confidence: float = 0.95,
    label_values: tuple[float, float] | None = None,
) -> PredictionPowered:
    """The mean of system B minus that of system A; contexts in common (groups with equal names) count as pairs."""
    return _infer(scored_systems(a, b), (-1, 1), weight, confidence, label_values)


def selection_p_value(system: LabelledScores) -> float:
    """The two-sided p-value of a difference in mean score between the labelled and the unlabelled replies.

    A small one means that the labelled replies are hardly a random sample. NaN where one of the two is empty, or where
    all scores are equal.
    """
    (part,) = scored_systems(system)
    moments = moments_of([part], (1,))
    variance = float((moments.gaps + moments.unlabelled)[0, 0])
    degrees = np.unique(np.concatenate([part.codes, part.other_codes])).size - 2
    if not part.labels.size or not part.others.size or variance <= 0:
        return math.nan
    return _p_value(part.score_gap, variance, degrees)


def labels_needed(difference: PredictionPowered, *, power: float = 0.8, alpha: float = 0.05) -> float:
    """The labels, of both systems together, that detect a true difference of the estimated size with the given power.

    The unlabelled replies stay as they are; inf where they are too few for any number of labels to detect it.
    """
    if not 0 < power < 1 or not 0 < alpha < 1:
        raise ValueError(f"power and alpha must be between 0 and 1, not {power} and {alpha}")
    from scipy.special import ndtri

    if math.isnan(difference.interval.estimate + difference.label_variance):
        return math.nan
    affordable = (difference.interval.estimate / float(ndtri(1 - alpha / 2) + ndtri(power))) ** 2
    if affordable <= difference.score_variance:
        return math.inf
    scale = difference.label_variance / (affordable - difference.score_variance)
    return float(math.ceil(difference.n_labelled * scale))


def _infer(
    systems: Sequence[ScoredSystem],
    signs: Sequence[int],
    weight: float | None,
    confidence: float,
    label_values: tuple[float, float] | None,
) -> PredictionPowered:
    """The signed sum of the systems' means.

    Each tuned weight costs a degree of freedom, except for constant scores, which have nothing to tune; too few groups
    with labels for that get none.
    """
    check_confidence(confidence)
    values = label_values or _yes_or_no(systems)
    values = values if min(system.n_groups for system in systems) > 1 else None
    adjusted = systems if values is None else _with_pseudo_labels(systems, values)
    moments = moments_of(adjusted, signs)
    n_groups = min(system.n_groups for system in adjusted)
    weights, n_tuned = _tuned(moments) if weight is None else (np.full(len(systems), float(weight)), 0)
    if n_tuned and n_groups - 1 - n_tuned < FEWEST_DEGREES:
        weights, n_tuned = np.zeros(len(systems)), 0
    # With pseudo-labels the bounds are normal quantiles, as in the intervals that they generalise.
    degrees = n_groups - 1 - n_tuned if values is None else math.inf
    divisor = n_groups - n_tuned - (values is None)
    scale = n_groups / divisor if divisor > 0 else math.nan
    gaps = np.array([sign * system.score_gap for sign, system in zip(signs, systems, strict=True)])
    noise = _tuning_noise(moments, weights, gaps) / max(n_groups, 1) if n_tuned else 0.0
    variance = moments.variance(weights, scale) + scale * noise
    only = moments.labels * n_groups / (n_groups - (values is None)) if n_groups > 1 else math.nan
    mean, centre = (float(np.dot(signs, [part.label_mean for part in of])) for of in (systems, adjusted))
    shift, limits = float(weights @ gaps), None if values is None else _limits(signs, values)
    score_variance = float(weights @ moments.unlabelled @ weights)
    return PredictionPowered(
        interval=_interval(mean + shift, centre + shift, variance, degrees, confidence, limits),
        labels_only=_interval(mean, centre, only, degrees + n_tuned, confidence, limits),
        weights=tuple(float(w) for w in weights),
        n_labelled=sum(system.labels.size for system in systems),
        n_unlabelled=sum(system.others.size for system in systems),
        p_value=_p_value(centre + shift, variance, degrees),
        gain=only / variance if variance > 0 else math.nan,
        label_variance=max(variance - score_variance, 0.0) if not math.isnan(variance) else math.nan,
        score_variance=score_variance,
    )


def _tuned(moments: Moments) -> tuple[Floats, int]:
    """The weights with the smallest variance, and how many of them there were to tune."""
    gaps = moments.gaps + moments.unlabelled
    rank = int(np.linalg.matrix_rank(gaps)) if np.isfinite(gaps).all() else 0
    if not rank or np.linalg.eigvalsh(gaps).min() < -1e-9 * np.trace(gaps):
        return np.zeros(len(gaps)), 0  # the covariances contradict each other: trust the labels alone
    return np.linalg.lstsq(gaps, -moments.covariance, rcond=None)[0].astype(np.float64), rank


def _tuning_noise(moments: Moments, weights: Floats, gaps: Floats) -> float:
    """The variance due to the noise in tuned weights, times the number of groups.

    It grows with the score gaps, as the variance of a regression line grows with the distance from its middle.
    """
    inverse = np.linalg.pinv(moments.gaps + moments.unlabelled)
    return moments.residual(weights) * float(gaps @ inverse @ moments.labelled @ inverse @ gaps)


def _yes_or_no(systems: Sequence[ScoredSystem]) -> tuple[float, float] | None:
    """0 and 1 where no label of any system has another value; None otherwise, or without labels."""
    labels = np.concatenate([system.labels for system in systems])
    return (0.0, 1.0) if all(system.labels.size for system in systems) and np.isin(labels, (0, 1)).all() else None


def _with_pseudo_labels(systems: Sequence[ScoredSystem], values: tuple[float, float]) -> list[ScoredSystem]:
    """The systems with pseudo-labels of both values, each a group of its own with the mean score."""
    labels = np.repeat(values, 2 if len(systems) == 1 else 1)
    n_codes = systems[0].n_codes + labels.size * len(systems)
    return [
        replace(
            system,
            labels=np.concatenate([system.labels, labels]),
            scores=np.concatenate([system.scores, np.full(labels.size, system.scores.mean())]),
            codes=np.concatenate([system.codes, system.n_codes + labels.size * place + np.arange(labels.size)]),
            n_codes=n_codes,
        )
        for place, system in enumerate(systems)
    ]


def _limits(signs: Sequence[int], values: tuple[float, float]) -> tuple[float, float]:
    """The lowest and the highest value that the mean, or the difference, can have."""
    low, high = values
    return (low, high) if len(signs) == 1 else (low - high, high - low)


def _interval(
    estimate: float,
    centre: float,
    variance: float,
    degrees: float,
    confidence: float,
    limits: tuple[float, float] | None,
) -> Interval:
    """The t interval around the centre, widened to hold the estimate; NaN bounds where nothing varies."""
    if degrees < 1 or math.isnan(variance) or variance == 0:
        return Interval(float(estimate), math.nan, math.nan)
    margin = t_quantile(confidence, degrees) * math.sqrt(variance)
    found = Interval(float(estimate), float(min(estimate, centre - margin)), float(max(estimate, centre + margin)))
    return found if limits is None else found.within(limits)


def _p_value(estimate: float, variance: float, degrees: float) -> float:
    from scipy.special import stdtr

    if degrees < 1 or math.isnan(estimate + variance) or variance == 0:
        return math.nan
    return float(2 * stdtr(degrees, -abs(estimate) / math.sqrt(variance)))

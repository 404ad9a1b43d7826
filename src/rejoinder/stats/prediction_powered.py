"""Prediction-powered inference for means: a few human labels and many automatic scores combined.

The mean of the automatic scores over all replies is precise but may be biased; the labelled replies estimate the bias.
With labels y and scores f on n labelled replies, and scores on N others, the estimate

    theta = mean(y) + lambda (mean of f over the others - mean of f over the labelled)

is unbiased however good or bad the scores are (Angelopoulos et al. 2023, with lambda = 1). Tuning lambda to minimise
the variance (Angelopoulos, Duchi and Zrnic 2023, PPI++) makes it no worse than the labels alone, up to the noise in
lambda: useless scores get a lambda near 0, and scores on a different scale one that converts them. Replies to one
context are not independent: with groups, every variance is that of sums over groups, and two systems that answered the
same contexts are compared as pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Floats, Ints
from rejoinder.stats.intervals import Interval, check_confidence, t_quantile
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


@dataclass(frozen=True, slots=True)
class _System:
    """One system's means, and each group's influence on them."""

    label_mean: float
    score_gap: float  # mean score of the unlabelled minus that of the labelled
    label_influence: Floats  # (groups,)
    labelled_influence: Floats
    unlabelled_influence: Floats
    n_labelled: int
    n_unlabelled: int
    n_groups: int  # with labels


def prediction_powered_mean(
    system: LabelledScores, *, weight: float | None = None, confidence: float = 0.95
) -> PredictionPowered:
    """The estimated mean label over all of the system's replies; `weight` fixes lambda, else it is tuned."""
    return _infer([(1, part) for part in _systems(system)], weight, confidence)


def prediction_powered_difference(
    a: LabelledScores, b: LabelledScores, *, weight: float | None = None, confidence: float = 0.95
) -> PredictionPowered:
    """The mean of system B minus that of system A; contexts in common (groups with equal names) count as pairs."""
    return _infer(list(zip((-1, 1), _systems(a, b), strict=True)), weight, confidence)


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


def _infer(systems: Sequence[tuple[int, _System]], weight: float | None, confidence: float) -> PredictionPowered:
    """The signed sum of the systems' means.

    The influence of a group is that of its labels plus lambda times that of its scores; the variance is the sum of the
    squared influences, and the tuned lambdas minimise it. Each costs a degree of freedom, except for constant scores,
    which have nothing to tune.
    """
    check_confidence(confidence)
    n_groups = min(part.n_groups for _, part in systems)
    label_influence = np.sum([sign * part.label_influence for sign, part in systems], axis=0)
    unlabelled = np.stack([sign * part.unlabelled_influence for sign, part in systems], axis=1)
    labelled = np.stack([sign * part.labelled_influence for sign, part in systems], axis=1)
    weights = _tuned(label_influence, unlabelled - labelled) if weight is None else np.full(len(systems), float(weight))
    degrees = n_groups - 1 - (int(np.linalg.matrix_rank(unlabelled - labelled)) if weight is None else 0)
    influence = label_influence + (unlabelled - labelled) @ weights
    variance = _variance(influence, n_groups, degrees)
    label_only_variance = _variance(label_influence, n_groups, n_groups - 1)
    score_variance = _variance(unlabelled @ weights, n_groups, degrees)
    label_mean = sum(sign * part.label_mean for sign, part in systems)
    gap = sum(sign * w * part.score_gap for w, (sign, part) in zip(weights, systems, strict=True))
    estimate = label_mean + float(gap)
    return PredictionPowered(
        interval=_interval(estimate, variance, degrees, confidence),
        labels_only=_interval(label_mean, label_only_variance, n_groups - 1, confidence),
        weights=tuple(float(w) for w in weights),
        n_labelled=sum(part.n_labelled for _, part in systems),
        n_unlabelled=sum(part.n_unlabelled for _, part in systems),
        p_value=_p_value(estimate, variance, degrees),
        gain=label_only_variance / variance if variance > 0 else math.nan,
        label_variance=max(variance - score_variance, 0.0) if not math.isnan(variance) else math.nan,
        score_variance=score_variance,
    )


def _tuned(label_influence: Floats, score_influence: Floats) -> Floats:
    """The lambdas with the smallest sum of squared influences. (groups,), (groups, systems) -> (systems,)"""
    return np.linalg.lstsq(score_influence, -label_influence, rcond=None)[0].astype(np.float64)


def _variance(influence: Floats, n_groups: int, degrees: int) -> float:
    return float(n_groups / degrees * np.sum(influence**2)) if degrees > 0 else math.nan


def _interval(estimate: float, variance: float, degrees: int, confidence: float) -> Interval:
    if degrees < 1 or math.isnan(variance):
        return Interval(float(estimate), math.nan, math.nan)
    margin = t_quantile(confidence, degrees) * math.sqrt(variance)
    return Interval(float(estimate), float(estimate - margin), float(estimate + margin))


def _p_value(estimate: float, variance: float, degrees: int) -> float:
    from scipy.special import stdtr

    if degrees < 1 or math.isnan(estimate + variance):
        return math.nan
    if variance == 0:
        return 1.0 if estimate == 0 else 0.0
    return float(2 * stdtr(degrees, -abs(estimate) / math.sqrt(variance)))


def _systems(*given: LabelledScores) -> list[_System]:
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


def _system(labels: Floats, scores: Floats, others: Floats, codes: Ints, other_codes: Ints, n_codes: int) -> _System:
    known, other_known = ~(np.isnan(labels) | np.isnan(scores)), ~np.isnan(others)
    labels, scores, codes = labels[known], scores[known], codes[known]
    others, other_codes = others[other_known], other_codes[other_known]
    return _System(
        label_mean=float(labels.mean()) if labels.size else math.nan,
        score_gap=float(others.mean() - scores.mean()) if labels.size and others.size else 0.0,
        label_influence=_influence(labels, codes, n_codes),
        # Without unlabelled replies there is no gap to close, and the scores must not count.
        labelled_influence=_influence(scores, codes, n_codes) * bool(others.size),
        unlabelled_influence=_influence(others, other_codes, n_codes),
        n_labelled=labels.size,
        n_unlabelled=others.size,
        n_groups=np.unique(codes).size,
    )


def _influence(values: Floats, codes: Ints, n_codes: int) -> Floats:
    """The influence of each group on the mean of the values. (groups,)"""
    if not values.size:
        return np.zeros(n_codes)
    centred = values - values.mean()
    centred[np.abs(centred) <= 1e-12 * np.abs(values).max()] = 0  # equal values, up to rounding, have no influence
    return np.bincount(codes, weights=centred / values.size, minlength=n_codes).astype(np.float64)

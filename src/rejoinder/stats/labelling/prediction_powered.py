"""Prediction-powered inference for means: a few human labels and many automatic scores combined.

The mean of the automatic scores over all replies is precise but may be biased; the labelled replies estimate the bias.
With labels y and scores f on n labelled replies, and scores on N others, the estimate

    theta = mean(y) + lambda (mean of f over the others - mean of f over the labelled)

is unbiased however good or bad the scores are (Angelopoulos et al. 2023, with lambda = 1). Tuning lambda to minimise
the variance (Angelopoulos, Duchi and Zrnic 2023, PPI++) makes it no worse than the labels alone, up to the noise in
lambda: useless scores get a lambda near 0, and scores on a different scale one that converts them. Replies to one
context are not independent: with groups, every variance is that of sums over groups, and two systems that answered the
same contexts are compared as pairs.

The variance of the scores is estimated from labelled and unlabelled replies together, so that a few unlabelled replies
suffice. Labels with only two values (yes/no) get pseudo-labels, as in the interval of Agresti and Coull 1998 for a
proportion (two of each value) and of Agresti and Caffo 2000 for a difference (one of each value per system).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rejoinder.arrays import Floats
from rejoinder.stats.intervals import Interval, check_confidence, t_quantile
from rejoinder.stats.labelling.prediction_moments import LabelledScores, Moments, System, moments_of, systems_of

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
    return _infer(systems_of(system), (1,), weight, confidence, label_values)


def prediction_powered_difference(
    a: LabelledScores,
    b: LabelledScores,
    *,
    weight: float | None = None,
    confidence: float = 0.95,
    label_values: tuple[float, float] | None = None,
) -> PredictionPowered:
    """The mean of system B minus that of system A; contexts in common (groups with equal names) count as pairs."""
    return _infer(systems_of(a, b), (-1, 1), weight, confidence, label_values)


def selection_p_value(system: LabelledScores) -> float:
    """The two-sided p-value of a difference in mean score between the labelled and the unlabelled replies.

    A small one means that the labelled replies are hardly a random sample. NaN where one of the two is empty, or where
    all scores are equal.
    """
    (part,) = systems_of(system)
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
    systems: Sequence[System],
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


def _yes_or_no(systems: Sequence[System]) -> tuple[float, float] | None:
    """0 and 1 where no label of any system has another value; None otherwise, or without labels."""
    labels = np.concatenate([system.labels for system in systems])
    return (0.0, 1.0) if all(system.labels.size for system in systems) and np.isin(labels, (0, 1)).all() else None


def _with_pseudo_labels(systems: Sequence[System], values: tuple[float, float]) -> list[System]:
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

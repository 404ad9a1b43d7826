"""Means of systems from labels that were chosen with known probabilities, and automatic scores of all replies.

A label y of a reply that was chosen with probability p stands for 1 / p replies. With scores f of all N replies,

    theta = 1/N sum over all (a + b f) + 1/N sum over labelled (y - a - b f) / p

is unbiased in large samples whatever the scores and the probabilities are (the regression estimator of survey sampling,
Sarndal, Swensson and Wretman 1992, section 6.4; with fixed weights, the active inference of Zrnic and Candes 2024). a
and b are those of the least-squares line with weights 1 / p. Variances are those of sums over groups (contexts) of each
reply's influence, where residuals have g-weights and are enlarged for their leverage, as in regression.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Floats
from rejoinder.stats.intervals import Interval, check_confidence, t_quantile
from rejoinder.stats.labelling.prediction_powered import FEWEST_DEGREES, PredictionPowered
from rejoinder.stats.resampling import Groups, group_codes


@dataclass(frozen=True, slots=True)
class ChosenLabels:
    """All replies of one system: labels (NaN: none), scores, and the probability with which each labelled one was
    chosen. Groups (contexts) have the same names in two systems to be compared."""

    labels: ArrayLike
    scores: ArrayLike
    probabilities: ArrayLike
    groups: Groups = None


@dataclass(frozen=True, slots=True)
class _Part:
    """One system's estimate, and the influence of each reply on it."""

    estimate: float
    influence: Floats
    score_influence: Floats  # without the labelled part
    weight: float  # b
    degrees: float
    n_labelled: int


def weighted_mean(system: ChosenLabels, *, confidence: float = 0.95) -> PredictionPowered:
    """The estimated mean label over all of the system's replies."""
    return _combined([system], [1], confidence)


def weighted_difference(a: ChosenLabels, b: ChosenLabels, *, confidence: float = 0.95) -> PredictionPowered:
    """The mean of system B minus that of system A; contexts in common (groups with equal names) count as pairs."""
    return _combined([a, b], [-1, 1], confidence)


def coverage_p_value(system: ChosenLabels) -> float:
    """The two-sided p-value that labels are missing, or were not chosen with their probabilities.

    The labelled replies stand for sum(1 / p) replies, which should be about N. NaN without labels, or where every
    labelled reply was certain to be chosen.
    """
    from scipy.special import ndtr

    labels, _, p = _checked(system)
    known = ~np.isnan(labels)
    variance = float(np.sum((1 - p[known]) / p[known] ** 2))
    if not known.any() or variance <= 0:
        return math.nan
    gap = float(np.sum(1 / p[known])) - len(labels)
    return float(2 * ndtr(-abs(gap) / math.sqrt(variance)))


def _combined(systems: list[ChosenLabels], signs: list[int], confidence: float) -> PredictionPowered:
    check_confidence(confidence)
    codes, n_groups = _common_groups(systems)
    parts = [_regression(system) for system in systems]
    plain = [_labels_alone(system) for system in systems]
    variance = _variance([p.influence for p in parts], signs, codes, n_groups)
    only = _variance([p.influence for p in plain], signs, codes, n_groups)
    score_variance = min(_variance([p.score_influence for p in parts], signs, codes, n_groups), variance)
    estimate = float(np.dot(signs, [p.estimate for p in parts]))
    degrees = _welch(parts)
    n_labelled = sum(part.n_labelled for part in parts)
    return PredictionPowered(
        interval=_interval(estimate, variance, degrees, confidence),
        labels_only=_interval(float(np.dot(signs, [p.estimate for p in plain])), only, _welch(plain), confidence),
        weights=tuple(part.weight for part in parts),
        n_labelled=n_labelled,
        n_unlabelled=sum(len(codes_of) for codes_of in codes) - n_labelled,
        p_value=_p_value(estimate, variance, degrees),
        gain=only / variance if variance > 0 else math.nan,
        label_variance=variance - score_variance,
        score_variance=score_variance,
    )


def _regression(system: ChosenLabels) -> _Part:
    """The regression estimate; without a slope where scores are constant or labels are few."""
    labels, scores, p = _checked(system)
    known = ~np.isnan(labels)
    n = int(known.sum())
    y, w = labels[known], 1 / p[known]
    centred = scores - float(scores.mean())
    has_slope = _effective(w) - 2 >= FEWEST_DEGREES and float(np.ptp(scores[known])) > 0
    design = np.column_stack([np.ones(len(scores)), centred]) if has_slope else np.ones((len(scores), 1))
    x = design[known]
    inverse = np.linalg.pinv((x * w[:, None]).T @ x)
    line = inverse @ (x * w[:, None]).T @ y
    fitted = design @ line
    estimate = float(fitted.mean())  # the weighted residuals sum to 0
    g_weights = x @ inverse @ design.sum(axis=0)
    leverage = np.clip(w * np.einsum("ij,jk,ik->i", x, inverse, x), 0, 0.99)
    score_influence = (fitted - estimate) / len(scores)
    influence = score_influence.copy()
    influence[known] += w * g_weights * (y - fitted[known]) / np.sqrt(1 - leverage) / len(scores)
    slope = float(line[1]) if has_slope else 0.0
    return _Part(estimate, influence, score_influence, slope, _effective(w) - 1 - has_slope, n)


def _labels_alone(system: ChosenLabels) -> _Part:
    """The weighted mean of the labels (Hajek's estimate)."""
    labels, _, p = _checked(system)
    known = ~np.isnan(labels)
    w = 1 / p[known]
    mean = float(w @ labels[known] / w.sum()) if w.size else math.nan
    influence = np.zeros(len(labels))
    leverage = np.clip(w / w.sum(), 0, 0.99) if w.size else w
    influence[known] = w * (labels[known] - mean) / np.sqrt(1 - leverage) / w.sum() if w.size else 0
    return _Part(mean, influence, influence, 0.0, _effective(w) - 1, int(known.sum()))


def _checked(system: ChosenLabels) -> tuple[Floats, Floats, Floats]:
    labels, scores, p = (
        np.asarray(given, np.float64) for given in (system.labels, system.scores, system.probabilities)
    )
    if labels.ndim != 1 or not labels.shape == scores.shape == p.shape:
        raise ValueError(
            f"labels, scores and probabilities must be vectors of equal length, not {labels.shape}, {scores.shape}, "
            f"{p.shape}"
        )
    chosen = p[~np.isnan(labels)]
    if np.isnan(scores).any() or not ((chosen > 0) & (chosen <= 1)).all():
        raise ValueError("expected a score of each reply, and a probability above 0 and up to 1 of each labelled one")
    return labels, scores, p


def _common_groups(systems: list[ChosenLabels]) -> tuple[list[np.ndarray], int]:
    """One numbering of the groups of all systems; without groups every reply is its own."""
    sizes = [len(np.asarray(system.labels)) for system in systems]
    if all(system.groups is None for system in systems):
        codes, n_groups = group_codes(None, sum(sizes))
    else:
        codes, n_groups = group_codes(np.concatenate([np.asarray(system.groups) for system in systems]), sum(sizes))
    return np.split(codes, np.cumsum(sizes)[:-1]), n_groups


def _variance(influences: list[Floats], signs: list[int], codes: list[np.ndarray], n_groups: int) -> float:
    """The variance of the signed sum: the sum of squares over groups."""
    sums = np.zeros(n_groups)
    for sign, influence, of in zip(signs, influences, codes, strict=True):
        sums += sign * np.bincount(of, influence, n_groups)
    return float(sums @ sums) * n_groups / (n_groups - 1) if n_groups > 1 else math.nan


def _effective(w: Floats) -> float:
    """The effective number of labels (Kish 1965): all of them where their probabilities are equal."""
    return float(w.sum() ** 2 / (w @ w)) if w.size else 0.0


def _welch(parts: list[_Part]) -> float:
    """The degrees of freedom of a mean, or of a difference (Welch 1947)."""
    if len(parts) == 1:
        return parts[0].degrees
    each = [float(part.influence @ part.influence) for part in parts]
    if min(part.degrees for part in parts) < 1 or not sum(each) > 0:
        return math.nan
    return sum(each) ** 2 / sum(v**2 / part.degrees for v, part in zip(each, parts, strict=True))


def _interval(estimate: float, variance: float, degrees: float, confidence: float) -> Interval:
    if math.isnan(degrees) or degrees < 1 or not variance > 0:
        return Interval(estimate, math.nan, math.nan)
    margin = t_quantile(confidence, degrees) * math.sqrt(variance)
    return Interval(estimate, estimate - margin, estimate + margin)


def _p_value(estimate: float, variance: float, degrees: float) -> float:
    from scipy.special import stdtr

    if math.isnan(degrees) or degrees < 1 or not variance > 0:
        return math.nan
    return float(2 * stdtr(degrees, -abs(estimate) / math.sqrt(variance)))

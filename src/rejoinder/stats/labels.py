"""Which replies to label, each with a known probability, and means from such labels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rejoinder.arrays import Floats, Ints
from rejoinder.stats.intervals import Interval, check_confidence, t_quantile
from rejoinder.stats.predicted import FEWEST_DEGREES, PredictionPowered
from rejoinder.stats.resampling import Groups, group_codes

# Which replies to label: probabilities of being chosen, and a draw of fixed size with exactly these probabilities.
#
# Labels are worth most where the automatic score is least certain. *Stratified*: replies are divided by score, and each
# stratum gets labels in proportion to its size times its standard deviation (Neyman 1934). *Active*: the probability
# of a reply is proportional to the uncertainty of its score, mixed with equal probabilities, so that no reply is
# nearly impossible to choose and an uncertainty that is wrong does little harm (Zrnic and Candes 2024, "Active
# statistical inference"). Whatever the probabilities, `weighted` gives valid intervals, because they are known.


EQUAL_SHARE = 0.5
"""The share of the labels that is spread equally, whatever the uncertainty; Zrnic and Candes use .5 in experiments."""


def equal_probabilities(n_replies: int, n_labels: int) -> Floats:
    """The same probability for each reply."""
    _check(n_replies, n_labels)
    return np.full(n_replies, n_labels / n_replies)


def active_probabilities(uncertainty: ArrayLike, n_labels: int, *, equal_share: float = EQUAL_SHARE) -> Floats:
    """Probabilities that grow with the uncertainty of each reply's score and sum to `n_labels`; none is above 1."""
    u = np.asarray(uncertainty, np.float64)
    _check(len(u), n_labels)
    if not 0 < equal_share <= 1:
        raise ValueError(f"equal_share must be above 0 and up to 1, not {equal_share}")
    if np.isnan(u).any() or (u < 0).any():
        raise ValueError("uncertainties must be known and must not be negative")
    total = float(u.sum())
    shares = u / total if total > 0 else np.full(len(u), 1 / len(u))
    mixed: Floats = equal_share / len(u) + (1 - equal_share) * shares
    return _scaled(mixed, n_labels)


def stratum_sizes(sizes: ArrayLike, n_labels: int, deviations: ArrayLike | None = None) -> Ints:
    """How many labels each stratum gets: in proportion to size times deviation (Neyman), without deviations to size.

    A stratum gets at least two labels, or as many as it has replies, where there are enough labels for that.
    """
    counts = np.asarray(sizes, np.int64)
    _check(int(counts.sum()), n_labels)
    spread = np.ones(len(counts)) if deviations is None else np.asarray(deviations, np.float64)
    wanted = counts * spread if float(counts @ spread) > 0 else counts.astype(np.float64)
    least = np.minimum(counts, 2)
    given = least if int(least.sum()) <= n_labels else np.zeros(len(counts), np.int64)
    for _ in range(n_labels - int(given.sum())):  # one after the other to the stratum that lacks most
        lacking = np.where(given < counts, wanted / (given + 1), -1.0)
        given[int(np.argmax(lacking))] += 1
    return given


def stratified_probabilities(strata: Ints, n_labels: int, deviations: ArrayLike | None = None) -> Floats:
    """The probability of each reply, given the number of its stratum, from 0."""
    sizes = np.bincount(strata)
    if (sizes == 0).any():
        raise ValueError("strata must be numbered from 0 without gaps")
    shares: Floats = (stratum_sizes(sizes, n_labels, deviations) / sizes)[strata]
    return shares


def score_strata(scores: ArrayLike, n_strata: int) -> Ints:
    """The number of each score's stratum, from 0: strata of about equal size, equal scores in one stratum."""
    values = np.asarray(scores, np.float64)
    edges = np.unique(np.quantile(values, np.linspace(0, 1, n_strata + 1)[1:-1]))
    return np.unique(np.searchsorted(edges, values, side="left"), return_inverse=True)[1].astype(np.int64)


def drawn_rows(probabilities: ArrayLike, seed: int = 0, strata: Ints | None = None) -> NDArray[np.bool_]:
    """Which replies are chosen: systematic sampling in random order (Madow 1949), within each stratum.

    Each reply is chosen with exactly its probability, and the number of chosen replies of a stratum is the sum of its
    probabilities, up to rounding.
    """
    p = np.asarray(probabilities, np.float64)
    if ((p < 0) | (p > 1 + 1e-9) | np.isnan(p)).any():
        raise ValueError("probabilities must be from 0 to 1")
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(p))
    if strata is not None:
        order = order[np.argsort(np.asarray(strata)[order], kind="stable")]
    # Sums of probabilities that should be whole numbers must not miss them by rounding.
    ends = np.round(np.cumsum(p[order]), 9)
    start = rng.random()
    steps = np.floor(ends - start).astype(np.int64)
    chosen = np.zeros(len(p), np.bool_)
    chosen[order] = np.diff(steps, prepend=-1) > 0
    return chosen


def _scaled(weights: Floats, n_labels: int) -> Floats:
    """Probabilities in proportion to the weights that sum to `n_labels`; where one would exceed 1, it is 1."""
    certain = np.zeros(len(weights), np.bool_)
    while True:
        rest = n_labels - int(certain.sum())
        probabilities = np.where(certain, 1.0, weights * rest / max(float(weights[~certain].sum()), 1e-300))
        above = (probabilities > 1) & ~certain
        if not above.any():
            return np.minimum(probabilities, 1.0)
        certain |= above


def _check(n_replies: int, n_labels: int) -> None:
    if not 1 <= n_labels <= n_replies:
        raise ValueError(f"expected from 1 to {n_replies} labels, not {n_labels}")


# Means of systems from labels that were chosen with known probabilities, and automatic scores of all replies.
#
# A label y of a reply that was chosen with probability p stands for 1 / p replies. With scores f of all N replies,
#
#     theta = 1/N sum over all (a + b f) + 1/N sum over labelled (y - a - b f) / p
#
# is unbiased in large samples whatever the scores and the probabilities are (the regression estimator of survey
# sampling, Sarndal, Swensson and Wretman 1992, section 6.4; with fixed weights, the active inference of Zrnic and
# Candes 2024). a and b are those of the least-squares line with weights 1 / p. Variances are those of sums over
# groups (contexts) of each reply's influence, where residuals have g-weights and are enlarged for their leverage, as
# in regression.


@dataclass(frozen=True, slots=True)
class ChosenLabels:
    """All replies of one system: labels (NaN: none), scores, and the probability with which each labelled one was
    chosen. Groups (contexts) have the same names in two systems to be compared."""

    labels: ArrayLike
    scores: ArrayLike
    probabilities: ArrayLike
    groups: Groups = None


@dataclass(frozen=True, slots=True)
class _SystemEstimate:
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


def _regression(system: ChosenLabels) -> _SystemEstimate:
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
    return _SystemEstimate(estimate, influence, score_influence, slope, _effective(w) - 1 - has_slope, n)


def _labels_alone(system: ChosenLabels) -> _SystemEstimate:
    """The weighted mean of the labels (Hajek's estimate)."""
    labels, _, p = _checked(system)
    known = ~np.isnan(labels)
    w = 1 / p[known]
    mean = float(w @ labels[known] / w.sum()) if w.size else math.nan
    influence = np.zeros(len(labels))
    leverage = np.clip(w / w.sum(), 0, 0.99) if w.size else w
    influence[known] = w * (labels[known] - mean) / np.sqrt(1 - leverage) / w.sum() if w.size else 0
    return _SystemEstimate(mean, influence, influence, 0.0, _effective(w) - 1, int(known.sum()))


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


def _welch(parts: list[_SystemEstimate]) -> float:
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

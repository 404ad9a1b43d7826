"""System means of human ratings, for other items and other raters than those at hand.

Each rating is the mean of its system plus effects of the context, the reply, the rater (lenient or strict) and noise:

    rating = system + context + reply + rater + noise

Systems are fixed; contexts, replies and raters are random samples, so that the intervals say how much the means would
vary with others (Baayen, Davidson and Bates 2008, "Mixed-effects modeling with crossed random effects for subjects and
items"). Raters who rated different replies are compared through the replies and systems that they share: a strict rater
does not pull down the systems that she happened to rate. Raters may differ in severity, but are assumed to rank the
systems alike up to noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rejoinder.arrays import Ints
from rejoinder.stats.intervals import Interval, check_confidence, rating_limits, t_quantile
from rejoinder.stats.mixed.reml import Contrast, MixedFit, fit_reml
from rejoinder.stats.multiple import holm

FEWEST_RATERS = 3
"""Raters below whom nothing can be said about how raters vary."""


@dataclass(frozen=True, slots=True)
class Severity:
    """How much lower (negative) or higher than others a rater's scores are for the same replies."""

    rater: str
    effect: Interval
    n_ratings: int


@dataclass(frozen=True, slots=True)
class SystemDifference:
    """The mean of system B minus that of system A."""

    a: str
    b: str
    contrast: Contrast
    p_adjusted: float
    """Holm-corrected over all pairs of systems."""


@dataclass(frozen=True, slots=True)
class CrossedMeans:
    """Means of systems, their differences, and the severity of raters."""

    means: dict[str, Contrast]
    differences: tuple[SystemDifference, ...]
    severities: tuple[Severity, ...]
    """In the order of the raters' names; empty where raters are not in the model."""
    variances: dict[str, float]
    """`context`, `reply`, `rater` where they are in the model, and `noise`."""
    n_ratings: int


def crossed_means(
    scores: ArrayLike,
    systems: Sequence[Any] | NDArray[Any],
    contexts: Sequence[Any] | NDArray[Any],
    replies: Sequence[Any] | NDArray[Any],
    raters: Sequence[Any] | NDArray[Any],
    *,
    confidence: float = 0.95,
) -> CrossedMeans | None:
    """The estimates from one score per rating, with its system, context, reply and rater.

    A factor is left out where the data cannot separate it from another or from noise: contexts with one reply each,
    replies with one rating each, fewer than three raters. None where no factor remains, or all scores are equal.
    Means stay within the scale of the ratings, where it is known (`rating_limits`).
    """
    check_confidence(confidence)
    values = np.asarray(scores, np.float64)
    names, system_of = np.unique(np.asarray(systems), return_inverse=True)
    rater_names, rater_of = np.unique(np.asarray(raters), return_inverse=True)
    factors = _separable(
        {
            "context": np.unique(np.asarray(contexts), return_inverse=True)[1],
            "reply": np.unique(np.asarray(replies), return_inverse=True)[1],
            "rater": rater_of,
        }
    )
    if not factors or np.ptp(values) == 0 or len(values) <= len(names) + len(factors):
        return None
    fit = fit_reml(values, np.eye(len(names))[system_of], list(factors.values()))
    units, labels = np.eye(len(names)), [str(name) for name in names]
    pairs = list(combinations(range(len(names)), 2))
    contrasts = [fit.contrast(units[b] - units[a], confidence) for a, b in pairs]
    limits, means = rating_limits(values), [fit.contrast(unit, confidence) for unit in units]
    adjusted = holm([contrast.p_value for contrast in contrasts]).tolist()
    return CrossedMeans(
        means={
            label: replace(mean, interval=mean.interval.within(limits))
            for label, mean in zip(labels, means, strict=True)
        },
        differences=tuple(
            SystemDifference(labels[a], labels[b], contrast, p)
            for (a, b), contrast, p in zip(pairs, contrasts, adjusted, strict=True)
        ),
        severities=_severities(fit, list(factors), rater_names, rater_of, confidence),
        variances={**dict(zip(factors, fit.variances.tolist(), strict=True)), "noise": fit.residual_variance},
        n_ratings=len(values),
    )


def _separable(factors: dict[str, Ints]) -> dict[str, Ints]:
    """The factors whose effects can be separated from each other and from noise."""
    kept: dict[str, Ints] = {}
    for name, codes in factors.items():
        levels, n = int(codes.max(initial=0)) + 1, len(codes)
        fewest = FEWEST_RATERS if name == "rater" else 2
        # Two partitions are the same where they have as many levels as their crossing.
        same = any(
            len(np.unique(codes * (other.max() + 1) + other)) == levels
            for other in kept.values()
            if int(other.max()) + 1 == levels
        )
        if fewest <= levels < n and not same:
            kept[name] = codes
    return kept


def _severities(
    fit: MixedFit, factors: list[str], names: NDArray[Any], rater_of: Ints, confidence: float
) -> tuple[Severity, ...]:
    """Each rater's effect; quantiles of t, because the variance between few raters is uncertain."""
    if "rater" not in factors:
        return ()
    effects, errors = fit.effects(factors.index("rater"))
    margins = t_quantile(confidence, len(names) - 1) * errors
    counts = np.bincount(rater_of, minlength=len(names)).tolist()
    return tuple(
        Severity(str(name), Interval(e, e - m, e + m) if m > 0 else Interval(e, math.nan, math.nan), count)
        for name, e, m, count in zip(names, effects.tolist(), margins.tolist(), counts, strict=True)
    )

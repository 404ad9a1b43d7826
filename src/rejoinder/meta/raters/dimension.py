"""The agreement of raters on one dimension: measures of agreement, single raters, and means of systems."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rejoinder.arrays import Floats, Ints
from rejoinder.meta.judged import Ratings, context_key
from rejoinder.meta.raters.ratings import RatingSet
from rejoinder.stats.agreement.ceiling import rest_means
from rejoinder.stats.agreement.intraclass import IntraclassCorrelation, intraclass_correlation
from rejoinder.stats.agreement.item_bootstrap import alpha_interval
from rejoinder.stats.agreement.kappa import cohens_kappa, fleiss_kappa
from rejoinder.stats.agreement.krippendorff import perfect_correlation, reliability
from rejoinder.stats.formatting import interval_text, p_text
from rejoinder.stats.intervals import Interval
from rejoinder.stats.mixed.crossed import CrossedMeans, crossed_means
from rejoinder.text.grid import grid, number

FEWEST_SHARED = 10
"""Replies that two raters must both have rated for a kappa that is worth reporting."""

RELIABLE, TENTATIVE = 0.8, 0.667
"""Alphas from which ratings are reliable, and from which they allow tentative conclusions (Krippendorff 2004)."""

_MOST_RATERS = 50
"""Raters in the printed table."""

_MOST_DIFFERENCES = 15
"""Differences of systems in the printed table."""


@dataclass(frozen=True, slots=True)
class RaterRow:
    """One rater."""

    rater: str
    n_ratings: int
    mean: float
    difference: float
    """Mean difference between her ratings and the mean of the others' ratings of the same replies."""
    z_score: float
    """The difference, compared with those of all raters: in standard deviations from their mean."""
    severity: Interval
    """How much higher than others she rates the same replies, by the crossed random-effects model."""
    kappa: float
    """The median quadratic-weighted kappa with other raters."""


@dataclass(frozen=True, eq=False)
class DimensionAgreement:
    """How well the raters of one dimension agree."""

    dimension: str
    level: str
    n_replies: int
    """Replies with at least one rating."""
    n_ratings: int
    alpha: Interval
    before: Interval | None
    """Alpha before the filters; None where there was no filter."""
    removed: tuple[str, ...]
    """What the filters removed."""
    ratings_per_reply: float
    """The harmonic mean, over replies with two ratings or more."""
    reliability: float
    """Of the mean rating of a reply."""
    ceiling: Interval
    """The highest Pearson correlation that a metric can have with the mean ratings."""
    kappas: Floats
    """Quadratic-weighted kappa of each pair of raters; NaN where they share fewer than ten replies."""
    fleiss: float
    intraclass: IntraclassCorrelation
    raters: tuple[RaterRow, ...]
    systems: CrossedMeans | None
    """Means of systems by the crossed random-effects model; None where the data do not suffice for it."""

    @property
    def median_kappa(self) -> float:
        """The median kappa of pairs of raters."""
        known = self.kappas[~np.isnan(self.kappas)]
        return float(np.median(known)) if known.size else math.nan

    def sentence(self) -> str:
        """Whether the ratings can be trusted, in words."""
        if math.isnan(self.alpha.estimate):
            return f"{self.dimension}: the agreement is unknown: no reply has two ratings, or all ratings are equal."
        alpha = f"alpha {interval_text(self.alpha)}"
        if self.alpha.estimate >= RELIABLE:
            single = f"single ratings are reliable ({alpha})"
        elif self.alpha.estimate >= TENTATIVE:
            single = f"single ratings allow tentative conclusions ({alpha}; {RELIABLE} would be reliable)"
        else:
            single = f"single ratings are not reliable ({alpha}; {TENTATIVE} is the usual minimum)"
        return (
            f"{self.dimension}: {single}; mean ratings (of {self.ratings_per_reply:.3g} raters) have a reliability of "
            f"{number(self.reliability)}, and no metric can correlate with them above {interval_text(self.ceiling)} "
            "(Pearson)."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        systems = None
        if self.systems is not None:
            systems = {
                "means": {system: _plain(mean) for system, mean in self.systems.means.items()},
                "differences": [
                    {"a": row.a, "b": row.b, **_plain(row.contrast), "p_adjusted": row.p_adjusted}
                    for row in self.systems.differences
                ],
                "variances": self.systems.variances,
            }
        return {
            "replies": self.n_replies,
            "ratings": self.n_ratings,
            "level": self.level,
            "alpha": asdict(self.alpha),
            "alpha_before": asdict(self.before) if self.before else None,
            "removed": list(self.removed),
            "ratings_per_reply": self.ratings_per_reply,
            "reliability": self.reliability,
            "ceiling": asdict(self.ceiling),
            "median_kappa": self.median_kappa,
            "kappas": self.kappas.tolist(),
            "fleiss": self.fleiss,
            "icc": asdict(self.intraclass),
            "raters": [asdict(row) for row in self.raters],
            "systems": systems,
            "verdict": self.sentence(),
        }

    def __str__(self) -> str:
        icc = self.intraclass
        rows = [
            ["ratings", f"{self.n_ratings:,} of {self.n_replies:,} replies"],
            [f"Krippendorff's alpha ({self.level})", interval_text(self.alpha)],
            ["median kappa of two raters (quadratic)", number(self.median_kappa)],
            ["Fleiss' kappa", number(self.fleiss)],
            [f"ICC(2,1), ICC(2,k) of {icc.n_items:,} replies", f"{number(icc.single_2)}, {number(icc.average_2)}"],
        ]
        if self.before is not None:
            rows.insert(1, [f"alpha before the filters ({self.level})", interval_text(self.before)])
        parts = [self.sentence(), *self.removed, "", grid(["measure", "value"], rows)]
        if self.raters:
            parts += ["", self._raters_text()]
        if self.systems is not None and len(self.systems.means) > 1:
            parts += ["", _systems_text(self.systems)]
        return "\n".join(parts)

    def _raters_text(self) -> str:
        header = ["rater", "ratings", "mean", "against others", "z", "severity [95 %]", "kappa"]
        rows = [
            [
                row.rater,
                str(row.n_ratings),
                number(row.mean, 2),
                number(row.difference, 2),
                number(row.z_score, 1),
                interval_text(row.severity, 2),
                number(row.kappa, 2),
            ]
            for row in self.raters[:_MOST_RATERS]
        ]
        more = len(self.raters) - _MOST_RATERS
        return grid(header, rows) + (f"\n... and {more} more raters (see --json)" if more > 0 else "")


def dimension_agreement(
    rated: RatingSet,
    before: RatingSet | None,
    dimension: str,
    removed: tuple[str, ...],
    *,
    level: str,
    seed: int,
    resamples: int,
) -> DimensionAgreement:
    """All measures of one dimension; `before` is the set before the filters, or None if there are none."""
    matrix = rated.ratings[dimension]
    contexts = np.unique([repr(context_key(example)) for example in rated.examples], return_inverse=True)[1]
    settings: dict[str, Any] = {"level": level, "groups": contexts, "n_resamples": resamples, "seed": seed}
    alpha = alpha_interval(matrix, **settings)
    counts = np.sum(~np.isnan(matrix), axis=1)
    several = counts[counts > 1]
    kappas = kappa_matrix(matrix)
    systems = _crossed(rated, matrix, contexts)
    return DimensionAgreement(
        dimension=dimension,
        level=level,
        n_replies=int((counts > 0).sum()),
        n_ratings=int(counts.sum()),
        alpha=alpha,
        before=None if before is None else alpha_interval(before.ratings[dimension], **settings),
        removed=removed,
        ratings_per_reply=len(several) / float(np.sum(1 / several)) if several.size else math.nan,
        reliability=reliability(alpha.estimate, several),
        ceiling=Interval(*(perfect_correlation(a, several) for a in (alpha.estimate, alpha.low, alpha.high))),
        kappas=kappas,
        fleiss=fleiss_kappa(matrix),
        intraclass=intraclass_correlation(matrix),
        raters=tuple(_rater_rows(rated, matrix, kappas, systems)) if rated.named else (),
        systems=systems,
    )


def kappa_matrix(matrix: Ratings, weights: str = "quadratic") -> Floats:
    """The kappa of each pair of raters; NaN on the diagonal and where two share fewer than ten replies."""
    known = (~np.isnan(matrix)).astype(np.float64)
    shared = known.T @ known
    n = matrix.shape[1]
    found = np.full((n, n), np.nan)
    for i, j in np.argwhere(np.triu(shared >= FEWEST_SHARED, 1)).tolist():
        found[i, j] = found[j, i] = cohens_kappa(matrix[:, i], matrix[:, j], weights)
    return found


def median_kappas(kappas: Floats) -> Floats:
    """The median kappa of each rater with others; NaN where there is none. (raters,)"""
    medians = np.full(len(kappas), np.nan)
    known = ~np.isnan(kappas).all(axis=1)
    medians[known] = np.nanmedian(kappas[known], axis=1)
    return medians


def _crossed(rated: RatingSet, matrix: Ratings, contexts: Ints) -> CrossedMeans | None:
    replies, raters = np.nonzero(~np.isnan(matrix))
    systems = np.array([example.system for example in rated.examples])[replies]
    # Places in lists are not people: without names, severity and noise are confounded.
    who = raters if rated.named else np.zeros_like(raters)
    return crossed_means(matrix[replies, raters], systems, contexts[replies], replies, who)


def _rater_rows(rated: RatingSet, matrix: Ratings, kappas: Floats, systems: CrossedMeans | None) -> list[RaterRow]:
    """The raters with ratings, in the order of their names."""
    gaps = matrix - rest_means(matrix)
    has = np.flatnonzero((~np.isnan(matrix)).any(axis=0)).tolist()
    differences = {place: _mean(gaps[:, place]) for place in has}
    every = np.array([value for value in differences.values() if not math.isnan(value)])
    middle, spread = (float(every.mean()), float(every.std(ddof=1))) if every.size > 2 else (0.0, 0.0)
    effects = {int(row.rater): row.effect for row in systems.severities} if systems is not None else {}
    medians = median_kappas(kappas)
    unknown = Interval(math.nan, math.nan, math.nan)
    return [
        RaterRow(
            rated.raters[place],
            int((~np.isnan(matrix[:, place])).sum()),
            _mean(matrix[:, place]),
            differences[place],
            (differences[place] - middle) / spread if spread > 0 else math.nan,
            effects.get(place, unknown),
            float(medians[place]),
        )
        for place in has
    ]


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else math.nan


def _plain(contrast: Any) -> dict[str, float]:
    interval = contrast.interval
    return {
        "mean": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "error": contrast.error,
        "degrees": contrast.degrees,
        "p": contrast.p_value,
    }


def _systems_text(systems: CrossedMeans) -> str:
    means = [
        [system or "-", interval_text(mean.interval), number(mean.error), number(mean.degrees, 0)]
        for system, mean in systems.means.items()
    ]
    gaps = [
        [f"{row.b} - {row.a}", interval_text(row.contrast.interval), number(row.contrast.error), p_text(row.p_adjusted)]
        for row in systems.differences
    ]
    if len(gaps) > _MOST_DIFFERENCES:
        more = f"the {len(gaps):,} differences of two systems are shown by --json"
    else:
        more = grid(["difference", "[95 %]", "standard error", "p (Holm)"], gaps)
    shares = ", ".join(f"{name} {number(variance)}" for name, variance in systems.variances.items())
    return "\n".join(
        [
            f"means for other contexts and raters (variances: {shares})",
            grid(["system", "mean [95 %]", "standard error", "degrees of freedom"], means),
            "",
            more,
        ]
    )

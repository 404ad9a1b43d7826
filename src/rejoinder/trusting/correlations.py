"""How well metrics agree with people: over all replies, over systems, and within contexts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from rejoinder.arrays import Floats, Ints
from rejoinder.data.judged import JudgedSet, Ratings
from rejoinder.show.figures import IntervalPanel
from rejoinder.show.text import interval_text
from rejoinder.stats.correlation import KINDS, correlate, midranks
from rejoinder.stats.correlation_intervals import correlation_bounds, correlation_replicates, independence_p_values
from rejoinder.stats.correlation_tests import permutation_p_values, williams
from rejoinder.stats.intervals import Interval, bootstrap_bounds
from rejoinder.stats.pairs import PairAgreement, calibrate_ties, pairwise_agreement
from rejoinder.stats.rater_intervals import alpha_interval, one_against_rest_interval, split_half_interval
from rejoinder.stats.raters import krippendorff_alpha, one_against_rest, perfect_correlation, split_half
from rejoinder.stats.resampling import ALPHA, holm, significance_clusters
from rejoinder.stats.systems import FixedSystems, SystemPairs, pairwise_accuracies
from rejoinder.trusting.probing import ScoredSet
from rejoinder.types import Scores

ComparedMetrics = dict[tuple[int, int], tuple[Interval, float, float]]
"""Columns of two metrics -> difference of their correlations, permutation p-value, Williams' p-value."""

_MANY_CONTEXTS = 2000  # from so many on, a correlation is practically normal
_KENDALL_WORK = 2_000_000  # examples x resamples
_FEWEST_RESAMPLES = 200
_FEWEST_PERMUTATIONS = 1000
_WORTH_MORE = 0.02  # below this p-value, more permutations may change a corrected verdict


@dataclass(frozen=True, slots=True)
class MeasuredCorrelation:
    """A coefficient with its interval and p-value."""

    interval: Interval
    p_value: float


@dataclass(frozen=True, slots=True)
class MetricTrust:
    """One metric's agreement with people."""

    metric: str
    measured: Mapping[str, MeasuredCorrelation]
    """pearson, spearman, kendall"""
    n: int
    coverage: float
    """The share of the examples that the metric could score."""
    cluster: int
    """1 for the best: no two metrics of one cluster differ significantly."""
    pairs: SystemPairs | None = None
    """How often the metric orders two systems as people do; at system level only."""


@dataclass(frozen=True, slots=True)
class MetricContest:
    """A comparison of two metrics: is B's correlation with people higher than A's?"""

    a: str
    b: str
    difference: Interval
    p_permutation: float
    p_williams: float
    p_adjusted: float
    """The p-value of the permutation test, Holm-corrected over all contests of the table."""

    @property
    def significant(self) -> bool:
        """Whether the corrected p-value is below .05."""
        return self.p_adjusted < ALPHA


@dataclass(frozen=True, slots=True)
class LevelTable:
    """All metrics at one level, best first."""

    level: str
    unit: str
    rows: tuple[MetricTrust, ...]
    contests: tuple[MetricContest, ...]
    kind: str
    """The coefficient that metrics are ranked by."""

    def panel(self, kind: str | None = None) -> IntervalPanel:
        """The correlation of each metric with people, with its interval."""
        chosen = kind or self.kind
        rows = tuple((row.metric, row.measured[chosen].interval) for row in self.rows)
        over = "single replies" if self.level == "utterance" else f"{self.level}s"
        return IntervalPanel(f"{chosen.capitalize()} correlation with people over {over}", rows)


@dataclass(frozen=True, slots=True)
class WithinContext:
    """How one metric orders the replies to the same context."""

    metric: str
    agreement: PairAgreement
    calibrated: Interval
    """The accuracy when scores closer than epsilon are ties; epsilon is fitted on the other half of the contexts."""


def utterance_level(scored: ScoredSet, kind: str = "spearman") -> LevelTable:
    """Correlations over single replies. Contexts are resampled, because replies to one context are not independent."""
    rows = np.flatnonzero(scored.complete)
    part = scored.take(rows)
    contexts = part.judged.clusters
    n_contexts = len(np.unique(contexts))
    matrix = np.stack([part.oriented(label) for label in part.scores], axis=1)
    replicates = _replicates(matrix, part.human, contexts, scored)
    measured: list[dict[str, MeasuredCorrelation]] = [{} for _ in part.scores]
    for k in KINDS:
        intervals = [
            correlation_bounds(column, part.human, k, drawn, n_contexts)
            for column, drawn in zip(matrix.T, replicates[k].T, strict=True)
        ]
        p_values = _p_values(matrix, part, replicates[k], [interval.estimate for interval in intervals], k)
        for each, interval, p_value in zip(measured, intervals, p_values.tolist(), strict=True):
            each[k] = MeasuredCorrelation(interval, p_value)
    compared = _contests(matrix, part, replicates[kind], kind)
    return _level("utterance", "replies", scored, measured, compared, len(rows), kind)


def _contests(matrix: Floats, part: ScoredSet, replicates: Floats, kind: str) -> ComparedMetrics:
    """For every two metrics the difference of their correlations, the permutation test's p-value and Williams'."""
    contexts, human = part.judged.clusters, part.human
    # Swapping ranks tests Spearman's coefficient as swapping scores tests Pearson's.
    columns = np.stack([midranks(column) for column in matrix.T], axis=1) if kind == "spearman" else matrix
    target = midranks(human) if kind == "spearman" else human
    p_values = permutation_p_values(
        columns, target, contexts, n_permutations=permutations_for(matrix.shape[1]), seed=part.seed
    )
    n_contexts = len(np.unique(contexts))
    compared = {}
    for a, b in combinations(range(matrix.shape[1]), 2):
        gap = correlate(matrix[:, b], human, kind).coefficient - correlate(matrix[:, a], human, kind).coefficient
        interval = bootstrap_bounds(replicates[:, b] - replicates[:, a], gap, n_contexts, 0.95)
        test = williams(matrix[:, a], matrix[:, b], human, kind)
        compared[a, b] = (interval, float(p_values[a, b]), test.p_value)
    return compared


def permutations_for(metrics: int) -> int:
    """Enough permutations for the smallest p-value, corrected for all contests, to be far below the level."""
    return max(_FEWEST_PERMUTATIONS, math.ceil(20 * (metrics * (metrics - 1) // 2) / ALPHA))


def _p_values(matrix: Floats, part: ScoredSet, drawn: Floats, estimates: list[float], kind: str) -> Floats:
    """Each metric's two-sided p-value: by permutation of contexts, or by the bootstrap's standard error if many."""
    contexts = part.judged.clusters
    n_contexts = len(np.unique(contexts))
    if n_contexts < 2:
        return np.full(len(estimates), np.nan)
    if n_contexts < _MANY_CONTEXTS:
        return independence_p_values(matrix, part.human, contexts, kind, seed=part.seed)
    from scipy.special import stdtr

    errors = np.nanstd(drawn, axis=0, ddof=1)
    p_values: Floats = 2 * stdtr(n_contexts - 1, -np.abs(estimates) / np.where(errors > 0, errors, np.nan))
    return p_values


def _replicates(matrix: Floats, human: Floats, contexts: Ints, scored: ScoredSet) -> dict[str, Floats]:
    # Kendall's tau costs n log n per resample where the others cost n, so large data gets fewer resamples.
    fewer = min(scored.resamples, max(_FEWEST_RESAMPLES, _KENDALL_WORK // len(human)))
    both = correlation_replicates(matrix, human, contexts, scored.resamples, scored.seed, ("pearson", "spearman"))
    return both | correlation_replicates(matrix, human, contexts, fewer, scored.seed, ("kendall",))


FEWEST_FOR_P = 4
"""Systems below which a correlation over them has no p-value: three points are nearly always in some order."""


def system_level(scored: ScoredSet) -> LevelTable | None:
    """Correlations over the systems' mean scores; None with fewer than three systems.

    Intervals treat the systems as fixed and resample contexts: see `stats.fixed_systems`. The p-value's sample size is
    the number of systems; over three there is none.
    """
    rows = np.flatnonzero(scored.complete)
    part = scored.take(rows)
    if len(np.unique(part.judged.systems)) < 3:
        return None
    matrix = np.stack([part.oriented(label) for label in part.scores], axis=1)
    fixed = FixedSystems.of(matrix, part.human, part.judged.systems, part.judged.clusters)
    intervals = {k: fixed.intervals(k, scored.resamples, scored.seed) for k in KINDS}
    measured = [
        {
            k: MeasuredCorrelation(
                intervals[k][place],
                correlate(fixed.means[:, place + 1], fixed.means[:, 0], k).p_value
                if len(fixed.means) >= FEWEST_FOR_P
                else float("nan"),
            )
            for k in KINDS
        }
        for place in range(matrix.shape[1])
    ]
    many = permutations_for(matrix.shape[1])
    compared = {}
    for a, b in combinations(range(matrix.shape[1]), 2):
        p = fixed.permutation_p_value(a, b, _FEWEST_PERMUTATIONS, scored.seed)
        if p < _WORTH_MORE and many > _FEWEST_PERMUTATIONS:
            p = fixed.permutation_p_value(a, b, many, scored.seed)
        test = williams(fixed.means[:, a + 1], fixed.means[:, b + 1], fixed.means[:, 0])
        compared[a, b] = (fixed.difference(a, b), p, test.p_value)
    table = _level("system", "systems", scored, measured, compared, len(fixed.means), "pearson")
    accuracies = pairwise_accuracies(fixed, seed=scored.seed, n_resamples=scored.resamples)
    pairs = dict(zip(scored.scores, accuracies, strict=True))
    return replace(table, rows=tuple(replace(row, pairs=pairs[row.metric]) for row in table.rows))


def within_context(scored: ScoredSet) -> tuple[WithinContext, ...]:
    """How often each metric orders two replies to one context as people do; best metric first."""
    part = scored.take(np.flatnonzero(scored.complete))
    contexts = part.judged.contexts
    if len(np.unique(contexts)) == len(contexts):
        return ()
    half = np.random.default_rng(scored.seed).permutation(contexts.max() + 1)[contexts] % 2 == 0
    rows = []
    for label in part.scores:
        column = part.oriented(label)
        plain = _agreement(scored, column, part.human, contexts)
        # The epsilon for each half of the contexts is fitted on the other half.
        halves = []
        for mine in (half, ~half):
            epsilon = calibrate_ties(column[~mine], part.human[~mine], contexts[~mine])
            epsilon = 0.0 if np.isnan(epsilon) else epsilon
            halves.append(_agreement(scored, column[mine], part.human[mine], contexts[mine], epsilon))
        rows.append(WithinContext(label, plain, _pooled([agreement for agreement in halves if agreement.n_pairs])))
    return tuple(sorted(rows, key=lambda row: -_rank_value(row.calibrated.estimate)))


def _agreement(scored: ScoredSet, column: Scores, human: Scores, contexts: Ints, epsilon: float = 0.0) -> PairAgreement:
    return pairwise_agreement(column, human, contexts, epsilon, n_resamples=scored.resamples, seed=scored.seed)


def _pooled(halves: list[PairAgreement]) -> Interval:
    """The accuracy over all contexts, from the accuracies over two independent halves."""
    weights = np.array([agreement.n_contexts for agreement in halves]) / sum(a.n_contexts for a in halves)
    estimate = float(weights @ [agreement.accuracy.estimate for agreement in halves])
    reach = float(np.hypot.reduce(weights * [agreement.accuracy.half_width for agreement in halves]))
    return Interval(estimate, estimate - reach, estimate + reach).within((0, 1))


def _level(
    level: str,
    unit: str,
    scored: ScoredSet,
    measured: list[dict[str, MeasuredCorrelation]],
    compared: ComparedMetrics,
    n: int,
    kind: str,
) -> LevelTable:
    labels = list(scored.scores)
    adjusted = holm([p for _, p, _ in compared.values()])
    matrix = np.full((len(labels), len(labels)), np.nan)
    contests = []
    for ((a, b), (difference, permutation, test)), p in zip(compared.items(), adjusted, strict=True):
        matrix[a, b] = matrix[b, a] = p
        contests.append(MetricContest(labels[a], labels[b], difference, permutation, test, float(p)))
    estimates = [each[kind].interval.estimate for each in measured]
    clusters = significance_clusters(estimates, matrix)
    judged = ~np.isnan(scored.human)
    rows = [
        MetricTrust(label, each, n, float(np.mean(~np.isnan(scored.scores[label][judged]))), int(cluster))
        for label, each, cluster in zip(labels, measured, clusters, strict=True)
    ]
    ranked = sorted(rows, key=lambda row: -_rank_value(row.measured[kind].interval.estimate))
    return LevelTable(level, unit, tuple(ranked), tuple(contests), kind)


def _rank_value(value: float) -> float:
    return -np.inf if np.isnan(value) else value


def to_dict(table: LevelTable) -> dict[str, Any]:
    """Plain values."""
    return {
        "level": table.level,
        "ranked_by": table.kind,
        "metrics": {
            row.metric: {
                **{
                    kind: {
                        "estimate": measured.interval.estimate,
                        "low": measured.interval.low,
                        "high": measured.interval.high,
                        "p": measured.p_value,
                    }
                    for kind, measured in row.measured.items()
                },
                "n": row.n,
                "coverage": row.coverage,
                "cluster": row.cluster,
                **(_pairs_dict(row.pairs) if row.pairs else {}),
            }
            for row in table.rows
        },
        "contests": [
            {
                "a": contest.a,
                "b": contest.b,
                "difference": contest.difference.estimate,
                "low": contest.difference.low,
                "high": contest.difference.high,
                "p_permutation": contest.p_permutation,
                "p_williams": contest.p_williams,
                "p_adjusted": contest.p_adjusted,
            }
            for contest in table.contests
        ],
    }


def _pairs_dict(pairs: SystemPairs) -> dict[str, Any]:
    return {
        "pairwise_accuracy": pairs.accuracy,
        "pairwise_accuracy_low": pairs.accuracy_interval.low,
        "pairwise_accuracy_high": pairs.accuracy_interval.high,
        "soft_pairwise_accuracy": pairs.soft_accuracy,
        "soft_pairwise_accuracy_low": pairs.soft_interval.low,
        "soft_pairwise_accuracy_high": pairs.soft_interval.high,
        "system_pairs": pairs.n_pairs,
    }


# How well the raters agree, and what correlation that lets a metric reach.


@dataclass(frozen=True, slots=True)
class HumanCeiling:
    """The agreement of the raters on one dimension; NaN where there are too few raters."""

    dimension: str
    raters: int
    """The largest number of ratings of one example."""
    alpha: float
    """Krippendorff's, interval scale."""
    split_half_pearson: float
    split_half_spearman: float
    """Correlation between the means of two random halves of the raters, as Liu et al. 2016 and D'Haro et al. 2019
    report it; averaged over random splits."""
    perfect: float
    """The Pearson correlation that a perfect metric would reach. The mean of k ratings is itself a sample, with the
    reliability k a / (1 + (k - 1) a), a being Krippendorff's alpha (Spearman and Brown 1910), and no correlation with
    it exceeds the root of that. Split halves would underestimate it for odd numbers of raters: the halves differ."""
    one_mean: float
    one_median: float
    one_maximum: float
    """Pearson of one rater with the mean of the others, as Tao et al. 2018 report it: mean, median and best rater, of
    those with 30 ratings or more."""
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    """95 % intervals, with contexts resampled, of `alpha`, `perfect`, `split_half_pearson` and `one_mean`."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def sentence(self) -> str:
        """The agreement in words."""
        if np.isnan(self.split_half_pearson):
            return f"{self.dimension}: one rating per example, so the agreement between raters is unknown."
        return (
            f"{self.dimension}: the two halves of the raters correlate at {self._with_bounds('split_half_pearson')} "
            f"(Pearson) and {self.split_half_spearman:.2f} (Spearman); one rater (a column of the data) with the "
            f"others at {self._with_bounds('one_mean')} (mean), {self.one_median:.2f} (median), "
            f"{self.one_maximum:.2f} (best); Krippendorff's alpha is {self._with_bounds('alpha', 3)}. "
            f"A perfect metric would reach about {self._with_bounds('perfect')} Pearson."
        )

    def _with_bounds(self, name: str, digits: int = 2) -> str:
        value = getattr(self, name)
        known = self.intervals.get(name, Interval(value, np.nan, np.nan))
        return interval_text(Interval(value, known.low, known.high), digits)


def human_ceiling(judged: JudgedSet, dimension: str, *, seed: int = 0) -> HumanCeiling:
    """The agreement of the raters of a dimension."""
    ratings = judged.ratings[dimension]
    several = (~np.isnan(ratings)).sum(axis=1) >= 2
    raters = ratings.shape[1]
    if raters < 2 or several.sum() < 3:
        nan = float("nan")
        return HumanCeiling(dimension, raters, nan, nan, nan, nan, nan, nan, nan)
    # Columns are positions in a list, not people, so each example's ratings are split on their own.
    halves = {
        kind: split_half(ratings[several], kind=kind, seed=seed, within_items=True).mean
        for kind in ("pearson", "spearman")
    }
    one = one_against_rest(ratings[several])
    alpha = krippendorff_alpha(ratings[several], level="interval")
    counts = (~np.isnan(ratings[several])).sum(axis=1)
    perfect = perfect_correlation(alpha, counts)
    return HumanCeiling(
        dimension,
        raters,
        alpha,
        halves["pearson"],
        halves["spearman"],
        perfect,
        one.mean,
        one.median,
        one.maximum,
        _intervals(ratings[several], judged.clusters[several], counts, seed),
    )


def outlier_note(rated: JudgedSet, cleaned: JudgedSet, dimension: str) -> str:
    """How many ratings were removed as outliers, and Krippendorff's alpha before and after."""
    before, after = rated.ratings[dimension], cleaned.ratings[dimension]
    counts = [int((~np.isnan(ratings)).sum()) for ratings in (before, after)]
    alphas = [_alpha(ratings) for ratings in (before, after)]
    return (
        f"{dimension}: {counts[0] - counts[1]} of {counts[0]} ratings were removed as outliers; Krippendorff's alpha "
        f"is {alphas[0]:.3f} with them and {alphas[1]:.3f} without, which is not the raters' reliability, because the "
        "ratings that remain were chosen for being alike"
    )


def _alpha(ratings: Ratings) -> float:
    """Krippendorff's alpha of the items with several ratings; NaN with fewer than three."""
    several = (~np.isnan(ratings)).sum(axis=1) >= 2
    return krippendorff_alpha(ratings[several], level="interval") if several.sum() >= 3 else float("nan")


def _intervals(ratings: Ratings, contexts: Ints, counts: Ints, seed: int) -> dict[str, Interval]:
    alpha = alpha_interval(ratings, groups=contexts, seed=seed)
    bounds = (perfect_correlation(value, counts) for value in (alpha.estimate, alpha.low, alpha.high))
    return {
        "alpha": alpha,
        "perfect": Interval(*bounds),
        "split_half_pearson": split_half_interval(ratings, contexts, seed=seed),
        "one_mean": one_against_rest_interval(ratings, contexts, seed=seed),
    }

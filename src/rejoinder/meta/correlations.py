"""How well metrics agree with people: over all replies, over systems, and within contexts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.meta.study import ScoredSet
from rejoinder.stats.bootstrap_correlation import bootstrap_correlations
from rejoinder.stats.compare_correlations import compare_correlations, williams
from rejoinder.stats.correlation import correlate
from rejoinder.stats.intervals import Floats, Interval, bootstrap_bounds
from rejoinder.stats.multiple import holm, significance_clusters
from rejoinder.stats.pairs import PairAgreement, calibrate_ties, pairwise_agreement
from rejoinder.stats.resampling import bootstrap_chunks
from rejoinder.stats.system_level import compare_system_correlations, system_means
from rejoinder.text.ragged import Ints
from rejoinder.types import Scores

KINDS = ("pearson", "spearman", "kendall")

_KENDALL_WORK = 2_000_000  # examples x resamples
_FEWEST_RESAMPLES = 200


@dataclass(frozen=True, slots=True)
class Measured:
    """A coefficient with its bootstrap interval and p-value."""

    interval: Interval
    p_value: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """One metric against people."""

    metric: str
    measured: Mapping[str, Measured]
    """pearson, spearman, kendall"""
    n: int
    coverage: float
    """Share of the examples that this metric could score."""
    cluster: int
    """1 for the best: metrics of one cluster cannot be told apart."""


@dataclass(frozen=True, slots=True)
class Contest:
    """Two metrics against each other: is B's correlation with people higher than A's?"""

    a: str
    b: str
    difference: Interval
    p_permutation: float
    p_williams: float
    p_adjusted: float
    """The permutation test's, Holm-corrected over all contests of the table."""


@dataclass(frozen=True, slots=True)
class LevelTable:
    """All metrics at one level, best first."""

    level: str
    unit: str
    rows: tuple[Agreement, ...]
    contests: tuple[Contest, ...]
    kind: str
    """The coefficient that ranks."""


@dataclass(frozen=True, slots=True)
class WithinContext:
    """One metric's choices between replies to the same context."""

    metric: str
    agreement: PairAgreement
    calibrated: PairAgreement
    """With scores counted as tied that lie closer than an epsilon fitted on the other half of the contexts."""


def utterance_level(scored: ScoredSet, kind: str = "spearman") -> LevelTable:
    """Correlation over single replies; intervals resample contexts, because replies to one are not independent."""
    rows = np.flatnonzero(scored.complete)
    part, contexts = scored.take(rows), scored.judged.contexts[rows]
    matrix = np.stack(list(part.scores.values()), axis=1)
    intervals = _intervals(matrix, part.human, contexts, scored)
    measured = [
        {k: Measured(intervals[k][place], correlate(column, part.human, k).p_value) for k in KINDS}
        for place, column in enumerate(matrix.T)
    ]
    compared = {}
    for a, b in combinations(range(matrix.shape[1]), 2):
        result = compare_correlations(
            matrix[:, a], matrix[:, b], part.human, contexts, kind=kind, n_resamples=scored.resamples, seed=scored.seed
        )
        test = williams(matrix[:, a], matrix[:, b], part.human, kind)
        compared[a, b] = (result.difference, result.p_value, test.p_value)
    return _level("utterance", "replies", scored, measured, compared, len(rows), kind)


def _intervals(matrix: Floats, human: Floats, contexts: Ints, scored: ScoredSet) -> dict[str, list[Interval]]:
    # Kendall's tau costs n log n a resample where the others cost n: large data get fewer resamples of it.
    fewer = min(scored.resamples, max(_FEWEST_RESAMPLES, _KENDALL_WORK // len(human)))
    both = bootstrap_correlations(
        matrix, human, contexts, n_resamples=scored.resamples, seed=scored.seed, kinds=("pearson", "spearman")
    )
    return both | bootstrap_correlations(
        matrix, human, contexts, n_resamples=fewer, seed=scored.seed, kinds=("kendall",)
    )


def system_level(scored: ScoredSet, kind: str = "pearson") -> LevelTable | None:
    """Correlation over the systems' mean scores; None with fewer than three systems.

    Intervals resample contexts and keep the systems: they say how far other contexts would have moved the figure,
    not what other systems would have shown. The p-value counts systems.
    """
    rows = np.flatnonzero(scored.complete)
    part = scored.take(rows)
    systems = part.judged.systems
    if len(np.unique(systems)) < 3:
        return None
    columns = np.stack([part.human, *part.scores.values()], axis=1)
    means = system_means(columns, systems)  # (systems, 1 + metrics)
    replicates = _system_replicates(columns, systems, part.judged.contexts, scored)
    contexts = len(np.unique(part.judged.contexts))
    measured = []
    for place in range(1, means.shape[1]):
        each = {}
        for k in KINDS:
            exact = correlate(means[:, place], means[:, 0], k)
            interval = bootstrap_bounds(replicates[k][:, place - 1], exact.coefficient, contexts, 0.95)
            each[k] = Measured(interval, exact.p_value)
        measured.append(each)
    compared = {}
    for a, b in combinations(range(1, columns.shape[1]), 2):
        result = compare_system_correlations(
            columns[:, a], columns[:, b], columns[:, 0], systems, part.judged.contexts, kind=kind, seed=scored.seed
        )
        test = williams(means[:, a], means[:, b], means[:, 0], kind)
        compared[a - 1, b - 1] = (result.difference, result.p_value, test.p_value)
    return _level("system", "systems", scored, measured, compared, len(means), kind)


def within_context(scored: ScoredSet) -> tuple[WithinContext, ...]:
    """How often each metric puts two replies to one context in the order that people do; best first."""
    part = scored.take(np.flatnonzero(scored.complete))
    contexts = part.judged.contexts
    if len(np.unique(contexts)) == len(contexts):
        return ()
    half = np.random.default_rng(scored.seed).permutation(contexts.max() + 1)[contexts] % 2 == 0
    rows = []
    for label, column in part.scores.items():
        plain = _agreement(scored, column, part.human, contexts)
        epsilon = calibrate_ties(column[half], part.human[half], contexts[half])
        other = (column[~half], part.human[~half], contexts[~half])
        calibrated = _agreement(scored, *other, epsilon=0.0 if np.isnan(epsilon) else epsilon)
        rows.append(WithinContext(label, plain, calibrated))
    return tuple(sorted(rows, key=lambda row: -_rank_value(row.calibrated.accuracy.estimate)))


def _agreement(scored: ScoredSet, column: Scores, human: Scores, contexts: Ints, epsilon: float = 0.0) -> PairAgreement:
    return pairwise_agreement(column, human, contexts, epsilon, n_resamples=scored.resamples, seed=scored.seed)


def _level(
    level: str,
    unit: str,
    scored: ScoredSet,
    measured: list[dict[str, Measured]],
    compared: dict[tuple[int, int], tuple[Interval, float, float]],
    n: int,
    kind: str,
) -> LevelTable:
    labels = list(scored.scores)
    adjusted = holm([p for _, p, _ in compared.values()])
    matrix = np.full((len(labels), len(labels)), np.nan)
    contests = []
    for ((a, b), (difference, permutation, test)), p in zip(compared.items(), adjusted, strict=True):
        matrix[a, b] = matrix[b, a] = p
        contests.append(Contest(labels[a], labels[b], difference, permutation, test, float(p)))
    estimates = [each[kind].interval.estimate for each in measured]
    clusters = significance_clusters(estimates, matrix)
    judged = ~np.isnan(scored.human)
    rows = [
        Agreement(label, each, n, float(np.mean(~np.isnan(scored.scores[label][judged]))), int(cluster))
        for label, each, cluster in zip(labels, measured, clusters, strict=True)
    ]
    ranked = sorted(rows, key=lambda row: -_rank_value(row.measured[kind].interval.estimate))
    return LevelTable(level, unit, tuple(ranked), tuple(contests), kind)


def _rank_value(value: float) -> float:
    return -np.inf if np.isnan(value) else value


def _system_replicates(
    columns: Floats, systems: NDArray[np.str_], contexts: Ints, scored: ScoredSet
) -> dict[str, Floats]:
    """Each metric's correlation over system means in each resample of contexts. kind -> (resamples, metrics)"""
    names, system_of = np.unique(systems, return_inverse=True)
    _, context_of = np.unique(contexts, return_inverse=True)
    n_contexts, width = int(context_of.max()) + 1, columns.shape[1]
    cell = context_of * len(names) + system_of
    sizes = np.bincount(cell, minlength=n_contexts * len(names)).reshape(n_contexts, -1).astype(np.float64)
    sums = [np.bincount(cell, weights=column, minlength=n_contexts * len(names)) for column in columns.T]
    table = np.stack(sums, axis=1).reshape(n_contexts, -1)  # (contexts, systems * columns)
    found: dict[str, list[Floats]] = {kind: [] for kind in KINDS}
    for counts in bootstrap_chunks(n_contexts, scored.resamples, scored.seed):
        totals = (counts @ table).reshape(len(counts), len(names), width)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = totals / (counts @ sizes)[:, :, None]
        for kind in KINDS:
            found[kind].append(_correlations(means[:, :, 1:], means[:, :, :1], kind))
    return {kind: np.concatenate(parts) for kind, parts in found.items()}


def _correlations(scores: Floats, human: Floats, kind: str) -> Floats:
    """Over the middle axis. (resamples, systems, metrics) and (resamples, systems, 1) -> (resamples, metrics)"""
    if kind == "kendall":
        left, right = np.triu_indices(scores.shape[1], 1)
        ours, theirs = np.sign(scores[:, left] - scores[:, right]), np.sign(human[:, left] - human[:, right])
        return _cosine(ours, theirs)
    if kind == "spearman":
        scores, human = _ranks(scores), _ranks(human)
    return _cosine(scores - scores.mean(axis=1, keepdims=True), human - human.mean(axis=1, keepdims=True))


def _cosine(left: Floats, right: Floats) -> Floats:
    below = np.sqrt((left**2).sum(axis=1) * (right**2).sum(axis=1))
    cosine: Floats = np.divide((left * right).sum(axis=1), below, out=np.full(below.shape, np.nan), where=below > 0)
    return cosine


def _ranks(values: Floats) -> Floats:
    """Mean ranks along the middle axis: systems are few, so each is simply compared with all others."""
    below = (values[:, :, None, :] > values[:, None, :, :]).sum(axis=2)
    equal = (values[:, :, None, :] == values[:, None, :, :]).sum(axis=2)
    ranks: Floats = below + equal / 2.0
    return ranks


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

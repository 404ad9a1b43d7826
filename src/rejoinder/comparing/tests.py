"""Two systems on one metric: the test, and the ranking of three or more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from rejoinder.arrays import Bools, Floats, Ints
from rejoinder.comparing.verdict import Verdict
from rejoinder.data.contexts import Grouping
from rejoinder.scoring.table import ScoreTable
from rejoinder.show.text import counted, number_text
from rejoinder.stats.means import MeanComparison, compare_paired, compare_unpaired
from rejoinder.stats.resampling import significance_clusters
from rejoinder.types import Scores

# The test of two systems on one metric: on the contexts that both answered, or unpaired on all replies.
#
# Every reply counts equally, as in `score`: a context with several replies weighs as much as they do.


@dataclass(frozen=True)
class PairTests:
    """The tests of all pairs of systems of one table."""

    table: ScoreTable
    most_permutations: int
    first_permutations: int

    @property
    def grouping(self) -> Grouping:
        """The contexts and clusters of the replies; without any, each reply is its own."""
        alone = np.arange(len(self.table))
        return self.table.grouping or Grouping(alone, alone)

    def test(self, label: str, a: str, b: str, confidence: float = 0.95) -> MeanComparison:
        """How two systems compare on one metric."""
        scores, rows_a, rows_b = self.table[label], self.table.rows_of(a), self.table.rows_of(b)
        settings: Mapping[str, Any] = {
            "limits": self.table.limits(label),
            "n_permutations": self.first_permutations,
            "most_permutations": self.most_permutations,
            "confidence": confidence,
            "seed": self.table.seed,
        }
        shared = self.shared(a, b)
        contexts, clusters = self.grouping.contexts, self.grouping.clusters
        if shared is None:
            return compare_unpaired(scores[rows_a], scores[rows_b], clusters[rows_a], clusters[rows_b], **settings)
        weights = np.empty((len(shared), 2))
        first, weights[:, 0] = means_by_context(scores[rows_a], contexts[rows_a], shared)
        second, weights[:, 1] = means_by_context(scores[rows_b], contexts[rows_b], shared)
        return compare_paired(first, second, self._cluster_of_context[shared], weights=weights, **settings)

    def shared(self, a: str, b: str) -> Ints | None:
        """The contexts that two systems are compared on; None where they have too few in common."""
        of_a, of_b = self.answered(a), self.answered(b)
        shared = np.flatnonzero(of_a & of_b)
        return None if len(shared) < max(2, min(of_a.sum(), of_b.sum()) / 2) else shared

    def answered(self, system: str) -> Bools:
        """Whether a system has a reply to each context. (contexts,)"""
        found = np.zeros(self.grouping.n_contexts, np.bool_)
        found[self.grouping.contexts[self.table.rows_of(system)]] = True
        return found

    @property
    def _cluster_of_context(self) -> Ints:
        found = np.zeros(self.grouping.n_contexts, np.int64)
        found[self.grouping.contexts] = self.grouping.clusters
        return found

    def coverage(self, a: str, b: str) -> tuple[str, ...]:
        """What of two systems' replies is compared, and how they are paired; nothing where all are, by context."""
        shared, grouping = self.shared(a, b), self.grouping
        if shared is None:
            return (f"{a} and {b} are compared unpaired, on all their replies: {self._not_paired(a, b)}",)
        both, systems = self.answered(a) & self.answered(b), f"{a} and {b}"
        units, told = counted(len(shared), grouping.paired_by), []
        if grouping.paired_by in ("turn", "dialogue"):
            different = int(grouping.differ[shared].sum())
            dialogues = counted(len(np.unique(self._cluster_of_context[shared])), "dialogue")
            by_turn = grouping.paired_by == "turn"
            how, what = (", turn k with turn k", f"{units} of {dialogues}") if by_turn else ("", units)
            histories = f"{different:,} of them after different histories"
            told.append(f"{systems} are paired by dialogue{how}: {what}, {histories}")
        rows = np.concatenate([self.table.rows_of(a), self.table.rows_of(b)])
        alone = int((~both[grouping.contexts[rows]]).sum())
        if alone:
            verb = "have scores for" if grouping.paired_by == "item" else "answered"
            found = grouping.openings.get((a, b))
            why = f" ({found.reason})" if found is not None and found.reason else ""
            left_out = f"{alone:,} of {len(rows):,} replies are not compared"
            told.append(f"{left_out}: {systems} are compared on the {units} that both {verb}{why}")
        return tuple(told)

    def _not_paired(self, a: str, b: str) -> str:
        """Why two systems are compared unpaired, as a clause."""
        of_a, of_b = self.answered(a), self.answered(b)
        n_common, unit = int((of_a & of_b).sum()), self.grouping.paired_by
        if n_common:
            why = f"both answered only {counted(n_common, unit)} ({a} {of_a.sum():,}, {b} {of_b.sum():,})"
        else:
            why = f"they answered different {unit}s"
        found = self.grouping.openings.get((a, b))
        return f"{why}, and {found.reason}" if found is not None and found.reason else why


def means_by_context(scores: Scores, contexts: Ints, wanted: Ints) -> tuple[Scores, Floats]:
    """The mean score of the replies to each wanted context (NaN: none could be scored), and how many were scored."""
    known = ~np.isnan(scores)
    if not known.all():
        scores, contexts = scores[known], contexts[known]
    size = int(wanted.max(initial=-1)) + 1
    total = np.bincount(contexts, weights=scores, minlength=size)[wanted]
    count = np.bincount(contexts, minlength=size)[wanted].astype(np.float64)
    means: Scores = np.divide(total, count, out=np.full(len(wanted), np.nan), where=count > 0)
    return means, count


# Systems ranked by one metric, and grouped into clusters without significant differences.


class Pairwise(Protocol):
    """A comparison of two systems by one metric, with a corrected p-value."""

    @property
    def a(self) -> str:
        """The first system."""

    @property
    def b(self) -> str:
        """The second system."""

    @property
    def difference(self) -> float:
        """The second's mean minus the first's, over the replies that the p-value is based on."""

    @property
    def p_adjusted(self) -> float:
        """Corrected for the number of comparisons."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """One system's place by one metric."""

    system: str
    mean: float
    cluster: int
    """1 for the best. No two systems of one cluster differ significantly. Systems of different clusters may not differ
    significantly either: only the first of a cluster is significantly worse than some system of the cluster before."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """All systems by one metric, best first."""

    metric: str
    places: tuple[Ranked, ...]

    def sentence(self) -> str:
        """'meteor: good (0.31) | garbled (0.28), generic (0.11)': a bar where a new cluster begins."""
        parts = []
        for place, ranked in enumerate(self.places):
            if place:
                parts.append(" | " if ranked.cluster != self.places[place - 1].cluster else ", ")
            parts.append(f"{ranked.system} ({number_text(ranked.mean)})")
        return f"{self.metric}: {''.join(parts)}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        places = [
            {"system": p.system, "mean": None if np.isnan(p.mean) else p.mean, "cluster": p.cluster}
            for p in self.places
        ]
        return {"metric": self.metric, "ranking": places}


def ranking(
    metric: str, means: Sequence[tuple[str, float]], pairs: Sequence[Pairwise], *, higher_is_better: bool
) -> Ranking:
    """Systems sorted by mean; a new cluster begins where one is significantly worse than any of the current one.

    A pair whose difference contradicts the order of the means starts no cluster: its p-value is based on other replies.
    """
    place = {system: row for row, (system, _) in enumerate(means)}
    p_values = np.full((len(means), len(means)), np.nan)
    for pair in pairs:
        a, b = place[pair.a], place[pair.b]
        p_values[a, b] = p_values[b, a] = pair.p_adjusted if follows_means(pair, means[a][1], means[b][1]) else 1.0
    estimates = np.array([mean if higher_is_better else -mean for _, mean in means])
    clusters = significance_clusters(estimates, p_values)
    order = np.argsort(-np.nan_to_num(estimates, nan=-np.inf), kind="stable")
    return Ranking(metric, tuple(Ranked(means[row][0], means[row][1], int(clusters[row])) for row in order.tolist()))


def follows_means(pair: Pairwise, mean_a: float, mean_b: float) -> bool:
    """Whether the pair's difference has the sign of the difference of the means."""
    return bool(np.sign(pair.difference) == np.sign(mean_b - mean_a))


def ranked_systems(tests: PairTests, verdicts: Sequence[Verdict]) -> Iterator[tuple[str, Ranking | None]]:
    """The ranking of three or more systems by each metric that says which is better; None where there is none.

    A metric that cannot judge the replies of some system ranks none.
    """
    if len(tests.table.system_names) < 3:
        return
    for label in tests.table.metrics:
        pairs = [verdict for verdict in verdicts if verdict.metric == label]
        better = pairs[0].higher_is_better
        if better is None:
            continue
        means = None if tests.table.doubt(label) else _ranked_means(tests, label, pairs)
        contradicted = means is not None and any(
            pair.significant and not follows_means(pair, means[pair.a], means[pair.b]) for pair in pairs
        )
        if means is None or contradicted:
            yield label, None
        else:
            yield label, ranking(label, list(means.items()), pairs, higher_is_better=better)


def _ranked_means(tests: PairTests, label: str, pairs: Sequence[Verdict]) -> dict[str, float] | None:
    """Each system's mean over the contexts that were compared; None where the pairs have too few contexts in common.

    Unpaired comparisons use all replies, paired ones the contexts that two systems share. A ranking uses the contexts
    that all systems share, which must be at least half of those that any two share.
    """
    table, contexts = tests.table, tests.grouping.contexts
    scores, rows = table[label], {system: table.rows_of(system) for system in table.system_names}
    if not any(pair.result.paired for pair in pairs):
        return {system: _mean(scores[of], np.ones(len(of))) for system, of in rows.items()}
    if not all(pair.result.paired for pair in pairs):
        return None
    shared = np.flatnonzero(np.logical_and.reduce([tests.answered(system) for system in table.system_names]))
    if not shared.size:
        return None
    found = [means_by_context(scores[of], contexts[of], shared) for of in rows.values()]
    means, sizes = (np.stack(columns) for columns in zip(*found, strict=True))
    scored = ~np.isnan(means).all(axis=1)  # a system without any score must not exclude every context
    complete = ~np.isnan(means[scored]).any(axis=0)
    if complete.sum() < max(2, max(pair.n for pair in pairs) / 2):
        return None
    return {system: _mean(means[at][complete], sizes[at][complete]) for at, system in enumerate(rows)}


def _mean(scores: Scores, weights: Floats) -> float:
    known = ~np.isnan(scores)
    return float(np.average(scores[known], weights=weights[known])) if known.any() else float("nan")

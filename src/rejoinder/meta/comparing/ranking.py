"""Systems ranked by one metric, and grouped into clusters without significant differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from rejoinder.arrays import Floats
from rejoinder.meta.comparing.pair_tests import PairTests, means_by_context
from rejoinder.meta.comparing.verdict import Verdict
from rejoinder.stats.multiple import significance_clusters
from rejoinder.text.grid import number
from rejoinder.types import Scores


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
            parts.append(f"{ranked.system} ({number(ranked.mean)})")
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
        p_values[a, b] = p_values[b, a] = pair.p_adjusted if in_order(pair, means[a][1], means[b][1]) else 1.0
    estimates = np.array([mean if higher_is_better else -mean for _, mean in means])
    clusters = significance_clusters(estimates, p_values)
    order = np.argsort(-np.nan_to_num(estimates, nan=-np.inf), kind="stable")
    return Ranking(metric, tuple(Ranked(means[row][0], means[row][1], int(clusters[row])) for row in order.tolist()))


def in_order(pair: Pairwise, mean_a: float, mean_b: float) -> bool:
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
            pair.significant and not in_order(pair, means[pair.a], means[pair.b]) for pair in pairs
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

"""The test of two systems on one metric: on the contexts that both answered, or unpaired on all replies.

Every reply counts equally, as in `score`: a context with several replies weighs as much as they do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rejoinder.arrays import Bools, Floats, Ints
from rejoinder.scoring.grouping import Grouping
from rejoinder.scoring.table import ScoreTable
from rejoinder.stats.compare_means import MeanComparison, compare_paired, compare_unpaired
from rejoinder.stats.formatting import counted
from rejoinder.types import Scores


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

    def note(self, a: str, b: str) -> str:
        """What a reader should know about how two systems were paired; "" where there is nothing to say."""
        shared, of_a, of_b = self.shared(a, b), self.answered(a), self.answered(b)
        if shared is not None:
            contexts, common = self.grouping.contexts, of_a & of_b
            alone = sum(int((~common[contexts[self.table.rows_of(system)]]).sum()) for system in (a, b))
            left_out = f"are compared on the {len(shared)} contexts that both answered; {alone} other replies are"
            return f"{a} and {b} {left_out} left out" if alone else ""
        n_common = int((of_a & of_b).sum())
        if not n_common:
            return f"{a} and {b} answered different contexts, so their means are compared unpaired"
        both = f"{a} and {b} both answered only {counted(n_common, 'context')} ({a} {of_a.sum()}, {b} {of_b.sum()})"
        return f"{both}, so their means over all replies are compared unpaired"


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

"""Distinct-n: the share of distinct n-grams (Li et al. 2016)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from rejoinder.arrays import Ints
from rejoinder.errors import CallError, shortened
from rejoinder.metrics.base import State, TextMetric
from rejoinder.metrics.batch import Batch
from rejoinder.metrics.ngram_hashes import FrequencyCounter, ngram_hashes, reply_counts
from rejoinder.types import Scores


@dataclass(frozen=True, kw_only=True)
class Distinct(TextMetric):
    """Share of distinct n-grams: within each reply for its score, over all replies of a system for the corpus score.

    A reply too short for an n-gram cannot be scored and is NaN; an empty reply scores 0.
    """

    name: ClassVar[str] = "distinct"
    measures: ClassVar[str] = "share of distinct n-grams: low if replies repeat themselves or each other"
    citation: ClassVar[str] = "Li et al. 2016"
    cannot_score: ClassVar[str] = "too short for an n-gram"

    n: int = 2

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        if not 1 <= self.n <= 9:
            raise CallError(f"distinct: n must be from 1 to 9, not {shortened(self.n)}")

    def score_batch(self, batch: Batch) -> Scores:
        """Distinct n-grams / n-grams, within each reply."""
        tokens = batch.tokens(self.text)
        total = np.maximum(tokens.responses.lengths - self.n + 1, 0)
        counts = reply_counts(batch, self.text, self.n)[self.n - 1]
        # An n-gram that occurs c times counts 1 / c at each of its positions: once in total.
        distinct = np.rint(np.bincount(np.repeat(np.arange(len(batch)), total), 1 / counts, len(batch)))
        scores: Scores = np.divide(distinct, total, out=np.full(len(batch), np.nan), where=total > 0)
        scores[batch.blank] = 0.0
        return scores

    def counter(self) -> DistinctCounter:
        """Distinct-n over all replies of a system, as published."""
        return DistinctCounter(self)


@dataclass
class DistinctCounter:
    """Collects the distinct n-grams of all replies, as 64-bit hashes."""

    metric: Distinct
    seen: FrequencyCounter = field(default_factory=FrequencyCounter)
    total: int = 0

    def add(self, batch: Batch, rows: Ints) -> None:
        """Add the given rows of a batch."""
        tokens = batch.tokens(self.metric.text)
        *_, (hashes, _) = ngram_hashes(tokens, tokens.responses.take(rows), self.metric.n)
        self.total += len(hashes)
        self.seen.add(hashes)

    def state(self) -> State:
        """The distinct n-grams, and the number of all."""
        return {"hashes": self.seen.table().hashes, "total": np.array(self.total)}

    def merge(self, state: State) -> None:
        """Add the n-grams of another part of the corpus."""
        self.seen.add(state["hashes"])
        self.total += int(state["total"])

    def value(self) -> float:
        """Distinct n-grams / n-grams; NaN if no reply had one."""
        return len(self.seen.table()) / self.total if self.total else float("nan")

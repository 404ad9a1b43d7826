"""The scores that the sections of the RUBER page share, and how two of them are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from papers.inputs import MINILM, Inputs
from papers.judged.agreement import Agreement, agreement
from papers.ruber.models import (
    ENCODERS,
    OTHER,
    PRETRAINED,
    Columns,
    Models,
    Replies,
    by_split,
    grouped,
    untuned,
)
from rejoinder.arrays import Bools
from rejoinder.errors import UnknownNameError
from rejoinder.options import RESAMPLES
from rejoinder.stats.correlation import correlate
from rejoinder.stats.correlation_tests import CorrelationComparison, compare_correlations
from rejoinder.types import Scores

QUANTILES = 5


@dataclass(frozen=True, eq=False)
class Study:
    """Every model's scores of the judged replies, computed when they are first asked for."""

    models: Models
    encoders: tuple[str, ...]
    """The encoders that are measured; comparisons are with the first."""
    resamples: int = RESAMPLES

    @property
    def replies(self) -> dict[str, Replies]:
        """Corpus -> its judged replies."""
        return self.models.replies

    @cached_property
    def measured(self) -> dict[tuple[str, str], tuple[Columns, Columns]]:
        """Corpus and encoder -> scores of all replies, and those tuned on the published split, of a model of it."""
        found = {}
        for corpus, replies in self.replies.items():
            for encoder in self.encoders:
                model = self.models.model(corpus, encoder)
                columns = self.untuned(corpus, corpus, encoder)
                found[corpus, encoder] = (columns | grouped(model, replies), columns | by_split(model, replies))
        return found

    def untuned(self, trained_on: str, corpus: str, encoder: str) -> Columns:
        """The scores of a corpus's replies by a model of this or another corpus, without labels."""
        if (trained_on, corpus, encoder) not in self._untuned:
            model = self.models.model(trained_on, encoder)
            self._untuned[trained_on, corpus, encoder] = untuned(model, self.replies[corpus])
        return self._untuned[trained_on, corpus, encoder]

    @cached_property
    def _untuned(self) -> dict[tuple[str, str, str], Columns]:
        return {}

    def column(self, corpus: str, encoder: str, score: str) -> Scores:
        """One column over all replies."""
        return self.measured[corpus, encoder][0][score]

    def r(self, corpus: str, encoder: str, score: str) -> float:
        """Pearson over all replies of a set."""
        return correlate(self.column(corpus, encoder, score), self.replies[corpus].human).coefficient

    def compared(self, corpus: str, first: tuple[str, str], second: tuple[str, str]) -> CorrelationComparison:
        """The second of two columns, (encoder, score), against the first, over all replies of a set."""
        lower, higher = (self.column(corpus, *which) for which in (first, second))
        return self.compared_on(corpus, lower, higher)

    def compared_on(self, corpus: str, lower: Scores, higher: Scores) -> CorrelationComparison:
        """The second of two columns against the first, over all replies of a set."""
        replies = self.replies[corpus]
        contexts, count = replies.judged.contexts, self.resamples
        return compare_correlations(lower, higher, replies.human, contexts, n_resamples=count, n_permutations=count)

    def transferred(self, corpus: str, encoder: str, score: str) -> Scores:
        """The scores of a corpus's replies by the model of the other corpus, without labels."""
        return self.untuned(OTHER[corpus], corpus, encoder)[score]

    def agreement(self, column: Scores, replies: Replies, rows: Bools | None = None) -> Agreement:
        """The correlations with people over all replies of a set, or some of them."""
        return self._agreement(column, replies.human, replies, rows)

    def agreement_on_test(self, column: Scores, replies: Replies) -> Agreement:
        """The same on the published test split, without ratings far from the median of their reply."""
        return self._agreement(column, replies.cleaned, replies, replies.test)

    def _agreement(self, column: Scores, human: Scores, replies: Replies, rows: Bools | None) -> Agreement:
        used = np.ones(len(column), np.bool_) if rows is None else rows
        return agreement(column[used], human[used], replies.judged.contexts[used], self.resamples)

    def quantiles(self, corpus: str, encoder: str) -> list[float]:
        """The mean s_U in each fifth of the ratings, lowest first."""
        order = np.argsort(self.replies[corpus].human, kind="stable")
        column = self.column(corpus, encoder, "s_U")
        return [float(np.nanmean(column[part])) for part in np.array_split(order, QUANTILES)]


def check_encoders(inputs: Inputs, encoders: Sequence[str]) -> None:
    """Raise an UnknownNameError for an encoder that no RUBER has, and a CallError if a pretrained one is missing."""
    for encoder in encoders:
        if encoder not in ENCODERS:
            raise UnknownNameError("encoder", encoder, ENCODERS)
    if PRETRAINED in encoders:
        inputs.model(MINILM)

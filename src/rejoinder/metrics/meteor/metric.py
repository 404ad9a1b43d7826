"""METEOR as a metric of the package."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import ClassVar

import numpy as np

from rejoinder.arrays import Ints
from rejoinder.errors import CallError, shortened
from rejoinder.metrics.base import State, TextMetric, best_reference, check_choice, settle_empty
from rejoinder.metrics.batch import Batch
from rejoinder.metrics.meteor.parameters import TASKS, MeteorParameters
from rejoinder.metrics.meteor.paraphrase import ParaphraseTable
from rejoinder.metrics.meteor.scoring import (
    Statistics,
    best_statistics,
    corpus_statistics,
    reference_statistics,
    score_from_statistics,
)
from rejoinder.types import Scores


@cache
def _paraphrases(path: str) -> ParaphraseTable:
    return ParaphraseTable.read(Path(path))


@dataclass(frozen=True, kw_only=True)
class Meteor(TextMetric):
    """METEOR 1.5 for English: words match as they are, by stem, as WordNet synonyms and, given a table, as paraphrases.

    `task` selects one of METEOR's sets of parameters (rank, adq, hter, li). `paraphrases` is the path of a table in
    METEOR's format; none comes with the package. In other languages only equal words match, and function words are
    still the English ones.
    """

    name: ClassVar[str] = "meteor"
    measures: ClassVar[str] = "words shared with the references, also by stem and as synonyms, and their order"
    citation: ClassVar[str] = "Denkowski & Lavie 2014"
    needs: ClassVar[frozenset[str]] = frozenset({"references"})
    cannot_score: ClassVar[str] = "no references, or no token to compare"

    task: str = "rank"
    stems: bool = True
    synonyms: bool = True
    paraphrases: str | None = None
    refs: str = "max"

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_choice(self, "task", tuple(TASKS))
        check_choice(self, "refs", ("max", "mean"))
        if self.paraphrases is not None and not Path(self.paraphrases).is_file():
            raise CallError(f"meteor: no paraphrase table at {shortened(self.paraphrases)}")

    @property
    def settings(self) -> MeteorParameters:
        """The parameters of the task, with this metric's modules."""
        return replace(TASKS[self.task], use_stems=self.stems, use_synonyms=self.synonyms)

    def score_batch(self, batch: Batch) -> Scores:
        """The score of the best reference, or with refs=mean the mean over the references."""
        scores = best_reference(score_from_statistics(self.statistics(batch), self.settings), batch, self.refs)
        return settle_empty(scores, batch, batch.tokens(self.text))

    def statistics(self, batch: Batch) -> Statistics:
        """The statistics that METEOR's score is computed from, one row per reference."""

        def align() -> Statistics:
            tokens = batch.tokens(self.text)
            words = tokens.vocabulary.to_list()
            return reference_statistics(
                words, tokens.responses, tokens.references, batch.owner, self.settings, self._table()
            )

        return batch.keep(self, align)

    def counter(self) -> MeteorCounter | None:
        """Corpus-level METEOR: statistics are summed before the score is taken; with refs=mean it is the mean score."""
        return MeteorCounter(self) if self.refs == "max" else None

    def watcher(self) -> LongTextCounter:
        """Counts replies that were too long to be compared as a whole."""
        return LongTextCounter(self)

    def _table(self) -> ParaphraseTable | None:
        return _paraphrases(self.paraphrases) if self.paraphrases is not None else None


@dataclass
class LongTextCounter:
    """Counts replies of which, or of whose references, only the beginning was compared."""

    metric: Meteor
    count: int = 0

    def add(self, batch: Batch) -> None:
        """Take a batch into account."""
        tokens, compared = batch.tokens(self.metric.text), self.metric.statistics(batch)[:, :2]
        lengths = np.column_stack([tokens.responses.lengths[batch.owner], tokens.references.lengths])
        self.count += len(np.unique(batch.owner[(compared < lengths).any(axis=1)]))

    def state(self) -> State:
        """The number of replies."""
        return {"count": np.array(self.count)}

    def merge(self, state: State) -> None:
        """Add the replies of another part of the corpus."""
        self.count += int(state["count"])

    def notes(self) -> list[str]:
        """What a reader should know about all that was added."""
        if not self.count:
            return []
        replies = "1 reply" if self.count == 1 else f"{self.count:,} replies"
        return [f"{replies} or their references were too long: only the beginnings were compared"]


@dataclass
class MeteorCounter:
    """Sums the statistics for corpus-level METEOR."""

    metric: Meteor
    total: Statistics = field(default_factory=lambda: np.zeros(0))

    def add(self, batch: Batch, rows: Ints) -> None:
        """Add the given rows of a batch; those without references are left out."""
        each = self.metric.statistics(batch)
        best = best_statistics(each, batch.owner, len(batch), self.metric.settings)[rows]
        if batch.reference_counts[rows].any():
            some = corpus_statistics(best)
            self.total = some if not len(self.total) else self.total + some

    def state(self) -> State:
        """The sums of the statistics, which are whole numbers; empty if nothing was added."""
        return {"total": self.total}

    def merge(self, state: State) -> None:
        """Add the sums of another part of the corpus."""
        if len(state["total"]):
            self.total = state["total"] if not len(self.total) else self.total + state["total"]

    def value(self) -> float:
        """Corpus METEOR; NaN if nothing was added."""
        if not len(self.total):
            return float("nan")
        return float(score_from_statistics(self.total[np.newaxis], self.metric.settings)[0])

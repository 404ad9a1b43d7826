"""METEOR as a metric of the package."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import ClassVar

import numpy as np

from rejoinder.arrays import Ints
from rejoinder.errors import CallError
from rejoinder.metrics.base import TextMetric, best_reference, check_choice, settle_empty
from rejoinder.metrics.batch import Batch
from rejoinder.metrics.meteor.parameters import TASKS, MeteorParameters
from rejoinder.metrics.meteor.paraphrase import ParaphraseTable
from rejoinder.metrics.meteor.scoring import (
    Statistics,
    corpus_statistics,
    meteor_statistics,
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

    `task` chooses METEOR's own parameters (rank, adq, hter, li). `paraphrases` is the path of a table in METEOR's
    format; none comes with the package. In other languages only equal words match, with English function words.
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
            raise CallError(f"meteor: no paraphrase table at {self.paraphrases!r}")

    @property
    def settings(self) -> MeteorParameters:
        """METEOR's parameters."""
        return replace(TASKS[self.task], use_stems=self.stems, use_synonyms=self.synonyms)

    def score_batch(self, batch: Batch) -> Scores:
        """The score of the best reference."""
        tokens = batch.tokens(self.text)
        if self.refs == "max":
            return settle_empty(score_from_statistics(self.statistics(batch), self.settings), batch, tokens)
        words = tokens.vocabulary.to_list()
        each = reference_statistics(
            words, tokens.responses, tokens.references, batch.owner, self.settings, self._table()
        )
        return settle_empty(best_reference(score_from_statistics(each, self.settings), batch, "mean"), batch, tokens)

    def statistics(self, batch: Batch) -> Statistics:
        """What METEOR's score is made of, an example a row; NaN without references."""

        def align() -> Statistics:
            tokens = batch.tokens(self.text)
            words = tokens.vocabulary.to_list()
            return meteor_statistics(
                words, tokens.responses, tokens.references, batch.owner, self.settings, self._table()
            )

        return batch.keep(self, align)

    def counter(self) -> MeteorCounter | None:
        """METEOR of a corpus: statistics are added up before the score is taken; with refs=mean it is the mean."""
        return MeteorCounter(self) if self.refs == "max" else None

    def _table(self) -> ParaphraseTable | None:
        return _paraphrases(self.paraphrases) if self.paraphrases is not None else None


@dataclass
class MeteorCounter:
    """Adds up the statistics of corpus-level METEOR."""

    metric: Meteor
    total: Statistics = field(default_factory=lambda: np.zeros(0))

    def add(self, batch: Batch, rows: Ints) -> None:
        """Take the given rows of a batch into account; those without references are left out."""
        rows = rows[batch.reference_counts[rows] > 0]
        if len(rows):
            some = corpus_statistics(self.metric.statistics(batch)[rows])
            self.total = some if not len(self.total) else self.total + some

    def value(self) -> float:
        """Corpus METEOR; NaN when nothing was added."""
        if not len(self.total):
            return float("nan")
        return float(score_from_statistics(self.total[np.newaxis], self.metric.settings)[0])

"""Repetition and specificity: the two complaints that people have of dull chatbots, that they say things twice and
that they say what fits anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rejoinder.errors import CallError
from rejoinder.metrics.base import TextMetric, check_choice
from rejoinder.metrics.batch import Batch, encode
from rejoinder.metrics.embedding import shared_vectors
from rejoinder.metrics.ngrams import LONGEST_IN_TABLE, chunks_by_length, equal_ngrams, occurrences_before, padded
from rejoinder.text.ragged import Ints, Ragged
from rejoinder.text.vectors import SHIPPED
from rejoinder.types import Scores


@dataclass(frozen=True, kw_only=True)
class Repetition(TextMetric):
    """Share of the reply's n-grams that were said before: earlier in the reply, or in its context.

    `of` looks at the `reply` alone, at the `context` alone (an echo), or at `both`. Lower is better. A reply too short
    to hold an n-gram repeats nothing.
    """

    name: ClassVar[str] = "repetition"
    measures: ClassVar[str] = "share of n-grams said before, in the reply or its context; lower is better"
    citation: ClassVar[str] = "See et al. 2019"
    higher_is_better: ClassVar[bool] = False

    n: int = 2
    of: str = "both"

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_choice(self, "of", ("reply", "context", "both"))
        if not 1 <= self.n <= 9:
            raise CallError(f"repetition: n must be from 1 to 9, not {self.n}")

    def score_batch(self, batch: Batch) -> Scores:
        """Repeated n-grams / n-grams."""
        contexts, replies = batch.keep(("context and reply", self.text), lambda: self._encoded(batch))
        repeated = np.zeros(len(batch))
        longest = np.maximum(contexts.lengths, replies.lengths)
        # A context may be long: only its end is looked at, which no table is too small for.
        for chunk in chunks_by_length(longest, np.arange(len(batch))):
            repeated[chunk] = self._chunk(contexts, replies, chunk)
        total = np.maximum(replies.lengths - self.n + 1, 0)
        return repeated / np.maximum(total, 1)

    def _encoded(self, batch: Batch) -> tuple[Ragged, Ragged]:
        joined = pl.Series([" ".join(example.context) for example in batch.examples], dtype=pl.String)
        _, rows = encode(pl.concat([joined, batch.responses]), self.text)
        contexts, replies = np.arange(len(batch)), len(batch) + np.arange(len(batch))
        return _last(rows.take(contexts), LONGEST_IN_TABLE), _last(rows.take(replies), LONGEST_IN_TABLE)

    def _chunk(self, contexts: Ragged, replies: Ragged, chunk: Ints) -> Ints:
        reply = padded(replies, chunk, -1)
        if len(reply) < self.n:
            return np.zeros(len(chunk), np.int64)
        before = np.zeros((len(reply) - self.n + 1, len(chunk)), np.bool_)
        if self.of != "context":
            # Fillers are equal to one another, but no n-gram that counts begins where one would have to end on them.
            before |= occurrences_before(reply, self.n)[-1] > 0
        context = padded(contexts, chunk, -2)
        if self.of != "reply" and len(context) >= self.n:
            *_, shared = equal_ngrams(reply, context, self.n)
            before |= shared.any(axis=1)
        inside = np.arange(len(before))[:, None] <= replies.lengths[chunk] - self.n
        repeated: Ints = (before & inside).sum(axis=0)
        return repeated


@dataclass(frozen=True, kw_only=True)
class Specificity(TextMetric):
    """How rare the reply's words are in conversation: 0 for the commonest word, 1 for one not among the known ones.

    The mean over words (tokens with a letter) of log(rank) / log(number of known words), with ranks by frequency in
    the dialogue corpora that the shipped word vectors were trained on: generic replies score low. NaN where no word
    is known, as in another language.
    """

    name: ClassVar[str] = "specificity"
    measures: ClassVar[str] = "how rare the reply's words are in conversation: generic replies score low"
    citation: ClassVar[str] = "after NIDF in See et al. 2019"
    cannot_score: ClassVar[str] = "no word that it knows"

    def score_batch(self, batch: Batch) -> Scores:
        """The mean rarity of the words."""
        tokens = batch.tokens(self.text)
        rarity, known, word = _rarity(tokens.vocabulary)
        codes, row = tokens.responses.values, tokens.responses.row_of_value
        words = np.bincount(row, weights=word[codes], minlength=len(batch))
        total = np.bincount(row, weights=rarity[codes] * word[codes], minlength=len(batch))
        some = np.bincount(row, weights=known[codes], minlength=len(batch)) > 0
        scores: Scores = np.divide(total, words, out=np.full(len(batch), np.nan), where=(words > 0) & some)
        scores[tokens.responses.lengths == 0] = 0.0
        return scores


def _rarity(vocabulary: pl.Series) -> tuple[Scores, NDArray[np.bool_], NDArray[np.bool_]]:
    """For each token: its rarity, whether it is known, whether it is a word."""
    vectors = shared_vectors(SHIPPED)
    rank = vectors.lookup(vocabulary.to_list())
    word = vocabulary.str.contains(r"\p{L}").to_numpy()
    rarity = np.where(rank >= 0, np.log1p(np.maximum(rank, 0)) / np.log1p(len(vectors.matrix)), 1.0)
    return rarity, (rank >= 0) & word, word


def _last(rows: Ragged, most: int) -> Ragged:
    """The same rows, each cut to its last `most` values."""
    if int(rows.lengths.max(initial=0)) <= most:
        return rows
    return Ragged.of([row[-most:].tolist() for row in rows])

"""Distinct-n, repetition and specificity: how varied replies are, and how much they say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rejoinder.arrays import Ints, Ragged
from rejoinder.errors import CallError, shortened
from rejoinder.metrics.base import State, TextMetric, check_choice
from rejoinder.metrics.batch import Batch, encode
from rejoinder.metrics.embedding import shared_vectors, vector_rows
from rejoinder.metrics.hashes import FrequencyCounter, ngram_hashes, reply_counts
from rejoinder.metrics.ngrams import (
    LONGEST_IN_TABLE,
    chunks_by_length,
    narrowed,
    ngrams,
    occurrences,
    occurrences_before,
    padded_columns,
)
from rejoinder.text.tokens import coded
from rejoinder.text.vectors import SHIPPED_VECTORS
from rejoinder.types import Scores

# Distinct-n: the share of distinct n-grams (Li et al. 2016).


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


# Repetition and specificity: whether a chatbot repeats itself, and whether it says what would fit anywhere.


@dataclass(frozen=True, kw_only=True)
class Repetition(TextMetric):
    """Share of the reply's n-grams that occurred before: earlier in the reply, or in its context.

    `of` compares with the `reply` itself, with its `context` (an echo), or with `both`. Lower is better. A reply too
    short for an n-gram cannot be scored and is NaN, as is one without a context if `of=context`; an empty reply
    scores 1, the worst value.
    """

    name: ClassVar[str] = "repetition"
    measures: ClassVar[str] = "share of n-grams said before, in the reply or its context; lower is better"
    citation: ClassVar[str] = "See et al. 2019"
    higher_is_better: ClassVar[bool] = False

    n: int = 2
    of: str = "both"

    @property
    def needs(self) -> frozenset[str]:
        """A context, where the reply is compared with nothing else."""
        return frozenset({"context"} if self.of == "context" else ())

    @property
    def cannot_score(self) -> str:
        """Why a reply may not be scored."""
        return "too short to hold an n-gram" + (", or no context" if self.of == "context" else "")

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_choice(self, "of", ("reply", "context", "both"))
        if not 1 <= self.n <= 9:
            raise CallError(f"repetition: n must be from 1 to 9, not {shortened(self.n)}")

    def score_batch(self, batch: Batch) -> Scores:
        """Repeated n-grams / n-grams."""
        contexts, replies = batch.keep(("context and reply", self.text), lambda: self._encoded(batch))
        total = np.maximum(replies.lengths - self.n + 1, 0)
        comparable = contexts.lengths > 0 if self.of == "context" else np.ones(len(batch), np.bool_)
        longest = replies.lengths if self.of == "reply" else np.maximum(contexts.lengths, replies.lengths)
        short, scorable = longest <= LONGEST_IN_TABLE, comparable & (total > 0)
        contexts, replies = narrowed(contexts), narrowed(replies)
        repeated = np.zeros(len(batch))
        for chunk in chunks_by_length(longest, np.flatnonzero(scorable & short)):
            repeated[chunk] = self._chunk(contexts, replies, chunk)
        for row in np.flatnonzero(scorable & ~short).tolist():
            repeated[row] = self._counted(contexts[row], replies[row])
        scores: Scores = np.divide(repeated, total, out=np.full(len(batch), np.nan), where=scorable)
        scores[batch.blank & comparable] = self.worst
        return scores

    def _encoded(self, batch: Batch) -> tuple[Ragged, Ragged]:
        """Contexts and replies as codes into one vocabulary; the replies are tokenised once for all metrics."""
        tokens = batch.tokens(self.text)
        joined = pl.Series([" ".join(example.context) for example in batch.examples], dtype=pl.String)
        vocabulary, contexts = encode(joined, self.text)
        _, codes = coded(pl.concat([vocabulary, tokens.vocabulary]))
        replies = codes[len(vocabulary) :][tokens.responses.values]
        return Ragged(codes[contexts.values], contexts.offsets), Ragged(replies, tokens.responses.offsets)

    def _chunk(self, contexts: Ragged, replies: Ragged, chunk: Ints) -> Ints:
        reply = padded_columns(replies, chunk, -1)
        before = np.zeros((len(reply) - self.n + 1, len(chunk)), np.bool_)
        if self.of != "context":
            # Padding equals padding, but no n-gram inside the reply extends into it.
            *_, count = occurrences_before(reply, self.n)
            before |= count > 0
        if self.of != "reply":
            context = padded_columns(contexts, chunk, -2)
            if len(context) >= self.n:
                *_, count = occurrences(reply, context, self.n)
                before |= count > 0
        inside = np.arange(len(before))[:, None] <= replies.lengths[chunk] - self.n
        repeated: Ints = (before & inside).sum(axis=0)
        return repeated

    def _counted(self, context: Ints, reply: Ints) -> int:
        """The same count with sets, for texts too long for a table."""
        own, said = list(ngrams(reply, self.n)), set[tuple[int, ...]]()
        if self.of != "reply":
            said = set(ngrams(context, self.n))
        if self.of == "context":
            return sum(ngram in said for ngram in own)
        return len(own) - len(set(own) - said)  # all but the first occurrence of each n-gram that is not in the context


@dataclass(frozen=True, kw_only=True)
class Specificity(TextMetric):
    """How rare the reply's words are in conversation: 0 for the most frequent word, 1 for an unknown word.

    The mean over words (tokens with a letter) of log(1 + rank) / log(1 + number of known words), with ranks from 0 by
    frequency in the dialogue corpora that the shipped word vectors were trained on: generic replies score low. NaN
    if no word is known, as in another language; an empty reply scores 0.
    """

    name: ClassVar[str] = "specificity"
    measures: ClassVar[str] = "how rare the reply's words are in conversation: generic replies score low"
    citation: ClassVar[str] = "after NIDF in See et al. 2019"
    cannot_score: ClassVar[str] = "no known word"

    def score_batch(self, batch: Batch) -> Scores:
        """The mean rarity of the words."""
        tokens = batch.tokens(self.text)
        rarity, known, word = _rarity(tokens.vocabulary, vector_rows(batch, self.text, SHIPPED_VECTORS))
        codes, row = tokens.responses.values, tokens.responses.row_of_value
        words = np.bincount(row, weights=word[codes], minlength=len(batch))
        total = np.bincount(row, weights=rarity[codes] * word[codes], minlength=len(batch))
        some = np.bincount(row, weights=known[codes], minlength=len(batch)) > 0
        scores: Scores = np.divide(total, words, out=np.full(len(batch), np.nan), where=(words > 0) & some)
        scores[batch.blank] = 0.0
        return scores


def _rarity(vocabulary: pl.Series, rank: Ints) -> tuple[Scores, NDArray[np.bool_], NDArray[np.bool_]]:
    """For each token: its rarity, whether it is known, whether it is a word."""
    word = vocabulary.str.contains(r"\p{L}").to_numpy()
    rarity = np.where(rank >= 0, np.log1p(np.maximum(rank, 0)) / np.log1p(len(shared_vectors(SHIPPED_VECTORS))), 1.0)
    return rarity, (rank >= 0) & word, word

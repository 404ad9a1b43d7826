"""Embedding metrics: how near a reply's word vectors lie to those of its references (how-not, section 3.2)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ints, Ragged, Vectors, offsets_of
from rejoinder.metrics.base import TextMetric, best_reference, check_choice, settle_empty
from rejoinder.metrics.batch import Batch
from rejoinder.metrics.ngrams import LONGEST_IN_TABLE, chunks_by_length
from rejoinder.text.vectors import SHIPPED, WordVectors, load_vectors
from rejoinder.types import Scores

_ROWS = 1024
_PAIRS = 256


@cache
def shared_vectors(name: str) -> WordVectors:
    """Word vectors by name or path, read once."""
    return load_vectors(name)


@dataclass(frozen=True)
class Embedded:
    """A batch's words that have a vector."""

    vectors: Vectors  # (words, dims)
    responses: Ragged  # rows of `vectors`, a row an example
    references: Ragged  # a row a reference
    identical: NDArray[np.bool_]  # (references,): same tokens as the reply

    @cached_property
    def pooled_responses(self) -> Pooled:
        """The replies' word vectors, joined."""
        return pool_rows(self.vectors, self.responses)

    @cached_property
    def pooled_references(self) -> Pooled:
        """The references' word vectors, joined."""
        return pool_rows(self.vectors, self.references)


@dataclass(frozen=True, slots=True)
class Pooled:
    """The word vectors of each row joined, dimension by dimension; zeros for a row without words. (rows, dims)"""

    total: Vectors
    highest: Vectors
    lowest: Vectors


@dataclass(frozen=True, kw_only=True)
class EmbeddingMetric(TextMetric):
    """What the three metrics share.

    `vectors` is the set that comes with the package, or the path of a word2vec, GloVe or fastText file. Words without
    a vector are passed over; a pair that is left without words scores 1 if its tokens are identical, else NaN.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"references"})
    cannot_score: ClassVar[str] = "no references, or no word with a vector"
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    vectors: str = SHIPPED
    refs: str = "max"

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_choice(self, "refs", ("max", "mean", "centroid"))

    @property
    def signature(self) -> str:
        """The vectors' content hash stands in it, because a path says nothing."""
        digest = shared_vectors(self.vectors).digest
        return super().signature.replace(
            f"vectors:{self.vectors}", f"vectors:{shared_vectors(self.vectors).name}@{digest}"
        )

    def embedded(self, batch: Batch) -> Embedded:
        """The batch's known words."""
        return batch.keep(("embedded", self.text, self.vectors), lambda: self._embed(batch))

    def _embed(self, batch: Batch) -> Embedded:
        tokens = batch.tokens(self.text)
        known = shared_vectors(self.vectors)
        row = known.lookup(tokens.vocabulary.to_list())
        has = row >= 0
        vectors = np.asarray(known.matrix[row[has]], np.float32)
        code = np.cumsum(has) - 1
        return Embedded(
            vectors,
            _known_only(tokens.responses, has, code),
            _known_only(tokens.references, has, code),
            _identical(tokens.responses, tokens.references, batch.owner),
        )

    def finished(self, pair_scores: Scores, batch: Batch, embedded: Embedded) -> Scores:
        """One score an example: identical pairs are 1 to the last digit, empty replies the lowest."""
        pair_scores = np.where(embedded.identical, 1.0, pair_scores)
        scores = best_reference(pair_scores, batch, self.refs)
        return settle_empty(scores, batch, batch.tokens(self.text), self.range[0])


@dataclass(frozen=True, kw_only=True)
class PooledMetric(EmbeddingMetric):
    """A text is one vector, and two texts are compared by its cosine."""

    @abstractmethod
    def vector(self, pooled: Pooled) -> Vectors:
        """One vector a row. (rows, dims)"""

    def score_batch(self, batch: Batch) -> Scores:
        """The cosine of the pooled vectors."""
        embedded = self.embedded(batch)
        own = self.vector(embedded.pooled_responses)
        theirs = self.vector(embedded.pooled_references)
        if self.refs != "centroid":
            return self.finished(_cosine(own[batch.owner], theirs), batch, embedded)
        centroid = np.zeros_like(own)
        np.add.at(centroid, batch.owner, _unit(theirs))
        scores = _cosine(own, centroid)
        single = batch.reference_counts == 1
        scores[batch.owner[embedded.identical & single[batch.owner]]] = 1.0
        scores[batch.reference_counts == 0] = np.nan
        return settle_empty(scores, batch, batch.tokens(self.text), self.range[0])


@dataclass(frozen=True, kw_only=True)
class EmbeddingAverage(PooledMetric):
    """Cosine of the mean word vectors of reply and reference."""

    name: ClassVar[str] = "embedding-average"
    measures: ClassVar[str] = "cosine of the mean word vectors of reply and reference"
    citation: ClassVar[str] = "Wieting et al. 2015; Liu et al. 2016"

    def vector(self, pooled: Pooled) -> Vectors:
        """The sum, whose direction is that of the mean."""
        return pooled.total


@dataclass(frozen=True, kw_only=True)
class VectorExtrema(PooledMetric):
    """Cosine of the extreme values, dimension by dimension, of the word vectors of reply and reference."""

    name: ClassVar[str] = "vector-extrema"
    measures: ClassVar[str] = "cosine of the most extreme values of the word vectors of reply and reference"
    citation: ClassVar[str] = "Forgues et al. 2014; Liu et al. 2016"

    def vector(self, pooled: Pooled) -> Vectors:
        """In each dimension the value of largest magnitude, the positive one on a tie."""
        return np.where(pooled.highest >= -pooled.lowest, pooled.highest, pooled.lowest)


@dataclass(frozen=True, kw_only=True)
class GreedyMatching(EmbeddingMetric):
    """Each word is matched with the nearest word of the other text; the cosines are averaged, both ways."""

    name: ClassVar[str] = "greedy-matching"
    measures: ClassVar[str] = "mean cosine of each word with the nearest word of the other text, both ways"
    citation: ClassVar[str] = "Rus & Lintean 2012; Liu et al. 2016"

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_choice(self, "refs", ("max", "mean"))

    def score_batch(self, batch: Batch) -> Scores:
        """Half the sum of both directions."""
        embedded = self.embedded(batch)
        unit = _unit(embedded.vectors)
        scores = np.full(len(batch.owner), np.nan)
        own, theirs = embedded.responses, embedded.references
        longest = np.maximum(own.lengths[batch.owner], theirs.lengths)
        scorable = (own.lengths[batch.owner] > 0) & (theirs.lengths > 0)
        short = longest <= LONGEST_IN_TABLE
        for pairs in _chunks(longest, np.flatnonzero(scorable & short)):
            scores[pairs] = _greedy(unit, own, batch.owner[pairs], theirs, pairs)
        for pair in np.flatnonzero(scorable & ~short).tolist():
            scores[pair] = _greedy_long(unit, own[batch.owner[pair]], theirs[pair])
        return self.finished(scores, batch, embedded)


def _chunks(longest: Ints, pairs: Ints) -> Iterator[Ints]:
    """Pairs of similar length, few enough that their vectors stay in the cache."""
    for alike in chunks_by_length(longest, pairs):
        yield from np.array_split(alike, -(-len(alike) // _PAIRS))


def _greedy(unit: Vectors, own: Ragged, own_rows: Ints, theirs: Ragged, their_rows: Ints) -> Scores:
    left, in_left = _padded_words(own, own_rows)
    right, in_right = _padded_words(theirs, their_rows)
    cosines = unit[left] @ unit[right].transpose(0, 2, 1)  # (pairs, own, theirs)
    cosines = np.ascontiguousarray(cosines.transpose(1, 2, 0))  # maxima are far quicker along the longest axis
    forward = (cosines.max(axis=1) * in_left.T).sum(axis=0) / in_left.sum(axis=1)
    backward = (cosines.max(axis=0) * in_right.T).sum(axis=0) / in_right.sum(axis=1)
    mean: Scores = ((forward + backward) / 2).astype(np.float64)
    return np.minimum(mean, 1.0)


def _greedy_long(unit: Vectors, own: Ints, theirs: Ints) -> float:
    """The same of one pair that is too long for a table: each different word once, some of them at a time."""
    words, counts = np.unique(own, return_counts=True)
    their_words, their_counts = np.unique(theirs, return_counts=True)
    forward, backward = np.empty(len(words), np.float32), np.full(len(their_words), -1, np.float32)
    for start in range(0, len(words), _ROWS):
        part = slice(start, start + _ROWS)
        cosines = unit[words[part]] @ unit[their_words].T
        forward[part] = cosines.max(axis=1)
        np.maximum(backward, cosines.max(axis=0), out=backward)
    mean = (np.average(forward, weights=counts) + np.average(backward, weights=their_counts)) / 2
    return min(float(mean), 1.0)


def _padded_words(texts: Ragged, rows: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Words by row and position, and which positions are the row's own: the last word fills up, as no maximum minds."""
    firsts = texts.offsets[rows][:, None]
    lengths = texts.offsets[rows + 1][:, None] - firsts
    position = np.arange(int(lengths.max()))
    return texts.values[firsts + np.minimum(position, lengths - 1)], position < lengths


def pool_rows(vectors: Vectors, rows: Ragged) -> Pooled:
    """Sum, maximum and minimum of the word vectors of each row."""
    pooled = Pooled(*(np.zeros((len(rows), vectors.shape[1]), np.float32) for _ in range(3)))
    longest_first = np.argsort(-rows.lengths, kind="stable")
    for start in range(0, len(rows), _ROWS):  # few enough that all of it stays in the cache
        chunk = longest_first[start : start + _ROWS]
        lengths, firsts = rows.lengths[chunk], rows.offsets[:-1][chunk]
        if not lengths[0]:
            break
        filled = int(np.count_nonzero(lengths))
        total = vectors[rows.values[firsts[:filled]]]
        highest, lowest = total.copy(), total.copy()
        for position in range(1, int(lengths[0])):
            # Rows are sorted by length, so that those that reach this position come first.
            reach = int(np.searchsorted(-lengths, -position, side="left"))
            words = vectors[rows.values[firsts[:reach] + position]]
            total[:reach] += words
            np.maximum(highest[:reach], words, out=highest[:reach])
            np.minimum(lowest[:reach], words, out=lowest[:reach])
        for whole, part in ((pooled.total, total), (pooled.highest, highest), (pooled.lowest, lowest)):
            whole[chunk[:filled]] = part
    return pooled


def _unit(vectors: Vectors) -> Vectors:
    """The vectors at length 1; a zero vector stays one."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return unit


def _cosine(left: Vectors, right: Vectors) -> Scores:
    """Row by row; NaN where a vector is zero."""
    dot = np.einsum("ij,ij->i", left, right, dtype=np.float64)
    length = np.sqrt(
        np.einsum("ij,ij->i", left, left, dtype=np.float64) * np.einsum("ij,ij->i", right, right, dtype=np.float64)
    )
    cosine: Scores = np.divide(dot, length, out=np.full(len(dot), np.nan), where=length > 0)
    return np.clip(cosine, -1.0, 1.0)


def _known_only(rows: Ragged, has: NDArray[np.bool_], code: Ints) -> Ragged:
    kept = has[rows.values]
    lengths = np.bincount(rows.row_of_value[kept], minlength=len(rows))
    return Ragged(code[rows.values[kept]], offsets_of(lengths))


def _identical(responses: Ragged, references: Ragged, owner: Ints) -> NDArray[np.bool_]:
    """Which references have the very tokens of their reply, of which there must be some."""
    own = responses.lengths[owner]
    same: NDArray[np.bool_] = (own == references.lengths) & (own > 0)
    rows = np.flatnonzero(same)
    left, right = responses.take(owner[rows]), references.take(rows)
    if len(rows):
        same[rows] = np.logical_and.reduceat(left.values == right.values, left.offsets[:-1])
    return same

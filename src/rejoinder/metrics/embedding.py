"""Embedding metrics: how close a reply's word vectors are to those of its references (Liu et al. 2016, section 3.2)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ints, Ragged, Vectors
from rejoinder.metrics.base import TextMetric, best_reference, check_choice, settle_empty
from rejoinder.metrics.batch import Batch, TextOptions, identical_rows, kept_tokens
from rejoinder.metrics.ngrams import LONGEST_IN_TABLE, chunks_by_length
from rejoinder.text.vectors import SHIPPED_VECTORS, WordVectors, load_vectors
from rejoinder.types import Scores

_ROWS = 1024
_PAIRS = 256
_TABLE_BYTES = 1 << 21  # decides which pairs are padded together, and so the last bits of their scores


@cache
def shared_vectors(name: str) -> WordVectors:
    """Word vectors by name or path, loaded once."""
    return load_vectors(name)


def vector_rows(batch: Batch, options: TextOptions, name: str) -> Ints:
    """The row of each word of the batch's vocabulary in the matrix of vectors, -1 without one; found once per batch."""
    vocabulary = batch.tokens(options).vocabulary
    return batch.keep(("vector rows", options, name), lambda: shared_vectors(name).lookup(vocabulary.to_list()))


@dataclass(frozen=True)
class Embedded:
    """The words of a batch that have a vector."""

    vectors: Vectors  # (words, dims)
    responses: Ragged  # indices into `vectors`, one row per example
    references: Ragged  # the same, one row per reference
    identical: NDArray[np.bool_]  # (references,): same tokens as the reply

    @cached_property
    def pooled_responses(self) -> PooledVectors:
        """The word vectors of each reply, pooled."""
        return pool_rows(self.vectors, self.responses)

    @cached_property
    def pooled_references(self) -> PooledVectors:
        """The word vectors of each reference, pooled."""
        return pool_rows(self.vectors, self.references)


@dataclass(frozen=True, slots=True)
class PooledVectors:
    """Sum, maximum and minimum of the word vectors of each row; zeros for a row without words. (rows, dims)"""

    total: Vectors
    highest: Vectors
    lowest: Vectors


@dataclass(frozen=True, kw_only=True)
class EmbeddingMetric(TextMetric):
    """Shared by the three embedding metrics.

    `vectors` is the set that comes with the package, or the path of a word2vec, GloVe or fastText file. Words without
    a vector are ignored; a pair without any known word scores 1 if its tokens are identical, else NaN.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"references"})
    cannot_score: ClassVar[str] = "no references, or no word with a vector"
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    vectors: str = SHIPPED_VECTORS
    refs: str = "max"

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_choice(self, "refs", ("max", "mean", "centroid"))

    @property
    def signature(self) -> str:
        """Contains a content hash of the vectors, since a path does not identify them."""
        digest = shared_vectors(self.vectors).digest
        return super().signature.replace(
            f"vectors:{self.vectors}", f"vectors:{shared_vectors(self.vectors).name}@{digest}"
        )

    def embedded(self, batch: Batch) -> Embedded:
        """The words of the batch that have a vector."""
        return batch.keep(("embedded", self.text, self.vectors), lambda: self._embed(batch))

    def _embed(self, batch: Batch) -> Embedded:
        tokens = batch.tokens(self.text)
        row = vector_rows(batch, self.text, self.vectors)
        has = row >= 0
        vectors = np.asarray(shared_vectors(self.vectors).matrix[row[has]], np.float32)
        code = np.cumsum(has) - 1
        return Embedded(
            vectors,
            _known_only(tokens.responses, has, code),
            _known_only(tokens.references, has, code),
            _identical(tokens.responses.take(batch.owner), tokens.references),
        )

    def finished(self, pair_scores: Scores, batch: Batch, embedded: Embedded) -> Scores:
        """One score per example: exactly 1 for identical pairs, the lowest value for empty replies."""
        pair_scores = np.where(embedded.identical, 1.0, pair_scores)
        scores = best_reference(pair_scores, batch, self.refs)
        return settle_empty(scores, batch, batch.tokens(self.text), self.range[0])


@dataclass(frozen=True, kw_only=True)
class PooledVectorMetric(EmbeddingMetric):
    """Pools a text into one vector and compares two texts by cosine."""

    @abstractmethod
    def vector(self, pooled: PooledVectors) -> Vectors:
        """One vector per row. (rows, dims)"""

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
class EmbeddingAverage(PooledVectorMetric):
    """Cosine of the mean word vectors of reply and reference."""

    name: ClassVar[str] = "embedding-average"
    measures: ClassVar[str] = "cosine of the mean word vectors of reply and reference"
    citation: ClassVar[str] = "Wieting et al. 2015; Liu et al. 2016"

    def vector(self, pooled: PooledVectors) -> Vectors:
        """The sum, which has the same direction as the mean."""
        return pooled.total


@dataclass(frozen=True, kw_only=True)
class VectorExtrema(PooledVectorMetric):
    """Cosine of the extreme values, dimension by dimension, of the word vectors of reply and reference."""

    name: ClassVar[str] = "vector-extrema"
    measures: ClassVar[str] = "cosine of the most extreme values of the word vectors of reply and reference"
    citation: ClassVar[str] = "Forgues et al. 2014; Liu et al. 2016"

    def vector(self, pooled: PooledVectors) -> Vectors:
        """In each dimension the value of the largest magnitude, the positive one on a tie."""
        return np.where(pooled.highest >= -pooled.lowest, pooled.highest, pooled.lowest)


@dataclass(frozen=True, kw_only=True)
class GreedyMatching(EmbeddingMetric):
    """Each word is matched with the nearest word of the other text; the cosines are averaged in both directions."""

    name: ClassVar[str] = "greedy-matching"
    measures: ClassVar[str] = "mean cosine of each word with the nearest word of the other text, both ways"
    citation: ClassVar[str] = "Rus & Lintean 2012; Liu et al. 2016"

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_choice(self, "refs", ("max", "mean"))

    def score_batch(self, batch: Batch) -> Scores:
        """The mean of both directions."""
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
    """Pairs of similar length, few enough for their vectors to stay in the processor's cache."""
    for alike in chunks_by_length(longest, pairs, _TABLE_BYTES):
        yield from np.array_split(alike, -(-len(alike) // _PAIRS))


def _greedy(unit: Vectors, own: Ragged, own_rows: Ints, theirs: Ragged, their_rows: Ints) -> Scores:
    left, in_left = _padded_words(own, own_rows)
    right, in_right = _padded_words(theirs, their_rows)
    cosines = unit[left] @ unit[right].transpose(0, 2, 1)  # (pairs, own, theirs)
    cosines = np.ascontiguousarray(cosines.transpose(1, 2, 0))  # a maximum over an outer axis is much faster
    forward = (cosines.max(axis=1) * in_left.T).sum(axis=0) / in_left.sum(axis=1)
    backward = (cosines.max(axis=0) * in_right.T).sum(axis=0) / in_right.sum(axis=1)
    mean: Scores = ((forward + backward) / 2).astype(np.float64)
    return np.minimum(mean, 1.0)


def _greedy_long(unit: Vectors, own: Ints, theirs: Ints) -> float:
    """The same for one pair that is too long for a table: each distinct word once, in blocks."""
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
    """Words by row and position, and which are not padding: rows are padded with their last word, which no maximum
    notices."""
    firsts = texts.offsets[rows][:, None]
    lengths = texts.offsets[rows + 1][:, None] - firsts
    position = np.arange(int(lengths.max()))
    return texts.values[firsts + np.minimum(position, lengths - 1)], position < lengths


def pool_rows(vectors: Vectors, rows: Ragged) -> PooledVectors:
    """Sum, maximum and minimum of the word vectors of each row."""
    pooled = PooledVectors(*(np.zeros((len(rows), vectors.shape[1]), np.float32) for _ in range(3)))
    longest_first = np.argsort(-rows.lengths, kind="stable")
    for start in range(0, len(rows), _ROWS):  # few enough to stay in the processor's cache
        chunk = longest_first[start : start + _ROWS]
        lengths, firsts = rows.lengths[chunk], rows.offsets[:-1][chunk]
        if not lengths[0]:
            break
        filled = int(np.count_nonzero(lengths))
        total = vectors[rows.values[firsts[:filled]]]
        highest, lowest = total.copy(), total.copy()
        for position in range(1, int(lengths[0])):
            # Rows are sorted by falling length, so those that reach this position come first.
            reach = int(np.searchsorted(-lengths, -position, side="left"))
            words = vectors[rows.values[firsts[:reach] + position]]
            total[:reach] += words
            np.maximum(highest[:reach], words, out=highest[:reach])
            np.minimum(lowest[:reach], words, out=lowest[:reach])
        for whole, part in ((pooled.total, total), (pooled.highest, highest), (pooled.lowest, lowest)):
            whole[chunk[:filled]] = part
    return pooled


def _unit(vectors: Vectors) -> Vectors:
    """The vectors scaled to length 1; a zero vector stays zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return unit


def _cosine(left: Vectors, right: Vectors) -> Scores:
    """The cosine of each row; NaN if a vector is zero. (rows,)"""
    dot = np.einsum("ij,ij->i", left, right, dtype=np.float64)
    length = np.sqrt(
        np.einsum("ij,ij->i", left, left, dtype=np.float64) * np.einsum("ij,ij->i", right, right, dtype=np.float64)
    )
    cosine: Scores = np.divide(dot, length, out=np.full(len(dot), np.nan), where=length > 0)
    return np.clip(cosine, -1.0, 1.0)


def _known_only(rows: Ragged, has: NDArray[np.bool_], code: Ints) -> Ragged:
    kept = kept_tokens(rows, has)
    return Ragged(code[kept.values], kept.offsets)


def _identical(responses: Ragged, references: Ragged) -> NDArray[np.bool_]:
    """Which references have exactly the tokens of their reply, at least one. (references,)"""
    same: NDArray[np.bool_] = identical_rows(responses, references) & (references.lengths > 0)
    return same

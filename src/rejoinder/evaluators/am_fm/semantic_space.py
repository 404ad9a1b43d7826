"""Latent semantic indexing: texts as points in a space of few dimensions, by a truncated SVD of word counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rejoinder.arrays import Ints, Ragged, Vectors
from rejoinder.learning.extras import require_extra

_NO_DIRECTION = 1e-5
"""Singular values below this share of the largest are rounding errors of single precision."""


@dataclass(frozen=True, eq=False)
class SemanticSpace:
    """The known words and their vectors."""

    words: tuple[str, ...]
    vectors: Vectors  # (words, dimensions): the right singular vectors, largest singular value first

    @classmethod
    def of(cls, vocabulary: Sequence[str], texts: Ragged, dimensions: int, seed: int = 0) -> SemanticSpace:
        """Learned from texts as indices into a vocabulary; with fewer dimensions if the texts have no more."""
        require_extra("train", "learning a semantic space")
        from scipy.sparse import csr_array
        from sklearn.decomposition import TruncatedSVD

        ones = np.ones(len(texts.values), np.float32)
        # A copy, because sum_duplicates sorts the words of each text in place.
        counts = csr_array((ones, texts.values, texts.offsets), shape=(len(texts), len(vocabulary)), copy=True)
        counts.sum_duplicates()
        rank = max(1, min(dimensions, len(vocabulary), len(texts)))
        if len(vocabulary) == 1:
            return cls(tuple(vocabulary), np.ones((1, 1), np.float32))
        with np.errstate(divide="ignore", invalid="ignore"):  # the explained variance of identical texts
            svd = TruncatedSVD(rank, random_state=seed).fit(counts)
        # Directions of singular value 0 are arbitrary.
        real = svd.singular_values_ > _NO_DIRECTION * svd.singular_values_[0]
        return cls(tuple(vocabulary), np.ascontiguousarray(svd.components_[real].T, np.float32))

    @property
    def dimensions(self) -> int:
        """The number of dimensions."""
        return int(self.vectors.shape[1])

    @cached_property
    def _number(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    def numbers(self, words: Sequence[str]) -> Ints:
        """The number of each word; -1 if it is not known."""
        number = self._number.get
        return np.fromiter((number(word, -1) for word in words), np.int64, len(words))

    def points(self, texts: Ragged) -> Vectors:
        """The point of each text, r^T U: the sum of its known words' vectors. (texts, dimensions)"""
        from scipy.sparse import csr_array

        # An unknown word is the last row, which is zero. Repeated words are not merged and keep the text's order, so
        # that each sum does not depend on the other texts.
        words = np.where(texts.values < 0, len(self.words), texts.values)
        ones = np.ones(len(words), np.float32)
        bag = csr_array((ones, words, texts.offsets), shape=(len(texts), len(self.words) + 1))
        points: Vectors = bag @ self._with_zero
        return points

    @cached_property
    def _with_zero(self) -> Vectors:
        return np.concatenate([self.vectors, np.zeros((1, self.dimensions), np.float32)])

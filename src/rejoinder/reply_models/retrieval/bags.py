"""Texts as bags of words: a vocabulary, and sparse rows of word counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags_array

from rejoinder.arrays import Ragged
from rejoinder.errors import DataError, NeedsError
from rejoinder.learning.saving import read_texts, write_texts
from rejoinder.loading.array_schema import Array
from rejoinder.metrics.batch import TextOptions, encode
from rejoinder.text.cleaning import writable

WORDS = "words.safetensors"
_OPTIONS = TextOptions()


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The known words; a word's number is its position."""

    words: tuple[str, ...]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Vocabulary:
        """Every word of the texts, in alphabetical order."""
        found, _ = _coded(texts)
        if not len(found):
            raise NeedsError("the dialogues contain no words: expected text to learn from")
        return cls(tuple(sorted(found)))

    @classmethod
    def load(cls, folder: Path) -> Vocabulary:
        """What `save` wrote into the folder."""
        words = read_texts(folder / WORDS)
        if len(set(words)) != len(words) or not words:
            raise DataError("must hold different words", file=str(folder / WORDS))
        return cls(words)

    def save(self, folder: Path) -> None:
        """Write the words into a folder."""
        write_texts(folder / WORDS, self.words)

    def __len__(self) -> int:
        return len(self.words)

    def counts(self, texts: Sequence[str]) -> Any:
        """How often each known word occurs in each text, as a sparse matrix. (texts, words)"""
        found, rows = _coded(texts)
        number = np.fromiter((self._numbers.get(word, -1) for word in found), np.int64, len(found))
        columns, owners = number[rows.values], rows.row_of_value
        known = columns >= 0
        cells = (np.ones(int(known.sum()), np.float32), (owners[known], columns[known]))
        counted = csr_matrix(cells, shape=(len(texts), len(self)), dtype=np.float32)
        counted.sum_duplicates()
        return counted

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        return {word: number for number, word in enumerate(self.words)}


def tfidf_rows(counts: Any, weights: NDArray[np.floating]) -> Any:
    """TF-IDF vectors of length 1, from word counts and the weight of each word; sparse. (texts, words)"""
    return of_length_one(times_columns(counts, weights))


def times_columns(matrix: Any, weights: NDArray[np.floating]) -> Any:
    """The sparse matrix with each column multiplied by its weight."""
    return csr_matrix(matrix @ diags_array(weights.astype(np.float32)))


def of_length_one(matrix: Any) -> Any:
    """The sparse matrix with its rows scaled to length 1; an empty row stays empty."""
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1), np.float64)).ravel()
    return csr_matrix(diags_array((1 / np.where(lengths > 0, lengths, 1)).astype(np.float32)) @ matrix)


def document_frequencies(counts: Any) -> NDArray[np.float64]:
    """In how many rows each column is non-zero. (words,)"""
    return np.bincount(counts.indices, minlength=counts.shape[1]).astype(np.float64)


def plain_arrays(matrix: Any) -> dict[str, NDArray[Any]]:
    """The arrays that a sparse matrix consists of, to be saved."""
    return {
        "values": matrix.data.astype(np.float32),
        "columns": matrix.indices.astype(np.int32),
        "offsets": matrix.indptr.astype(np.int64),
    }


def saved_matrix(columns: int) -> dict[str, Array]:
    """The arrays of a sparse matrix in a file."""
    return {
        "values": Array("f", ("any cells",)),
        "columns": Array("i", ("any cells",), low=0, high=columns - 1),
        "offsets": Array("i", ("offsets",), low=0),
    }


def matrix_of(arrays: Mapping[str, NDArray[Any]], columns: int, file: Path) -> Any:
    """The sparse matrix from the arrays that `plain_arrays` returned, which were read from a file."""
    offsets = arrays["offsets"].astype(np.int64)
    if offsets[0] != 0 or offsets[-1] != len(arrays["values"]) or (np.diff(offsets) < 0).any():
        raise DataError("does not divide the cells into rows", file=str(file), field="offsets")
    return csr_matrix((arrays["values"], arrays["columns"], offsets), shape=(len(offsets) - 1, columns))


def _coded(texts: Sequence[str]) -> tuple[pl.Series, Ragged]:
    return encode(pl.Series(list(map(writable, texts)), dtype=pl.String), _OPTIONS)

"""Retrieval by words: shared by R-TFIDF, C-TFIDF and BM25.

A context is a sparse row of word weights, and so is each row of the corpus; the nearest row has the largest dot
product.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ints
from rejoinder.errors import CallError, DataError
from rejoinder.learning.saving import read_arrays, write_arrays
from rejoinder.loading.array_schema import Array
from rejoinder.loading.schema import member
from rejoinder.model_folder import CONFIG
from rejoinder.reply_models.base import Context
from rejoinder.reply_models.retrieval.bags import Vocabulary, matrix_of, plain_arrays, saved_matrix
from rejoinder.reply_models.retrieval.base import Corpus, Retrieval, context_text
from rejoinder.types import Scores

MATRIX = "matrix.safetensors"
_BLOCK_CELLS = 1 << 23  # contexts times rows compared at once: 32 MiB


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lexical(Retrieval):
    """Compares the words of a context with those of each row."""

    learned_numbers: ClassVar[tuple[str, ...]] = ()
    """Learned fields that are numbers above 0, which are saved in config.json."""

    turns: int | None = None
    """How many of a context's last turns are read; by default all."""

    vocabulary_: Vocabulary = dataclasses.field(init=False, repr=False, compare=False)
    word_weights_: NDArray[np.float64] = dataclasses.field(init=False, repr=False, compare=False)
    """The inverse document frequency of each word. (words,)"""
    matrix_: Any = dataclasses.field(init=False, repr=False, compare=False)
    """Sparse. (words, rows)"""

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        if self.turns is not None and self.turns < 1:
            raise CallError(f"{self.name}: turns must be at least 1, not {self.turns}")

    @abstractmethod
    def query_rows(self, counts: Any) -> Any:
        """Word weights of contexts, from their word counts. (contexts, words)"""

    @abstractmethod
    def reply_rows(self, counts: Any) -> Any:
        """Word weights of replies, from their word counts. (replies, words)"""

    def queries(self, contexts: Sequence[Context]) -> Any:
        """The contexts as sparse rows. (contexts, words)"""
        return self.query_rows(self.vocabulary_.counts([context_text(context, self.turns) for context in contexts]))

    def best_rows(self, contexts: Sequence[Context], left_out: Ints, seeds: Sequence[int]) -> Ints:
        """The row with the largest dot product; a random row, by the seed, if none shares a word with the context."""
        queries, rows = self.queries(contexts), self.matrix_.shape[1]
        best = np.empty(len(contexts), np.int64)
        size = max(1, _BLOCK_CELLS // rows)
        for start in range(0, len(contexts), size):
            similarity = (queries[start : start + size] @ self.matrix_).toarray()
            here = left_out[start : start + size]
            some = np.flatnonzero(here >= 0)
            similarity[some, here[some]] = -1
            found = similarity.argmax(axis=1)
            for place in np.flatnonzero(similarity.max(axis=1) <= 0):
                found[place] = random_row(seeds[start + int(place)], rows, int(here[place]))
            best[start : start + size] = found
        return best

    def candidate_scores(self, contexts: Sequence[Context], candidates: Sequence[Sequence[str]]) -> list[Scores]:
        """The dot product of context and candidate."""
        flat = [text for texts in candidates for text in texts]
        owner = np.repeat(np.arange(len(candidates)), [len(texts) for texts in candidates])
        replies = self.reply_rows(self.vocabulary_.counts(flat))
        similarity = np.asarray(self.queries(contexts)[owner].multiply(replies).sum(axis=1), np.float64).ravel()
        return np.split(similarity, np.cumsum([len(texts) for texts in candidates])[:-1])

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write corpus, words and matrix; plain values are returned for config.json."""
        self.corpus_.save(folder)
        self.vocabulary_.save(folder)
        arrays = {**plain_arrays(self.matrix_.T.tocsr()), "word_weights": self.word_weights_}
        write_arrays(folder / MATRIX, arrays)
        return {name: getattr(self, name) for name in self.learned_numbers}

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """What `save_learned` wrote."""
        corpus, vocabulary, path = Corpus.load(folder), Vocabulary.load(folder), folder / MATRIX
        expected = {**saved_matrix(len(vocabulary)), "word_weights": Array("f", ("words",), low=0)}
        arrays = read_arrays(path, expected, words=len(vocabulary), offsets=len(corpus) + 1)
        return {
            **{name: self._saved_number(plain, name, folder) for name in self.learned_numbers},
            "corpus_": corpus,
            "vocabulary_": vocabulary,
            "word_weights_": arrays["word_weights"],
            "matrix_": matrix_of(arrays, len(vocabulary), path).T.tocsr(),
        }

    @staticmethod
    def _saved_number(plain: Mapping[str, Any], name: str, folder: Path) -> float:
        """A number that is learned besides the arrays: all of them are lengths and counts above 0."""
        value: float = member(plain, name, float, str(folder / CONFIG))
        if value <= 0:
            raise DataError(f"must be above 0, not {value}", file=str(folder / CONFIG), field=f"learned.{name}")
        return value


def random_row(seed: int, rows: int, left_out: int) -> int:
    """A random row, by the seed, other than the one left out if there is another; -1: none is left out."""
    drawn = seed % max(1, rows - 1)
    return drawn if drawn != left_out else rows - 1

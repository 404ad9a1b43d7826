"""Retrieval by words: R-TFIDF, C-TFIDF and BM25."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from rejoinder.arrays import Ints
from rejoinder.errors import CallError, DataError
from rejoinder.folders.array_schema import Array
from rejoinder.folders.saved import read_arrays, write_arrays
from rejoinder.folders.schema import CONFIG, checked_member
from rejoinder.learning.learned import DialogueData
from rejoinder.replies.base import Context
from rejoinder.replies.corpus import (
    Corpus,
    Retrieval,
    WordNumbers,
    context_text,
    document_frequencies,
    matrix_of,
    places_to_learn,
    plain_arrays,
    saved_matrix,
    tfidf_rows,
)
from rejoinder.types import Scores

# Retrieval by words: shared by R-TFIDF, C-TFIDF and BM25.
#
# A context is a sparse row of word weights, and so is each row of the corpus; the nearest row has the largest dot
# product.


MATRIX = "matrix.safetensors"
_BLOCK_CELLS = 1 << 23  # contexts times rows compared at once: 32 MiB


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lexical(Retrieval):
    """Compares the words of a context with those of each row."""

    learned_numbers: ClassVar[tuple[str, ...]] = ()
    """Learned fields that are numbers above 0, which are saved in config.json."""

    turns: int | None = None
    """How many of a context's last turns are read; by default all."""

    vocabulary_: WordNumbers = dataclasses.field(init=False, repr=False, compare=False)
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
        corpus, vocabulary, path = Corpus.load(folder), WordNumbers.load(folder), folder / MATRIX
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
        value: float = checked_member(plain, name, float, str(folder / CONFIG))
        if value <= 0:
            raise DataError(f"must be above 0, not {value}", file=str(folder / CONFIG), field=f"learned.{name}")
        return value


def random_row(seed: int, rows: int, left_out: int) -> int:
    """A random row, by the seed, other than the one left out if there is another; -1: none is left out."""
    drawn = seed % max(1, rows - 1)
    return drawn if drawn != left_out else rows - 1


# TF-IDF retrieval of Liu et al. 2016 (section 3): tfidf(w, c) = f(w, c) * log(N / N_w), nearest by cosine.
#
# f(w, c) is the count of a word in a context or reply, N the number of dialogues, N_w the number of those with the
# word.


_CITATION = "Liu et al. 2016, How NOT To Evaluate Your Dialogue System; Lowe et al. 2015, The Ubuntu Dialogue Corpus"
_NEAREST = 50
"""How many of the nearest contexts' replies a candidate is compared with (C-TFIDF)."""
_BLOCK = 64
"""Contexts whose candidates are scored at once."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tfidf(Lexical):
    """Compares by the cosine of TF-IDF vectors."""

    citation: ClassVar[str] = _CITATION

    def query_rows(self, counts: Any) -> Any:
        """TF-IDF vectors of length 1."""
        return tfidf_rows(counts, self.word_weights_)

    def reply_rows(self, counts: Any) -> Any:
        """TF-IDF vectors of length 1."""
        return self.query_rows(counts)

    def _learned(self, data: DialogueData, corpus: Corpus, texts: Sequence[str]) -> dict[str, Any]:
        """Every learned field; `texts` are what contexts are compared with, one per row of the corpus."""
        whole = ["\n".join(dialogue.turns) for dialogue in data.dialogues]
        vocabulary = WordNumbers.of(whole)
        weights = np.log(len(whole) / document_frequencies(vocabulary.counts(whole)))
        if not weights.any():  # a single dialogue, or all with the same words: every word gets the same weight
            weights = np.ones(len(vocabulary))
        rows = tfidf_rows(vocabulary.counts(texts), weights)
        return {
            "corpus_": corpus,
            "vocabulary_": vocabulary,
            "word_weights_": weights,
            "matrix_": rows.T.tocsr(),
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class ResponseTfidf(Tfidf):
    """R-TFIDF: the reply whose own words are nearest to those of the context."""

    name: ClassVar[str] = "r-tfidf"
    about: ClassVar[str] = "copies the reply whose words are nearest to those of the context"

    def learn(self, data: DialogueData) -> Mapping[str, Any]:
        """Vectors of the different replies."""
        corpus = Corpus.of_replies(places_to_learn(self.name, data.dialogues))
        return self._learned(data, corpus, corpus.replies)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ContextTfidf(Tfidf):
    """C-TFIDF: the reply that was given to the context nearest to this one."""

    name: ClassVar[str] = "c-tfidf"
    about: ClassVar[str] = "copies the reply that was given to the context nearest to this one"

    def learn(self, data: DialogueData) -> Mapping[str, Any]:
        """Vectors of all contexts."""
        places = places_to_learn(self.name, data.dialogues)
        texts = [context_text(place.context, self.turns) for place in places]
        return self._learned(data, Corpus.of_contexts(places), texts)

    def candidate_scores(self, contexts: Sequence[Context], candidates: Sequence[Sequence[str]]) -> list[Scores]:
        """The largest product, over the nearest contexts, of their cosine and that of their reply with the candidate.

        The papers do not rank candidates with this model; this definition stays closest to it.
        """
        return [
            scores
            for start in range(0, len(contexts), _BLOCK)
            for scores in self._by_neighbours(contexts[start : start + _BLOCK], candidates[start : start + _BLOCK])
        ]

    def _by_neighbours(self, contexts: Sequence[Context], candidates: Sequence[Sequence[str]]) -> Iterator[Scores]:
        similarity = (self.queries(contexts) @ self.matrix_).toarray()  # (contexts, rows)
        most = min(_NEAREST, similarity.shape[1])
        near = np.argpartition(-similarity, most - 1, axis=1)[:, :most]
        given = [self.corpus_.text(row) for row in near.ravel().tolist()]
        known = self.reply_rows(self.vocabulary_.counts(given))
        offered = self.reply_rows(self.vocabulary_.counts([text for texts in candidates for text in texts]))
        ends = np.cumsum([len(texts) for texts in candidates]).tolist()
        for place, (texts, end) in enumerate(zip(candidates, ends, strict=True)):
            own = known[place * most : (place + 1) * most]
            fitting = (offered[end - len(texts) : end] @ own.T).toarray()  # (candidates, near)
            yield (fitting * similarity[place, near[place]]).max(axis=1).astype(np.float64)


# BM25: the reply that a search engine would find with the context as its query.
#
# A word adds idf * f * (k1 + 1) / (f + k1 * (1 - b + b * length / mean length)) to the score, with
# idf = log(1 + (N - n + 0.5) / (n + 0.5)): n of N replies contain the word, this one f times.


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bm25(Lexical):
    """Copies the reply with the highest BM25 score for the words of the context."""

    name: ClassVar[str] = "bm25"
    about: ClassVar[str] = "copies the reply that BM25 finds with the words of the context"
    citation: ClassVar[str] = "Robertson and Zaragoza 2009, The Probabilistic Relevance Framework: BM25 and Beyond"
    learned_numbers: ClassVar[tuple[str, ...]] = ("mean_length_",)

    k1: float = 1.2
    """How soon repetitions of a word stop adding to the score: the smaller, the sooner."""
    b: float = 0.75
    """How strongly long replies are penalised: from 0, not at all, to 1, in proportion to their length."""

    mean_length_: float = dataclasses.field(init=False, repr=False, compare=False)

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        super().check()
        if not 0 <= self.k1 <= 100:
            raise CallError(f"{self.name}: k1 must be from 0 to 100, not {self.k1}")
        if not 0 <= self.b <= 1:
            raise CallError(f"{self.name}: b must be from 0 to 1, not {self.b}")

    def learn(self, data: DialogueData) -> Mapping[str, Any]:
        """Word weights of the different replies."""
        corpus = Corpus.of_replies(places_to_learn(self.name, data.dialogues))
        vocabulary = WordNumbers.of(corpus.replies)
        counts = vocabulary.counts(corpus.replies)
        holding = document_frequencies(counts)
        weights = np.log1p((len(corpus) - holding + 0.5) / (holding + 0.5))
        mean_length = float(counts.sum() / len(corpus))
        return {
            "corpus_": corpus,
            "vocabulary_": vocabulary,
            "word_weights_": weights,
            "mean_length_": mean_length,
            "matrix_": self._weighted(counts, weights, mean_length).T.tocsr(),
        }

    def query_rows(self, counts: Any) -> Any:
        """1 for each word of the context, however often it occurs."""
        return counts.sign()

    def reply_rows(self, counts: Any) -> Any:
        """The contribution of each word of a reply to the score."""
        return self._weighted(counts, self.word_weights_, self.mean_length_)

    def _weighted(self, counts: Any, weights: Any, mean_length: float) -> Any:
        lengths = np.asarray(counts.sum(axis=1), np.float64).ravel()
        slack = self.k1 * (1 - self.b + self.b * lengths / mean_length)  # (rows,)
        often = counts.data.astype(np.float64)
        slack_of_cell = np.repeat(slack, np.diff(counts.indptr))
        cells = weights[counts.indices] * often * (self.k1 + 1) / (often + slack_of_cell)
        return csr_matrix((cells.astype(np.float32), counts.indices, counts.indptr), shape=counts.shape)

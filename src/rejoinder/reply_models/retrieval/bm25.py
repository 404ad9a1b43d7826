"""BM25: the reply that a search engine would find with the context as its query.

A word adds idf * f * (k1 + 1) / (f + k1 * (1 - b + b * length / mean length)) to the score, with
idf = log(1 + (N - n + 0.5) / (n + 0.5)): n of N replies contain the word, this one f times.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix

from rejoinder.errors import CallError
from rejoinder.learning.fitted import DialogueData
from rejoinder.reply_models.retrieval.bags import Vocabulary, document_frequencies
from rejoinder.reply_models.retrieval.base import Corpus, places_to_learn
from rejoinder.reply_models.retrieval.lexical import Lexical


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
        vocabulary = Vocabulary.of(corpus.replies)
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

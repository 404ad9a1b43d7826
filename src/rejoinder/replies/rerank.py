"""Retrieve and rerank: keywords find candidates, features order them (Tao et al. 2018)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rejoinder.arrays import Floats, Ints
from rejoinder.folders.array_schema import Array
from rejoinder.folders.saved import read_arrays, write_arrays
from rejoinder.learning.learned import DialogueData
from rejoinder.metrics.embedding import shared_vectors
from rejoinder.options import check_least
from rejoinder.replies.base import Context
from rejoinder.replies.corpus import Corpus, WordNumbers, context_text, places_to_learn, tfidf_rows
from rejoinder.replies.lexical import Tfidf, random_row
from rejoinder.text.vectors import SHIPPED_VECTORS
from rejoinder.types import Scores

# Retrieve and rerank, the retrieval system that Tao et al. 2018 judge: keywords find candidates, features order them.
#
# Tao et al. name no features and refer to Song et al. 2016, whose features are weighted by labels of people. Here the
# weights are learned from the dialogues: they predict how similar a candidate is to the true reply.


RERANKER = "reranker.safetensors"


@dataclasses.dataclass(frozen=True, kw_only=True)
class RetrieveRerank(Tfidf):
    """Copies the best of the replies to similar last turns, by a weighted sum of features."""

    name: ClassVar[str] = "retrieve-rerank"
    about: ClassVar[str] = "finds replies to similar last turns by keywords, and copies the best by weighted features"
    citation: ClassVar[str] = "Tao et al. 2018, RUBER; Song et al. 2016, Two are Better than One"

    turns: int | None = 1
    """How many of a context's last turns keywords are taken from."""
    candidates: int = 50
    """Replies that keywords find for each context, and that are reranked."""
    places: int = 2000
    """Places of the dialogues, drawn at random, that the weights of the features are learned from."""

    feature_weights_: Floats = dataclasses.field(init=False, repr=False, compare=False)
    """One per feature of `rerank_features.FEATURES`."""

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        super().check()
        check_least(self, {"candidates": 1, "places": 1})

    def learn(self, data: DialogueData) -> Mapping[str, Any]:
        """The words of all queries, and the weights of the features."""
        places = places_to_learn(self.name, data.dialogues)
        queries = [context_text(place.context, self.turns) for place in places]
        learned = self._learned(data, Corpus.of_contexts(places), queries)
        drawn = np.random.default_rng([data.seed, 12]).permutation(len(places))[: self.places]
        found = self._candidates(learned).learned_weights([places[row].context for row in drawn], drawn)
        return {**learned, "feature_weights_": found}

    def best_rows(self, contexts: Sequence[Context], left_out: Ints, seeds: Sequence[int]) -> Ints:
        """The candidate with the largest weighted sum; a random row, by the seed, if no query shares a word."""
        best = np.empty(len(contexts), np.int64)
        for place, (rows, features) in enumerate(self._fitted_candidates.described(contexts, left_out)):
            if len(rows):
                best[place] = rows[int(self._weighted(features).argmax())]
            else:
                best[place] = random_row(seeds[place], len(self.corpus_), int(left_out[place]))
        return best

    def candidate_scores(self, contexts: Sequence[Context], candidates: Sequence[Sequence[str]]) -> list[Scores]:
        """The weighted sum without the features that compare queries: a text by itself did not answer one."""
        table, found = self._fitted_candidates, []
        for context, texts in zip(contexts, candidates, strict=True):
            query = table.texts([context_text(context, self.turns)])
            found.append(self._weighted(table.features(query, context, *table.of_replies(texts))))
        return found

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write the weights of the features with the rest."""
        write_arrays(folder / RERANKER, {"feature_weights": self.feature_weights_})
        return super().save_learned(folder)

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """What `save_learned` wrote."""
        arrays = read_arrays(folder / RERANKER, {"feature_weights": Array("f", ("features",))}, features=len(FEATURES))
        return {**super().load_learned(folder, plain), "feature_weights_": arrays["feature_weights"]}

    def _weighted(self, features: Floats) -> Scores:
        # Not a matrix product, which may round differently for another number of candidates.
        scores: Scores = (features * self.feature_weights_).sum(axis=1)
        return scores

    @cached_property
    def _fitted_candidates(self) -> RerankCandidates:
        names = ("corpus_", "vocabulary_", "word_weights_", "matrix_")
        return self._candidates({name: getattr(self, name) for name in names})

    def _candidates(self, learned: Mapping[str, Any]) -> RerankCandidates:
        return RerankCandidates(
            learned["corpus_"],
            learned["vocabulary_"],
            learned["word_weights_"],
            learned["matrix_"],
            self.turns,
            self.candidates,
        )


# Candidates of a corpus for a context, found by keywords, and the features that they are reranked by.
#
# A candidate is a row of the corpus: a *query*, the last turn of a training context, with the reply that it got.


FEATURES = (
    "cosine of the TF-IDF vectors of both queries",
    "cosine of the mean word vectors of both queries",
    "cosine of the TF-IDF vectors of query and reply",
    "cosine of the mean word vectors of query and reply",
    "cosine of the TF-IDF vectors of earlier turns and reply",
    "logarithm of the reply's number of words",
    "logarithm of the reply's number of occurrences in the corpus",
)
_RIDGE = 1e-3
"""Weight of the penalty on large weights, per candidate."""
_BLOCK_CELLS = 1 << 23  # contexts times rows compared at once: 32 MiB


@dataclass(frozen=True, eq=False)
class TextVectors:
    """Some texts as TF-IDF vectors and as mean word vectors, weighted by TF-IDF."""

    words: Any  # sparse, rows of length 1. (texts, words)
    means: Floats  # (texts, dims)

    def rows(self, wanted: Ints | list[int]) -> TextVectors:
        """Some of the texts, in this order."""
        return TextVectors(self.words[wanted], self.means[wanted])


@dataclass(frozen=True, eq=False)
class RerankCandidates:
    """Rows of a corpus, with what their features need."""

    corpus: Corpus
    vocabulary: WordNumbers
    word_weights: Floats
    matrix: Any
    """TF-IDF vectors of the queries of all rows, sparse. (words, rows)"""
    turns: int | None
    """How many of a context's last turns make up its query."""
    most: int
    """Candidates per context."""

    def described(self, contexts: Sequence[Context], left_out: Ints) -> Iterator[tuple[Ints, Floats]]:
        """The rows whose queries share words with each context's, nearest first, and their features.

        (rows,), (rows, features)
        """
        size = max(1, _BLOCK_CELLS // len(self.corpus))
        for start in range(0, len(contexts), size):
            some = contexts[start : start + size]
            queries = self.texts([context_text(context, self.turns) for context in some])
            similarity = (queries.words @ self.matrix).toarray()
            for place, context in enumerate(some):
                near = similarity[place]
                if left_out[start + place] >= 0:
                    near[left_out[start + place]] = 0
                rows = np.argsort(-near, kind="stable")[: self.most]
                rows = rows[near[rows] > 0]
                replies = self.corpus.reply_of_row[rows]
                both = self.features(queries.rows([place]), context, self._replies.rows(replies), self._own[replies])
                both[:, :2] = _cosines(queries.rows([place] * len(rows)), self._texts_of(self.matrix.T[rows]))
                yield rows, both

    def features(self, query: TextVectors, context: Context, replies: TextVectors, own: Floats) -> Floats:
        """One row of FEATURES per reply; 0 for those that compare two queries. `own`: the last two. (replies, 2)"""
        again = [0] * len(own)
        before = "" if self.turns is None else context_text(context[: -self.turns], None)
        earlier = self.texts([before]).rows(again)
        with_query, with_earlier = _cosines(query.rows(again), replies), _cosines(earlier, replies)[:, :1]
        return np.concatenate([np.zeros((len(own), 2)), with_query, with_earlier, own], axis=1)

    def texts(self, texts: Sequence[str]) -> TextVectors:
        """Texts as vectors."""
        return self._texts_of(tfidf_rows(self.vocabulary.counts(texts), self.word_weights))

    def of_replies(self, replies: Sequence[str]) -> tuple[TextVectors, Floats]:
        """Replies as vectors, and the features that depend on nothing else. (replies, 2)"""
        counts = self.vocabulary.counts(replies)
        words = np.asarray(counts.sum(axis=1), np.float64).ravel()
        occurs = dict(zip(self.corpus.replies, np.bincount(self.corpus.reply_of_row).tolist(), strict=True))
        often = np.array([occurs.get(reply, 0) for reply in replies], np.float64)
        own = np.log1p(np.stack([words, often], axis=1))
        return self._texts_of(tfidf_rows(counts, self.word_weights)), own

    def learned_weights(self, contexts: Sequence[Context], own: Ints) -> Floats:
        """The weights of the features that predict, by ridge regression, how similar a candidate is to the true reply.

        `own`: the row of each context with its true reply, which is not among its candidates. (features,)
        """
        described, targets = [np.empty((0, len(FEATURES)))], [np.empty(0)]
        for row, (rows, features) in zip(own.tolist(), self.described(contexts, own), strict=True):
            true = self._replies.rows([int(self.corpus.reply_of_row[row])] * len(rows))
            described.append(features)
            targets.append(_cosines(true, self._replies.rows(self.corpus.reply_of_row[rows])).mean(axis=1))
        matrix, wanted = np.concatenate(described), np.concatenate(targets)
        if not len(matrix):
            return np.zeros(len(FEATURES))
        spread = matrix.std(axis=0)
        spread[spread == 0] = 1
        scaled = (matrix - matrix.mean(axis=0)) / spread
        penalty = _RIDGE * len(matrix) * np.eye(len(FEATURES))
        weights: Floats = np.linalg.solve(scaled.T @ scaled + penalty, scaled.T @ (wanted - wanted.mean())) / spread
        return weights

    @cached_property
    def _replies(self) -> TextVectors:
        return self._described_replies[0]

    @cached_property
    def _own(self) -> Floats:
        return self._described_replies[1]

    @cached_property
    def _described_replies(self) -> tuple[TextVectors, Floats]:
        """The different replies of the corpus."""
        return self.of_replies(self.corpus.replies)

    def _texts_of(self, rows: Any) -> TextVectors:
        return TextVectors(rows, rows @ self._word_vectors)

    @cached_property
    def _word_vectors(self) -> Floats:
        """One vector per word of the vocabulary; 0 for an unknown word. (words, dims)"""
        known = shared_vectors(SHIPPED_VECTORS)
        place = known.lookup(self.vocabulary.words)
        found: Floats = np.where((place >= 0)[:, None], known.matrix[np.maximum(place, 0)].astype(np.float64), 0.0)
        return found


def _cosines(left: TextVectors, right: TextVectors) -> Floats:
    """The cosines of each pair of texts by TF-IDF and by mean word vectors; 0 without a known word. (texts, 2)"""
    by_words = np.asarray(left.words.multiply(right.words).sum(axis=1), np.float64).ravel()
    lengths = np.sqrt((left.means**2).sum(axis=1) * (right.means**2).sum(axis=1))
    by_means = (left.means * right.means).sum(axis=1) / np.where(lengths > 0, lengths, 1)
    return np.stack([by_words, by_means], axis=1)

"""TF-IDF retrieval of Liu et al. 2016 (section 3): tfidf(w, c) = f(w, c) * log(N / N_w), nearest by cosine.

f(w, c) is the count of a word in a context or reply, N the number of dialogues, N_w the number of those with the word.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from rejoinder.learning.fitted import DialogueData
from rejoinder.reply_models.base import Context
from rejoinder.reply_models.retrieval.bags import Vocabulary, document_frequencies, tfidf_rows
from rejoinder.reply_models.retrieval.base import Corpus, context_text, places_to_learn
from rejoinder.reply_models.retrieval.lexical import Lexical
from rejoinder.types import Scores

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
        vocabulary = Vocabulary.of(whole)
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

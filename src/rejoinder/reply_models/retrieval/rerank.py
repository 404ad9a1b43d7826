"""Retrieve and rerank, the retrieval system that Tao et al. 2018 judge: keywords find candidates, features order them.

Tao et al. name no features and refer to Song et al. 2016, whose features are weighted by labels of people. Here the
weights are learned from the dialogues: they predict how similar a candidate is to the true reply.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rejoinder.arrays import Floats, Ints
from rejoinder.learning.fitted import DialogueData
from rejoinder.learning.parameters import check_least
from rejoinder.learning.saving import read_arrays, write_arrays
from rejoinder.loading.array_schema import Array
from rejoinder.reply_models.base import Context
from rejoinder.reply_models.retrieval.base import Corpus, context_text, places_to_learn
from rejoinder.reply_models.retrieval.lexical import random_row
from rejoinder.reply_models.retrieval.rerank_features import FEATURES, Candidates
from rejoinder.reply_models.retrieval.tfidf import Tfidf
from rejoinder.types import Scores

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
    def _fitted_candidates(self) -> Candidates:
        names = ("corpus_", "vocabulary_", "word_weights_", "matrix_")
        return self._candidates({name: getattr(self, name) for name in names})

    def _candidates(self, learned: Mapping[str, Any]) -> Candidates:
        return Candidates(
            learned["corpus_"],
            learned["vocabulary_"],
            learned["word_weights_"],
            learned["matrix_"],
            self.turns,
            self.candidates,
        )

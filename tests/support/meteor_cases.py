"""Sentences encoded for METEOR's kernel, and its scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rejoinder.arrays import Ints, Ragged
from rejoinder.metrics.meteor.matching import MeteorParameters
from rejoinder.metrics.meteor.metric import (
    Statistics,
    best_statistics,
    corpus_statistics,
    reference_statistics,
    score_from_statistics,
)
from rejoinder.metrics.meteor.paraphrase import ParaphraseTable
from rejoinder.types import Scores

Encoded = tuple[list[str], Ragged, Ragged, Ints]


def encoded(cases: Sequence[tuple[str, Sequence[str]]]) -> Encoded:
    """Vocabulary, replies, references and owner of (reply, references)."""
    codes: dict[str, int] = {}

    def row(text: str) -> list[int]:
        return [codes.setdefault(word, len(codes)) for word in text.split()]

    replies = Ragged.of([row(reply) for reply, _ in cases])
    references = Ragged.of([row(text) for _, texts in cases for text in texts])
    owner = np.repeat(np.arange(len(cases)), [len(texts) for _, texts in cases])
    return list(codes), replies, references, owner


def meteor_statistics(
    cases: Encoded, parameters: MeteorParameters, paraphrases: ParaphraseTable | None = None
) -> Statistics:
    """The statistics of each reply with its best reference."""
    _, replies, _, owner = cases
    each = reference_statistics(*cases, parameters, paraphrases)
    return best_statistics(each, owner, len(replies), parameters)


def meteor_scores(cases: Encoded, parameters: MeteorParameters, paraphrases: ParaphraseTable | None = None) -> Scores:
    """The score of each reply with its best reference."""
    return score_from_statistics(meteor_statistics(cases, parameters, paraphrases), parameters)


def corpus_score(statistics: Statistics, parameters: MeteorParameters) -> float:
    """The score of all replies together."""
    return float(score_from_statistics(corpus_statistics(statistics)[np.newaxis], parameters)[0])

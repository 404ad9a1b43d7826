"""Sentences as METEOR's kernel takes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rejoinder.arrays import Ints, Ragged

Encoded = tuple[list[str], Ragged, Ragged, Ints]


def encoded(cases: Sequence[tuple[str, Sequence[str]]]) -> Encoded:
    """Vocabulary, hypotheses, references and owner of (reply, references)."""
    codes: dict[str, int] = {}

    def row(text: str) -> list[int]:
        return [codes.setdefault(word, len(codes)) for word in text.split()]

    hypotheses = Ragged.of([row(reply) for reply, _ in cases])
    references = Ragged.of([row(text) for _, texts in cases for text in texts])
    owner = np.repeat(np.arange(len(cases)), [len(texts) for _, texts in cases])
    return list(codes), hypotheses, references, owner

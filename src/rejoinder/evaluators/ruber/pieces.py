"""Texts as the tokens of a reply model, for networks that start from its encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rejoinder.arrays import Ragged
from rejoinder.text.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class PieceReader:
    """Turns texts into rows of tokens, each with the one that ends it."""

    vocabulary: Vocabulary
    max_length: int

    def rows(self, texts: Sequence[str]) -> Ragged:
        """The token numbers of each text; what is too long loses its end, as when the reply model learned."""
        return Ragged.of(self.vocabulary.encode(texts, self.max_length))

"""The judged replies of DSTC6 in folds of items: no reply is scored by a model that saw its item's references."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from papers.published.am_fm import SENTENCES
from papers.replies import RatedReplies
from rejoinder.arrays import Ints
from rejoinder.learning.data import examples_digest, fold_of_groups
from rejoinder.types import Dialogue, Example

FOLDS, SEED = 5, 0


@dataclass(frozen=True, eq=False)
class Dstc6(RatedReplies):
    """All replies, and which items each fold tests."""

    folds: int = FOLDS
    seed: int = SEED

    @cached_property
    def item_of(self) -> Ints:
        """The item of each reply, as a number."""
        return np.array([int(example.context_id) for example in self.examples])

    @cached_property
    def references(self) -> dict[int, tuple[str, ...]]:
        """Item -> its references."""
        return {int(example.context_id): example.references for example in self.examples}

    @cached_property
    def key(self) -> list[object]:
        """Everything except the models that scores of these replies depend on."""
        return [examples_digest(self.examples), self.folds, self.seed]

    def fold_of_rows(self, folds: int | None = None) -> Ints:
        """The fold of each reply: that of its item."""
        return fold_of_groups(self.item_of, self.folds if folds is None else folds, self.seed, by_size=False)

    def parts(self, folds: int | None = None) -> Iterator[tuple[list[Dialogue], Ints]]:
        """For each fold: sentences of all other folds, and the rows to score."""
        fold_of = self.fold_of_rows(folds)
        for fold in range(int(fold_of.max()) + 1):
            rows = np.flatnonzero(fold_of == fold)
            yield sentences(self.unseen(rows), SENTENCES, self.seed), rows

    def unseen(self, rows: Ints) -> list[str]:
        """References of the other items, excluding texts that also occur in these rows' items."""
        items = set(self.item_of[rows].tolist())
        own = {text.strip() for item in items for text in self.references[item]}
        others = (text for item, texts in self.references.items() if item not in items for text in texts)
        return [text for text in others if text.strip() not in own]

    def rows(self, rows: Ints) -> list[Example]:
        """The replies of these rows."""
        return [self.examples[row] for row in rows.tolist()]


def sentences(texts: Sequence[str], most: int = SENTENCES, seed: int = SEED) -> list[Dialogue]:
    """At most `most` texts, drawn at random, each as a dialogue of one turn."""
    chosen = np.random.default_rng(seed).permutation(len(texts))[:most]
    return [Dialogue(str(place), (texts[place],)) for place in chosen.tolist()]

"""How often each n-gram of a text occurs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.arrays import Ints, Ragged
from rejoinder.language_models.ngram.model import SPECIAL, START, ended, with_special


@dataclass(frozen=True, eq=False)
class CountLevel:
    """The n-grams of one order that occur, sorted by their keys (as in `model`)."""

    keys: Ints  # (n-grams,)
    counts: Ints  # (n-grams,)

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, eq=False)
class Counts:
    """The n-grams of sentences, each sentence between `<s>` and `</s>`."""

    words: tuple[str, ...]
    levels: tuple[CountLevel, ...]
    """Level 1 has every word of the vocabulary, `<unk>` with 0."""

    @classmethod
    def of(cls, vocabulary: Sequence[str], sentences: Ragged, order: int) -> Counts:
        """Of sentences as codes into a vocabulary, up to n-grams of `order` words."""
        words = with_special(vocabulary)
        number = {word: place for place, word in enumerate(words)}
        # A text that spells a mark means the letters, not the mark.
        code = np.array([number[word] if word not in SPECIAL else 0 for word in vocabulary], np.int64)
        text = ended(Ragged(code[sentences.values], sentences.offsets))
        size, firsts, start = len(words), text.offsets[:-1], START
        levels = [CountLevel(np.arange(size), np.bincount(text.values, minlength=size))]
        levels[0].counts[START] = len(text)
        place = text.values
        for _ in range(1, order):
            before = np.roll(place, 1)
            before[firsts], start = start, -1
            inside = np.flatnonzero(before >= 0)
            keys, found, counts = np.unique(
                before[inside] * size + text.values[inside], return_inverse=True, return_counts=True
            )
            place = np.full(len(place), -1)
            place[inside] = found
            levels.append(CountLevel(keys, counts))
        return cls(words, tuple(levels))

    @property
    def size(self) -> int:
        """How many words the vocabulary has, marks included."""
        return len(self.words)

    def contexts(self, order: int) -> Ints:
        """The place, one level below, of the words before the last of each n-gram."""
        return self.levels[order - 1].keys // self.size

    def last_words(self, order: int) -> Ints:
        """The last word of each n-gram."""
        return self.levels[order - 1].keys % self.size

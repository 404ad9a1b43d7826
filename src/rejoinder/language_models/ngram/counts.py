"""How often each n-gram of a text occurs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.arrays import Ints, Ragged
from rejoinder.language_models.ngram.model import SPECIAL, START, ended, with_special


@dataclass(frozen=True, eq=False)
class CountLevel:
    """The n-grams of one order that occur, sorted by their keys (see `model`)."""

    keys: Ints  # (n-grams,)
    counts: Ints  # (n-grams,)

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, eq=False)
class Counts:
    """The n-grams of sentences, each sentence between `<s>` and `</s>`."""

    words: tuple[str, ...]
    levels: tuple[CountLevel, ...]
    """Level 1 has every word of the vocabulary; `<unk>` has count 0."""

    @classmethod
    def of(cls, vocabulary: Sequence[str], sentences: Ragged, order: int) -> Counts:
        """Count n-grams of up to `order` words in sentences given as codes into a vocabulary."""
        words = with_special(vocabulary)
        number = {word: place for place, word in enumerate(words)}
        # A special token that is spelled out in a text is treated as an unknown word.
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
        """The size of the vocabulary, special tokens included."""
        return len(self.words)

    def contexts(self, order: int) -> Ints:
        """The position, one level below, of each n-gram without its last word."""
        return self.levels[order - 1].keys // self.size

    def last_words(self, order: int) -> Ints:
        """The last word of each n-gram."""
        return self.levels[order - 1].keys % self.size

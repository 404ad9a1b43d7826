"""All possible matches between replies and references, from which an alignment is chosen.

Row i of `left` (replies) belongs to row i of `right` (references). A match pairs `length` words of the reference, from
`start` on, with `left_length` words of the reply, from `left_start` on. Positions index `right.values` and
`left.values`, across all rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ints, Ragged
from rejoinder.metrics.meteor.lexicon import Lexicon
from rejoinder.metrics.meteor.parameters import EXACT, STEM, SYNONYM


@dataclass(frozen=True, slots=True)
class Matches:
    """Matches as columns."""

    start: Ints
    length: Ints
    left_start: Ints
    left_length: Ints
    module: Ints

    @classmethod
    def of_words(cls, left: Ints, right: Ints, module: int) -> Matches:
        """Matches of single words."""
        one = np.ones(len(left), np.int64)
        return cls(right, one, left, one, np.full(len(left), module))

    def __len__(self) -> int:
        return len(self.start)

    @property
    def end(self) -> Ints:
        """The position after the last word in the reference."""
        return self.start + self.length

    @property
    def left_end(self) -> Ints:
        """The position after the last word in the reply."""
        return self.left_start + self.left_length

    def take(self, chosen: Ints | NDArray[np.bool_]) -> Matches:
        """The chosen matches."""
        return Matches(*(column[chosen] for column in self._columns()))

    def __add__(self, other: Matches) -> Matches:
        return Matches(*map(np.concatenate, zip(self._columns(), other._columns(), strict=True)))

    def _columns(self) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        return self.start, self.length, self.left_start, self.left_length, self.module

    def by_start(self) -> Matches:
        """The same matches sorted by their position in the reference; the sort is stable."""
        return self.take(np.argsort(self.start, kind="stable"))


def word_matches(lexicon: Lexicon, left: Ragged, right: Ragged) -> Matches:
    """Matches of equal words, then by stem, then of synonyms; a pair may match both by stem and as synonyms."""
    left_at, right_at = lexicon.related.passing(left, right)
    left_word, right_word = left.values[left_at], right.values[right_at]
    equal = left_word == right_word
    exact = Matches.of_words(left_at[equal], right_at[equal], EXACT)
    left_at, right_at = left_at[~equal], right_at[~equal]
    left_word, right_word = left_word[~equal], right_word[~equal]
    same_stem = lexicon.stems[left_word] == lexicon.stems[right_word]
    stems = Matches.of_words(left_at[same_stem], right_at[same_stem], STEM)
    synonymous = lexicon.are_synonyms(left_word, right_word)
    synonyms = Matches.of_words(left_at[synonymous], right_at[synonymous], SYNONYM)
    return exact + stems + synonyms

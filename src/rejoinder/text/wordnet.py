"""The WordNet 3.0 synsets of English words: two words are synonyms if they share a synset.

A word has its own synsets and those of its base form: "geese" has those of "goose", "went" those of "go", "likes" those
of "like". An irregular form has the bases that WordNet lists for it; any other word has the first base found by
WordNet's rules of detachment, as in METEOR 1.5. The table comes with the package (built by recipes/wordnet_table.py)
and is loaded at first use.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ragged, offsets_of
from rejoinder.loading.foreign import array_archive

# Suffix and replacement, in the order they are tried: nouns, verbs, adjectives. From morphy(7WN).
_DETACHMENTS = (
    ("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"),
    ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", ""), ("er", ""),
    ("est", ""), ("er", "e"), ("est", "e"),
)  # fmt: skip
_DETACHABLE = tuple({suffix for suffix, _ in _DETACHMENTS})


@dataclass(frozen=True, slots=True)
class WordNet:
    """Which synsets a word belongs to."""

    words: list[str]  # ascending
    word_synsets: Ragged  # one row per word
    forms: dict[str, int]  # irregular form -> row of `form_synsets`
    form_synsets: Ragged  # the synsets of all base words of an irregular form

    def synsets_of(self, word: str) -> tuple[int, ...]:
        """The synsets of a lower-case word and of its base form, ascending; () for an unknown word."""
        return tuple(sorted({*self._own(word), *self._of_base(word)}))

    def _own(self, word: str) -> list[int]:
        row = bisect_left(self.words, word)
        if row == len(self.words) or self.words[row] != word:
            return []
        return list(self.word_synsets[row].tolist())

    def _of_base(self, word: str) -> list[int]:
        if word in self.forms:
            return list(self.form_synsets[self.forms[word]].tolist())
        if not word.endswith(_DETACHABLE) or word.endswith("ss") or len(word) <= 2:
            return []
        for suffix, ending in _DETACHMENTS:
            if word.endswith(suffix):
                of_base = self._own(word[: -len(suffix)] + ending)
                if of_base:
                    return of_base
        return []


@cache
def wordnet() -> WordNet:
    """The table that comes with the package, loaded once."""
    with files("rejoinder").joinpath("resources", "wordnet.npz").open("rb") as file, array_archive(file) as table:
        return WordNet(
            words=_lines(table["words"]),
            word_synsets=_ragged(table["words_synsets"], table["words_synset_counts"]),
            forms={form: row for row, form in enumerate(_lines(table["forms"]))},
            form_synsets=_ragged(table["forms_synsets"], table["forms_synset_counts"]),
        )


@lru_cache(maxsize=1 << 18)
def synsets(word: str) -> tuple[int, ...]:
    """The synsets of a lower-case word and of its base form, ascending; () for an unknown word."""
    return wordnet().synsets_of(word)


def _lines(text: NDArray[np.uint8]) -> list[str]:
    return text.tobytes().decode("ascii").split("\n")


def _ragged(values: NDArray[np.int32], counts: NDArray[np.uint8]) -> Ragged:
    return Ragged(values.astype(np.int64), offsets_of(counts.astype(np.int64)))

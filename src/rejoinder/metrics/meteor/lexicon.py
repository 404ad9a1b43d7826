"""METEOR's information on each word of a batch: its stem, its synonyms, and whether it is a function word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ints
from rejoinder.metrics.meteor.parameters import MeteorParameters
from rejoinder.metrics.meteor.relation import PairFilter, find, sharing
from rejoinder.text.stemming import stem
from rejoinder.text.wordnet import synsets

_NO_PAIRS = (np.zeros(0, np.int64), np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The words of a batch, as codes 0, 1, ..."""

    words: list[str]
    is_function: NDArray[np.bool_]  # by code
    stems: Ints  # by code: words with the same stem have the same number
    synonyms: Ints  # ascending left * len(words) + right of all synonyms, in both directions
    related: PairFilter  # equal words, words with the same stem, synonyms

    @classmethod
    def of(cls, words: list[str], parameters: MeteorParameters) -> Lexicon:
        """The lexicon of distinct words."""
        size = len(words)
        every = np.arange(size)
        stems = _stem_codes(words) if parameters.use_stems else every
        stem_pairs = sharing(stems, every) if parameters.use_stems else _NO_PAIRS
        synonym_pairs = _synonyms(words) if parameters.use_synonyms else _NO_PAIRS
        left, right = (np.concatenate(side) for side in zip((every, every), stem_pairs, synonym_pairs, strict=True))
        function_words = meteor_function_words()
        return cls(
            words=words,
            is_function=np.fromiter((word.lower() in function_words for word in words), np.bool_, size),
            stems=stems,
            synonyms=synonym_pairs[0] * size + synonym_pairs[1],
            related=PairFilter.of(left, right, size),
        )

    def are_synonyms(self, left: Ints, right: Ints) -> NDArray[np.bool_]:
        """Whether the two words of each pair are different and share a synset."""
        return find(left * len(self.words) + right, self.synonyms)[0]


def used_words(vocabulary: Sequence[str], *codes: Ints) -> tuple[list[str], Ints]:
    """The words that occur, and for each code of the vocabulary the index of its word among them."""
    occurs = np.zeros(len(vocabulary), np.bool_)
    for values in codes:
        occurs[values] = True
    used = np.flatnonzero(occurs)
    return [vocabulary[code] for code in used.tolist()], np.cumsum(occurs) - 1


@cache
def meteor_function_words() -> frozenset[str]:
    """METEOR 1.5's English function words: those with a relative frequency above 0.001 in its training text."""
    path = files("rejoinder").joinpath("resources", "meteor_function_words.txt")
    return frozenset(path.read_text("utf-8").split())


def _stem_codes(words: list[str]) -> Ints:
    codes: dict[str, int] = {}
    return np.fromiter((codes.setdefault(stem(word), len(codes)) for word in words), np.int64, len(words))


def _synonyms(words: list[str]) -> tuple[Ints, Ints]:
    of_word = [synsets(word) for word in words]
    counts = np.fromiter(map(len, of_word), np.int64, len(words))
    groups = np.fromiter(chain.from_iterable(of_word), np.int64, int(counts.sum()))
    return sharing(groups, np.repeat(np.arange(len(words)), counts))

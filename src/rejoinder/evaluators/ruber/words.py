"""Texts as numbers of a vocabulary's words; jieba cuts Chinese into words where that is asked for."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from typing import Any

import numpy as np
import polars as pl

from rejoinder.arrays import Ints, Ragged, offsets_of
from rejoinder.learning.extras import require_extra
from rejoinder.metrics.batch import TextOptions, encode
from rejoinder.text.cleaning import writable
from rejoinder.text.tokenise import TOKENISERS

PAD, UNKNOWN = 0, 1
FIRST_WORD = 2
"""The number of a vocabulary's first word in a table of embeddings."""
JIEBA = "jieba"
"""A way to tokenise beside the package's own: words of Chinese by a dictionary."""
WAYS = (*TOKENISERS, JIEBA)


@dataclass(frozen=True, eq=False)
class WordReader:
    """Turns texts into rows of word numbers, none of them empty; what is too long loses its beginning."""

    words: tuple[str, ...]
    text: TextOptions
    max_length: int

    def rows(self, texts: Sequence[str]) -> Ragged:
        """The word numbers of each text, as the table of embeddings has them."""
        vocabulary, found = tokenised(texts, self.text)
        number = self._number.get
        numbers = np.fromiter((number(word, UNKNOWN) for word in vocabulary), np.int64, len(vocabulary))
        kept = np.minimum(found.lengths, self.max_length)
        lengths = np.maximum(kept, 1)
        offsets = offsets_of(lengths)
        source = np.repeat(found.offsets[1:] - kept - offsets[:-1], lengths) + np.arange(offsets[-1])
        values = np.full(len(source), UNKNOWN, np.int64)  # a text without a word is one unknown word
        has = np.repeat(kept > 0, lengths)
        values[has] = numbers[found.values[source[has]]]
        return Ragged(values, offsets)

    @cached_property
    def _number(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words, start=FIRST_WORD)}


def tokenised(texts: Sequence[str], options: TextOptions) -> tuple[list[str], Ragged]:
    """The different words of all texts, and each text as codes into them."""
    column = pl.Series(list(map(writable, texts)), dtype=pl.String)
    if options.tokenise == JIEBA:
        column = pl.Series(_cut(column.to_list()), dtype=pl.String)
        options = TextOptions("whitespace", options.lowercase, options.strip)
    vocabulary, rows = encode(column, options)
    return vocabulary.to_list(), rows


def common_words(texts: Sequence[str], options: TextOptions, least: int, most: int) -> tuple[tuple[str, ...], Ragged]:
    """The words that occur often enough, commonest first, and each text as codes into them; -1: another word."""
    words, rows = tokenised(texts, options)
    counts = np.bincount(rows.values, minlength=len(words))
    # In the order of the alphabet where counts are equal: else it would hang on how strings are hashed.
    often = sorted(np.flatnonzero(counts >= least).tolist(), key=lambda code: (-counts[code], words[code]))[:most]
    place: Ints = np.full(len(words), -1, np.int64)
    place[often] = np.arange(len(often))
    return tuple(words[code] for code in often), Ragged(place[rows.values], rows.offsets)


def require_way(tokenise: str) -> None:
    """Raise a MissingExtraError where a way to tokenise is not installed."""
    if tokenise == JIEBA:
        require_extra("chinese", "cutting Chinese into words")


def _cut(texts: Sequence[str]) -> list[str]:
    """Each text with spaces between its words."""
    require_way(JIEBA)
    cutter = _jieba()
    return [" ".join(cutter.cut(text)) for text in texts]


@cache
def _jieba() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it was written for older versions of Python
        jieba = import_module("jieba")
    jieba.setLogLevel("ERROR")  # it tells on standard error how it reads its dictionary
    cutter = jieba.Tokenizer()
    cutter.initialize()
    return cutter

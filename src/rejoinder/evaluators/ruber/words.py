"""Text to words, by the tokenisers that metrics have, or by jieba, which segments Chinese into words."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import polars as pl

from rejoinder.arrays import Ints, Ragged
from rejoinder.learning.extras import require_extra
from rejoinder.metrics.batch import TextOptions, encode
from rejoinder.text.cleaning import writable
from rejoinder.text.tokenise import TOKENISERS

JIEBA = "jieba"
"""A tokeniser in addition to the package's own: segments Chinese into words with a dictionary."""
TOKENISER_NAMES = (*TOKENISERS, JIEBA)


def tokenised(texts: Sequence[str], options: TextOptions) -> tuple[list[str], Ragged]:
    """The distinct words of all texts, and each text as indices into them."""
    column = pl.Series(list(map(writable, texts)), dtype=pl.String)
    if options.tokenise == JIEBA:
        column = pl.Series(_cut(column.to_list()), dtype=pl.String)
        options = TextOptions("whitespace", options.lowercase, options.strip)
    vocabulary, rows = encode(column, options)
    return vocabulary.to_list(), rows


def common_words(texts: Sequence[str], options: TextOptions, least: int, most: int) -> tuple[tuple[str, ...], Ragged]:
    """The words that occur at least `least` times, most frequent first, and each text as indices into them; -1: another
    word."""
    words, rows = tokenised(texts, options)
    counts = np.bincount(rows.values, minlength=len(words))
    # Words of equal counts in alphabetical order: otherwise it would depend on how strings are hashed.
    often = sorted(np.flatnonzero(counts >= least).tolist(), key=lambda code: (-counts[code], words[code]))[:most]
    place: Ints = np.full(len(words), -1, np.int64)
    place[often] = np.arange(len(often))
    return tuple(words[code] for code in often), Ragged(place[rows.values], rows.offsets)


def require_tokeniser(tokenise: str) -> None:
    """Raise a MissingExtraError if a tokeniser is not installed."""
    if tokenise == JIEBA:
        require_extra("chinese", "cutting Chinese into words")


def _cut(texts: Sequence[str]) -> list[str]:
    """Each text with spaces between its words."""
    require_tokeniser(JIEBA)
    cutter = _jieba()
    return [" ".join(cutter.cut(text)) for text in texts]


@cache
def _jieba() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it was written for older versions of Python
        jieba = import_module("jieba")
    jieba.setLogLevel("ERROR")  # otherwise it reports on standard error how it reads its dictionary
    cutter = jieba.Tokenizer()
    cutter.initialize()
    return cutter

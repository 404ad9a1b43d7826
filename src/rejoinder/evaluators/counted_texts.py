"""Texts as indices of their words, and what is counted in them: words, characters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from zlib import crc32

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rejoinder.arrays import Ints
from rejoinder.text.tokenise import token_codes
from rejoinder.types import Example


@dataclass(frozen=True, eq=False)
class CountedTexts:
    """The replies of some examples, then the last turns of their contexts, as word indices."""

    texts: Sequence[str]
    reply_words: Ints
    context_words: Ints
    """Words of the whole context."""
    vocabulary: pl.Series
    words: Ints
    """Indices into the vocabulary, text after text."""
    owner: Ints
    """The text of each word."""

    @classmethod
    def of(cls, examples: Sequence[Example]) -> CountedTexts:
        """The texts of these examples."""
        replies = [_sound(example.response) for example in examples]
        last = [_sound(example.context[-1]) if example.context else "" for example in examples]
        vocabulary, rows = token_codes(pl.Series([*replies, *last], dtype=pl.String), "words", lowercase=True)
        contexts = [_sound(" ".join(example.context)) for example in examples]
        return cls(
            [*replies, *last],
            word_counts(replies),
            word_counts(contexts),
            vocabulary,
            rows.values,
            rows.row_of_value,
        )

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def hashes(self) -> NDArray[np.uint32]:
        """The same hash for a word on every machine. (vocabulary,)"""
        return np.fromiter((crc32(word.encode()) for word in self.vocabulary), np.uint32, len(self.vocabulary))

    @cached_property
    def is_word(self) -> NDArray[np.bool_]:
        """Which tokens begin with a letter: punctuation and numbers belong to no language. (vocabulary,)"""
        return np.fromiter((word[0].isalpha() for word in self.vocabulary), np.bool_, len(self.vocabulary))

    @cached_property
    def characters(self) -> NDArray[np.uint32]:
        """The code points of all texts, text after text."""
        return np.frombuffer("".join(self.texts).encode("utf-32-le"), np.uint32)

    def totals(self, of_word: NDArray[Any]) -> Ints:
        """The sum over each text's words of one number per word of the vocabulary."""
        return np.bincount(self.owner, weights=of_word[self.words], minlength=len(self)).astype(np.int64)

    def sums(self, flags: NDArray[np.bool_]) -> Ints:
        """The number of flagged characters of each text."""
        ends = np.cumsum(np.fromiter(map(len, self.texts), np.int64, len(self.texts)))
        total = np.concatenate([[0], np.cumsum(flags, dtype=np.int64)])
        return np.diff(total[ends], prepend=0)


def word_counts(texts: Sequence[str] | pl.Series) -> Ints:
    """The number of runs of letters and digits of each text, so that spaces before punctuation do not matter."""
    return pl.Series(texts, dtype=pl.String).str.count_matches(r"[\p{L}\p{N}]+").to_numpy().astype(np.int64)


def _sound(text: str) -> str:
    """A text without lone surrogates, which cannot be encoded."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()

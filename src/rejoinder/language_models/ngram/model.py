"""A language model with back-off, stored as arrays.

Words are numbered; the first three are `<unk>`, `<s>` and `</s>`. An n-gram is identified by its position in the arrays
of its order (its level). Its key combines the position of its first n - 1 words in the level below with the number of
its last word; at level 1 the position is the word's number. The n-grams that end at each word of a text are therefore
found level by level, for all words of all sentences at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from rejoinder.arrays import Floats, Ints, Ragged, offsets_of
from rejoinder.errors import DataError

UNKNOWN, START, END = 0, 1, 2
SPECIAL = ("<unk>", "<s>", "</s>")
_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio: a bijection that spreads keys evenly


@dataclass(frozen=True, eq=False)
class Level:
    """All n-grams of one order, sorted by their keys."""

    keys: Ints  # (n-grams,): position of the first n - 1 words * size of the vocabulary + last word
    log_prob: Floats  # (n-grams,): log10 of the last word's probability after the others; -inf for probability 0
    back_off: Floats  # (n-grams,): log10 of the back-off weight, for longer n-grams that were not seen

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def _table(self) -> _KeyTable:
        return _KeyTable(self.keys)

    def find(self, keys: Ints) -> Ints:
        """The position of each key; -1 for one that is not in the level."""
        return self._table.find(keys) if len(self.keys) else np.full(len(keys), -1)


class _KeyTable:
    """A hash table of keys by the leading bits of a multiplicative hash; nearly all are found at the first look."""

    def __init__(self, keys: Ints) -> None:
        mixed = keys.view(np.uint64) * _ODD
        self._order = np.argsort(mixed)
        # A sentinel above all others ends every search.
        self._mixed = np.append(mixed[self._order], np.uint64(2**64 - 1))
        bits = len(keys).bit_length() + 2
        self._shift = np.uint64(64 - bits)
        self._starts = np.searchsorted(self._mixed[:-1], np.arange(1 << bits, dtype=np.uint64) << self._shift)

    def find(self, keys: Ints) -> Ints:
        wanted = keys.view(np.uint64) * _ODD
        place = self._starts[(wanted >> self._shift).view(np.int64)]
        there = self._mixed[place]
        waiting = np.flatnonzero(there < wanted)
        while len(waiting):
            place[waiting] += 1
            there[waiting] = self._mixed[place[waiting]]
            waiting = waiting[there[waiting] < wanted[waiting]]
        found = there == wanted
        found &= place < len(self._order)
        return np.where(found, self._order[np.minimum(place, len(self._order) - 1)], -1)


@dataclass(frozen=True, eq=False)
class NgramModel:
    """The probability of each word after the words before it."""

    words: tuple[str, ...]
    levels: tuple[Level, ...]

    @property
    def order(self) -> int:
        """The length of its longest n-grams, in words."""
        return len(self.levels)

    @property
    def is_open(self) -> bool:
        """Whether unknown words have a probability."""
        return bool(np.isfinite(self.levels[0].log_prob[UNKNOWN]))

    @cached_property
    def _number(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words) if number not in {START, END}}

    def numbers(self, words: Sequence[str]) -> Ints:
        """The number of each word; that of `<unk>` for an unknown word."""
        number = self._number.get
        return np.fromiter((number(word, UNKNOWN) for word in words), np.int64, len(words))

    def word_log_probs(self, sentences: Ragged) -> Floats:
        """log10 p of each word after those before it in its sentence. (words,)

        Sentences are rows of word numbers; `ended` adds the end of each. In a model that is not open, unknown words
        have NaN.
        """
        firsts = sentences.offsets[:-1][sentences.lengths > 0]
        log_probs = self._log_probs(sentences.values, firsts, START)
        if not self.is_open:
            log_probs[sentences.values == UNKNOWN] = np.nan
        return log_probs

    def mean_log_probs(self, sentences: Ragged) -> Floats:
        """The mean log10 p of each sentence's words; NaN if no word has a probability. (sentences,)

        Words without a probability are left out of the mean, as in SRILM's perplexities.
        """
        means = np.full(len(sentences), np.nan)
        some = np.flatnonzero(sentences.lengths)
        if not len(some):
            return means
        log_probs, firsts = self.word_log_probs(sentences), sentences.offsets[some]
        known = np.isfinite(log_probs)  # not: unknown to a closed model, or of probability 0 in the ARPA file
        if known.all():
            means[some] = np.add.reduceat(log_probs, firsts) / sentences.lengths[some]
            return means
        count = np.add.reduceat(known.astype(np.int64), firsts)
        total = np.add.reduceat(np.where(known, log_probs, 0.0), firsts)
        means[some] = np.divide(total, count, out=np.full(len(some), np.nan), where=count > 0)
        return means

    def last_word_log_probs(self, ngrams: Ints) -> Floats:
        """log10 p of the last word of each row after the others, anywhere in a text. (rows, words) -> (rows,)"""
        rows, width = ngrams.shape
        log_probs = self._log_probs(ngrams.ravel(), np.arange(0, rows * width, width), -1)
        return log_probs[width - 1 :: width]

    def ngrams(self, order: int) -> Ints:
        """The words of each n-gram of an order. (n-grams, order)"""
        columns: list[Ints] = []
        places = np.arange(len(self.levels[order - 1]))
        for level in reversed(self.levels[1:order]):
            keys = level.keys[places]
            columns.append(keys % len(self.words))
            places = keys // len(self.words)
        return np.stack([places, *reversed(columns)], axis=1)

    def _log_probs(self, words: Ints, firsts: Ints, start: int) -> Floats:
        """log10 p of each word of concatenated rows; before the first word of each is `start`, or nothing if -1."""
        size = len(self.words)
        place = words  # position of the n-gram that ends at each word; -1: it is not in the level
        log_prob = self.levels[0].log_prob[words]
        for below, level in zip(self.levels, self.levels[1:], strict=False):
            before = np.empty_like(words)  # position of the n-gram that ends at the previous word
            before[1:] = place[:-1]
            before[firsts] = start
            start = -1  # there is nothing before the start of a sentence
            # A negative key is not found: the history is not in the model.
            place = level.find(np.where(before < 0, -1, before * size + words))
            # Known n-grams have their own probability; others get that of the shorter n-gram times the back-off weight.
            if len(below):
                log_prob = log_prob + np.where(before < 0, 0.0, below.back_off[before])
            if len(level):
                log_prob = np.where(place < 0, log_prob, level.log_prob[place])
        return log_prob


def checked_model(words: tuple[str, ...], levels: tuple[Level, ...], file: str) -> NgramModel:
    """The model of words and levels that were read from a file; DataError if they do not fit together."""
    if words[: len(SPECIAL)] != SPECIAL:
        raise DataError(f"must begin with {', '.join(SPECIAL)}", file=file, field="words")
    for order, (below, level) in enumerate(pairwise(levels), start=2):
        if len(level) and not (level.keys.min() >= 0 and level.keys.max() < len(below) * len(words)):
            raise DataError("holds n-grams of words that are not known", file=file, field=f"keys.{order}")
    plain = (Level(level.keys.astype(np.int64), level.log_prob, level.back_off) for level in levels)
    return NgramModel(words, tuple(plain))


def ended(sentences: Ragged) -> Ragged:
    """The sentences, each followed by the end-of-sentence token."""
    offsets = offsets_of(sentences.lengths + 1)
    values = np.full(offsets[-1], END)
    shift = np.repeat(offsets[:-1] - sentences.offsets[:-1], sentences.lengths)
    values[shift + np.arange(len(sentences.values))] = sentences.values
    return Ragged(values, offsets)


def with_special(words: Iterable[str]) -> tuple[str, ...]:
    """The vocabulary of a model: the three special tokens, then the different words in their order."""
    return tuple(dict.fromkeys([*SPECIAL, *words]))

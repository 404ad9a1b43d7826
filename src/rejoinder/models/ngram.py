"""N-gram language models: counting, scoring of many sentences at once, back-off, pruning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from rejoinder.arrays import Floats, Ints, Ragged, offsets_of
from rejoinder.errors import DataError

# A language model with back-off, stored as arrays.
#
# Words are numbered; the first three are `<unk>`, `<s>` and `</s>`. An n-gram is identified by its position in the
# arrays of its order (its level). Its key combines the position of its first n - 1 words in the level below with the
# number of its last word; at level 1 the position is the word's number. The n-grams that end at each word of a text
# are therefore found level by level, for all words of all sentences at once.


UNKNOWN, START, END = 0, 1, 2
SPECIAL = ("<unk>", "<s>", "</s>")
_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio: a bijection that spreads keys evenly


@dataclass(frozen=True, eq=False)
class NgramLevel:
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
    levels: tuple[NgramLevel, ...]

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


def checked_model(words: tuple[str, ...], levels: tuple[NgramLevel, ...], file: str) -> NgramModel:
    """The model of words and levels that were read from a file; DataError if they do not fit together."""
    if words[: len(SPECIAL)] != SPECIAL:
        raise DataError(f"must begin with {', '.join(SPECIAL)}", file=file, field="words")
    for order, (below, level) in enumerate(pairwise(levels), start=2):
        if len(level) and not (level.keys.min() >= 0 and level.keys.max() < len(below) * len(words)):
            raise DataError("holds n-grams of words that are not known", file=file, field=f"keys.{order}")
    plain = (NgramLevel(level.keys.astype(np.int64), level.log_prob, level.back_off) for level in levels)
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


# How often each n-gram of a text occurs.


@dataclass(frozen=True, eq=False)
class CountLevel:
    """The n-grams of one order that occur, sorted by their keys (see `model`)."""

    keys: Ints  # (n-grams,)
    counts: Ints  # (n-grams,)

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, eq=False)
class NgramCounts:
    """The n-grams of sentences, each sentence between `<s>` and `</s>`."""

    words: tuple[str, ...]
    levels: tuple[CountLevel, ...]
    """Level 1 has every word of the vocabulary; `<unk>` has count 0."""

    @classmethod
    def of(cls, vocabulary: Sequence[str], sentences: Ragged, order: int) -> NgramCounts:
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


# The weights of a back-off model, and its pruning.
#
# p(w | h) is stored for words seen after h, and is bow(h) * p(w | h') for others. h' is h without its first word, and
# bow(h) = (1 - sum p(w | h)) / (1 - sum p(w | h')), both sums over the words seen after h (Katz 1987).


EPSILON = 3e-6
"""Probabilities below this count as 0: SRILM's Prob_Epsilon."""


def with_back_off(model: NgramModel) -> NgramModel:
    """The same n-grams and probabilities, with the weights that make every distribution sum to 1."""
    done = NgramModel(model.words, model.levels[:1])
    for level in model.levels[1:]:
        whole = NgramModel(model.words, (*done.levels, level))
        kept, below = left_over(whole)
        context = level.keys // len(model.words)
        log_prob = level.log_prob
        # Every word was seen after this history: they share the probability that is left.
        full = (below <= EPSILON) & (kept > EPSILON)
        if full.any():
            log_prob = log_prob - np.log10(np.where(full, 1 - kept, 1.0))[context]
        weight = np.divide(kept, below, out=np.ones(len(kept)), where=(below > EPSILON) & ~full)
        has = np.bincount(context, minlength=len(kept)) > 0
        with np.errstate(divide="ignore"):
            back_off = np.where(has, np.log10(weight), 0.0)
        history = replace(done.levels[-1], back_off=back_off)
        last = replace(level, log_prob=log_prob, back_off=np.zeros(len(level)))
        done = NgramModel(model.words, (*done.levels[:-1], history, last))
    return done


def left_over(model: NgramModel) -> tuple[Floats, Floats]:
    """For each history h of the highest order: 1 - sum p(w | h) and 1 - sum p(w | h') over the words w seen after h."""
    level, histories = model.levels[-1], len(model.levels[-2])
    context = level.keys // len(model.words)
    shorter = model.last_word_log_probs(model.ngrams(model.order)[:, 1:])
    kept = 1 - np.bincount(context, 10.0**level.log_prob, histories)
    below = 1 - np.bincount(context, 10.0**shorter, histories)
    return np.where(kept < EPSILON, 0.0, kept), np.where(below < EPSILON, 0.0, below)


def prune(model: NgramModel, threshold: float) -> NgramModel:
    """The model without n-grams whose removal changes its perplexity by less than a share `threshold` (Stolcke 1998).

    As in SRILM: orders are pruned from the highest down; each n-gram is examined as if it alone were removed; prefixes
    of longer n-grams and unigrams are kept. The back-off weights are recomputed at the end.
    """
    levels = list(model.levels)
    for order in range(model.order, 1, -1):
        part = NgramModel(model.words, model.levels[:order])
        gone = _perplexity_change(part) < threshold
        if order < len(levels):
            begins = np.unique(levels[order].keys // len(model.words))
            gone[begins] = False
        levels = _without(levels, order, gone, len(model.words))
    return with_back_off(NgramModel(model.words, tuple(levels)))


def _perplexity_change(model: NgramModel) -> Floats:
    """The relative increase in perplexity if an n-gram of the highest order were removed, for each alone."""
    level, below = model.levels[-1], model.levels[-2]
    context = level.keys // len(model.words)
    kept, lower = (array[context] for array in left_over(model))
    own = 10.0**level.log_prob
    shorter = model.last_word_log_probs(model.ngrams(model.order)[:, 1:])
    # Stolcke's equation, in base-10 logarithms as in SRILM: the n-gram's own loss, and that of all words whose
    # probability depends on the history's back-off weight.
    new_weight = np.log10(kept + own) - np.log10(lower + 10.0**shorter)
    old_weight = below.back_off[context]
    history = 10.0 ** _history_log_prob(model)[context]
    moved = kept * (new_weight - np.where(kept > 0, old_weight, 0.0))
    change: Floats = 10.0 ** (-history * (own * (shorter + new_weight - level.log_prob) + moved)) - 1
    return change


def _history_log_prob(model: NgramModel) -> Floats:
    """log10 p of each history of the highest order; the start of a sentence is as frequent as its end."""
    words = model.ngrams(model.order - 1)
    total = np.zeros(len(words))
    for width in range(1, words.shape[1] + 1):
        part = words[:, :width]
        if width == 1:
            part = np.where(part == START, END, part)
        log_prob = model.last_word_log_probs(part)
        total += np.where(np.isfinite(log_prob), log_prob, 0.0)
    return total


def _without(levels: list[NgramLevel], order: int, gone: np.typing.NDArray[np.bool_], size: int) -> list[NgramLevel]:
    """The levels without some n-grams of one order, none of which is the prefix of a longer one."""
    place = np.cumsum(~gone) - 1
    changed = list(levels)
    changed[order - 1] = _kept(levels[order - 1], ~gone)
    if order < len(levels):
        keys = levels[order].keys
        changed[order] = replace(levels[order], keys=place[keys // size] * size + keys % size)
    return changed


def _kept(level: NgramLevel, which: np.typing.NDArray[np.bool_]) -> NgramLevel:
    return NgramLevel(level.keys[which], level.log_prob[which], level.back_off[which])


def level_of(keys: Ints, log_prob: Floats) -> NgramLevel:
    """A level whose back-off weights are not computed yet."""
    return NgramLevel(keys, log_prob, np.zeros(len(keys)))

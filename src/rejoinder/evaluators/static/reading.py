"""Replies and contexts as word ids, and counts of repeated, echoed and unlikely words.

An example is one sequence of words in four stretches: everything before the replier's last turn, that turn, the turn
that is answered, and the reply. Speakers are assumed to alternate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
import polars as pl

from rejoinder.arrays import Bools, Floats, Ints, Ragged, Vectors, offsets_of
from rejoinder.models.ngram import UNKNOWN, NgramModel, ended
from rejoinder.text.tokens import token_codes, writable
from rejoinder.types import Example

STRETCHES = 4
BEFORE, OWN, LAST, REPLY = range(STRETCHES)
RAREST = 7.0
"""-log10 p of the rarest words: a word less likely than one in ten million counts as that."""
_ODD_PAIR = -4.0  # log10 p of a word after the one before it, below which the pair counts as odd
_WORDS = np.int64(1 << 20)  # more than any vocabulary has: two word ids and an example's number fit into 63 bits

COUNTS = (
    "words of the reply",
    "words of the last turn",
    "words before it",
    "turns",
    "rare words from the last turn",
    "rare words from before",
    "rare words of the last turn taken up",
    "pairs from the last turn",
    "pairs from the replier's last turn",
    "words said twice",
    "pairs said twice",
    "unknown words",
    "rarity",
    "likelihood",
    "odd pairs",
    "asked",
    "asks",
    "ends a sentence",
)
"""The columns of `counted`, in this order."""


@dataclass(frozen=True, eq=False)
class WordIds:
    """Examples as word ids of a language model; 0: unknown."""

    words: Ints  # (words,)
    offsets: Ints  # (STRETCHES * examples + 1,)
    turns: Ints  # (examples,)

    @classmethod
    def of(cls, examples: Sequence[Example], known: NgramModel) -> WordIds:
        """The words of examples, each of which has a context."""
        turns = np.fromiter((len(example.context) for example in examples), np.int64, len(examples))
        texts = chain.from_iterable((*example.context, example.response) for example in examples)
        rows = word_numbers(texts, known)
        reply = np.cumsum(turns + 1) - 1  # its place among all texts
        starts = np.stack([reply - turns, reply - np.minimum(turns, 2), reply - 1, reply], axis=1)
        return cls(rows.values, rows.offsets[np.append(starts.ravel(), len(rows))], turns)

    @classmethod
    def joined(cls, parts: Sequence[WordIds]) -> WordIds:
        """The examples of all parts, in order."""
        lengths = np.concatenate([part.lengths.ravel() for part in parts])
        words, turns = (np.concatenate([getattr(part, name) for part in parts]) for name in ("words", "turns"))
        return cls(words, offsets_of(lengths), turns)

    def __len__(self) -> int:
        return len(self.turns)

    @cached_property
    def lengths(self) -> Ints:
        """Words of each stretch. (examples, STRETCHES)"""
        return np.diff(self.offsets).reshape(-1, STRETCHES)

    @cached_property
    def stretch(self) -> Ints:
        """The stretch of each word, numbered through all examples. (words,)"""
        return np.repeat(np.arange(STRETCHES * len(self)), self.lengths.ravel())

    def take(self, rows: Ints) -> WordIds:
        """Some of the examples."""
        stretches = (rows[:, None] * STRETCHES + np.arange(STRETCHES)).ravel()
        taken = Ragged(self.words, self.offsets).take(stretches)
        return WordIds(taken.values, taken.offsets, self.turns[rows])


def word_numbers(texts: Iterable[str], known: NgramModel) -> Ragged:
    """The word ids of each text."""
    column = pl.Series([writable(text) for text in texts], dtype=pl.String)
    vocabulary, rows = token_codes(column, "words", lowercase=True)
    numbers = known.numbers([word.replace("’", "'") for word in vocabulary.to_list()])
    return Ragged(numbers[rows.values], rows.offsets)


def rarity_of(known: NgramModel) -> Floats:
    """-log10 p of each word, from 0 to `RAREST`. (vocabulary,)"""
    rarity: Floats = np.clip(-known.levels[0].log_prob, 0.0, RAREST)
    return rarity


def count_columns(reading: WordIds, known: NgramModel) -> Vectors:
    """The columns that `COUNTS` names; a row does not depend on the other examples. (examples, COUNTS)"""
    examples, lengths = len(reading), reading.lengths
    words, part, owner = reading.words, reading.stretch % STRETCHES, reading.stretch // STRETCHES
    rare = rarity_of(known)
    single = owner * _WORDS + words
    inner = np.flatnonzero(reading.stretch[1:] == reading.stretch[:-1])  # a pair of words begins here
    pair, pair_part = single[inner] * _WORDS + words[inner + 1], part[inner]
    pairs = {place: pair[pair_part == place] for place in (OWN, LAST, REPLY)}
    at = {place: np.flatnonzero(part == place) for place in (LAST, REPLY)}
    reply, last = single[at[REPLY]], single[at[LAST]]
    reply_rare, last_rare = rare[words[at[REPLY]]], rare[words[at[LAST]]]

    def share(keys: Ints, step: int, flags: Bools, weights: Floats | None = None) -> Floats:
        """The weight of an example's flagged keys, divided by that of all of its keys."""
        example = keys // step
        weight = np.ones(len(keys)) if weights is None else weights
        whole = np.bincount(example, weight, examples)
        return np.bincount(example, weight * flags, examples) / np.maximum(whole, 1e-9)

    word_step, pair_step = int(_WORDS), int(_WORDS * _WORDS)
    likelihood, odd, rarity = _likelihood(reading, known)
    question, stop = (known.numbers(list(signs)) for signs in ("?", ".!?"))
    ends = np.append(words, UNKNOWN)[reading.offsets[STRETCHES::STRETCHES] - 1]
    asks = np.bincount(reading.stretch[words == question[0]], minlength=STRETCHES * examples).reshape(-1, STRETCHES) > 0
    columns = (
        np.log1p(lengths[:, REPLY]),
        np.log1p(lengths[:, LAST]),
        np.log1p(lengths[:, BEFORE] + lengths[:, OWN]),
        np.log1p(reading.turns),
        share(reply, word_step, _among(reply, last), reply_rare),
        share(reply, word_step, _among(reply, single[part < LAST]), reply_rare),
        share(last, word_step, _among(last, reply), last_rare),
        share(pairs[REPLY], pair_step, _among(pairs[REPLY], pairs[LAST])),
        share(pairs[REPLY], pair_step, _among(pairs[REPLY], pairs[OWN])),
        _repeated(reply, word_step, lengths[:, REPLY]),
        _repeated(pairs[REPLY], pair_step, lengths[:, REPLY] - 1),
        share(reply, word_step, words[at[REPLY]] == UNKNOWN),
        rarity,
        likelihood,
        odd,
        asks[:, LAST],
        asks[:, REPLY],
        np.isin(ends, stop) & (lengths[:, REPLY] > 0),
    )
    return np.stack(columns, axis=1).astype(np.float32)


def _likelihood(reading: WordIds, known: NgramModel) -> tuple[Floats, Floats, Floats]:
    """Of each reply: mean log10 p per word, including its end; share of odd pairs; mean rarity."""
    replies = Ragged(reading.words, reading.offsets).take(np.arange(len(reading)) * STRETCHES + REPLY)
    rows = ended(replies)
    log_prob = np.maximum(known.word_log_probs(rows), -RAREST)
    owner, size = rows.row_of_value, rows.lengths
    means = (np.bincount(owner, value, len(rows)) / size for value in (log_prob, log_prob < _ODD_PAIR))
    rarity = np.bincount(owner, rarity_of(known)[rows.values], len(rows)) / size
    likelihood, odd = means
    return likelihood, odd, rarity


def _among(keys: Ints, others: Ints) -> Bools:
    """Which keys are among the others."""
    if not len(others):
        return np.zeros(len(keys), np.bool_)
    others = np.sort(others)
    place = np.minimum(np.searchsorted(others, keys), len(others) - 1)
    found: Bools = others[place] == keys
    return found


def _repeated(keys: Ints, step: int, totals: Ints) -> Floats:
    """The share of an example's keys that repeat an earlier one. (examples,)"""
    keys = np.sort(keys)
    again = keys[1:][keys[1:] == keys[:-1]] // step
    shares: Floats = np.bincount(again, minlength=len(totals)) / np.maximum(totals, 1)
    return shares

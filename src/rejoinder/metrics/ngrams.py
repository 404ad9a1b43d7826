"""How many n-grams of each reply occur in its references, for a whole batch at once.

Replies are short, so no n-gram is built. Two texts are compared in a table of equal words, E1[d, i]: whether the word
at i of one text is the word at i + d of the other. The n-grams at these places are equal if n neighbours are true,
En = En-1[:, :-1] & E1[:, n-1:], and the sum over d counts how often the n-gram at i occurs. Many examples lie side by
side on the last axis, so that each step is one vectorised pass over long rows of bytes. All counts are exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from rejoinder.arrays import Ints, Ragged, offsets_of

LONGEST_IN_TABLE = 400
"""Above this many words a table costs more than counting in a dictionary."""

_TABLE_BYTES = 1 << 20  # a table of this size stays in the processor's cache
_SIMILAR = 1.25  # the longest text of a table may be this much longer than its shortest

_OUTSIDE = -3  # equals no word and no padding

WordCodes = NDArray[np.int16] | NDArray[np.int32]  # (positions, examples)
NgramTallies = NDArray[np.uint8] | NDArray[np.uint16]


@dataclass(frozen=True, slots=True)
class NgramOverlap:
    """Clipped n-gram matches of replies with their references; row n - 1 is for n-grams."""

    matches: Ints  # (orders, examples)
    totals: Ints  # (orders, examples): the n-grams of the reply
    length: Ints  # (examples,): of the reply
    reference_length: Ints  # (examples,): of the reference closest in length, the shorter one on a tie

    def take(self, rows: Ints) -> NgramOverlap:
        """The same for some of the examples."""
        return NgramOverlap(self.matches[:, rows], self.totals[:, rows], self.length[rows], self.reference_length[rows])


def ngram_overlap(replies: Ragged, references: Ragged, owner: Ints, orders: int) -> NgramOverlap:
    """Matches for n = 1..orders. An n-gram counts at most as often as it occurs in any one reference."""
    counts = np.bincount(owner, minlength=len(replies))
    firsts = offsets_of(counts)
    matches = np.zeros((orders, len(replies)), np.int64)
    longest = np.maximum(replies.lengths, longest_of(references.lengths, firsts))
    replies, references = narrowed(replies), narrowed(references)
    for chunk in chunks_by_length(longest, np.flatnonzero((counts > 0) & (longest <= LONGEST_IN_TABLE))):
        matches[:, chunk] = _chunk_matches(replies, references, chunk, firsts[chunk], counts[chunk], orders)
    for row in np.flatnonzero((counts > 0) & (longest > LONGEST_IN_TABLE)).tolist():
        texts = [references[j] for j in range(firsts[row], firsts[row + 1])]
        matches[:, row] = [_counted_matches(replies[row], texts, n) for n in range(1, orders + 1)]
    totals = np.maximum(replies.lengths - np.arange(orders)[:, None], 0)
    nearest = nearest_reference_length(replies.lengths, references.lengths, firsts)
    return NgramOverlap(matches, totals, replies.lengths, nearest)


def chunks_by_length(longest: Ints, rows: Ints, table_bytes: int = _TABLE_BYTES) -> Iterator[Ints]:
    """Groups of rows of similar length, each small enough for one table of so many bytes."""
    rows = rows[np.argsort(longest[rows], kind="stable")]
    lengths = longest[rows]
    start = 0
    while start < len(rows):
        height = int(lengths[start] * _SIMILAR) + 1
        alike = int(np.searchsorted(lengths, height, side="right")) - start
        size = min(alike, max(1, table_bytes // height**2))
        yield rows[start : start + size]
        start += size


def narrowed(texts: Ragged) -> Ragged:
    """The same texts with codes of two bytes, if there are few enough: they are compared twice as fast."""
    few = int(texts.values.max(initial=0)) <= np.iinfo(np.int16).max
    values: Any = texts.values.astype(np.int16 if few else np.int32)
    return Ragged(values, texts.offsets)


def padded_columns(texts: Ragged, rows: Ints, filler: int) -> WordCodes:
    """Some rows side by side, padded to the longest. (positions, rows)"""
    firsts = texts.offsets[rows]
    lengths = texts.offsets[rows + 1] - firsts
    position = np.arange(int(lengths.max(initial=0)))[:, None]
    if not len(position):
        return np.empty((0, len(rows)), np.int32)
    words: Any = texts.values.take(firsts + position, mode="clip")  # past the end of a row: any word, padded next
    words[position >= lengths] = filler
    return cast("WordCodes", words)


def occurrences(text: WordCodes, other: WordCodes, orders: int) -> Iterator[NgramTallies]:
    """For n = 1..orders, how often the n-gram at each position of a text occurs in the other. (positions, examples)"""
    # The other text is read in a circle, so that the table has no empty corners.
    circle = np.concatenate([other, np.full((1, other.shape[1]), _OUTSIDE, other.dtype)])
    rows = np.arange(len(circle) + max(0, len(text) - 1)) % len(circle)
    return _counts_over_lags(text, circle[rows], len(circle), orders)


def occurrences_before(text: WordCodes, orders: int) -> Iterator[NgramTallies]:
    """For n = 1..orders, how often the n-gram at each position occurred before in its text. (positions, examples)"""
    lags = max(0, len(text) - 1)
    outside = np.full((lags, text.shape[1]), _OUTSIDE, text.dtype)
    return _counts_over_lags(text, np.concatenate([outside, text]), lags, orders)


def _counts_over_lags(text: WordCodes, other: WordCodes, lags: int, orders: int) -> Iterator[NgramTallies]:
    """For n = 1..orders, at how many of the lags the n-gram at each position i of a text is the one at lag + i of the
    other, which is long enough. (positions, examples)"""
    height, width = text.shape
    shifted = as_strided(other, (lags, height, width), (other.strides[0], *other.strides), writeable=False)
    words = table = text == shifted
    for n in range(1, orders + 1):
        if n > 1:
            table = table[:, :-1] & words[:, n - 1 :]
        yield _count_true(table)


def _count_true(table: NDArray[np.bool_]) -> NgramTallies:
    """How many cells are true along the first axis, in the narrowest type that cannot overflow."""
    narrow = np.uint8 if len(table) <= 255 else np.uint16
    counts: NgramTallies = np.add.reduce(table.view(np.uint8), axis=0, dtype=narrow)
    return counts


def _chunk_matches(replies: Ragged, references: Ragged, chunk: Ints, firsts: Ints, counts: Ints, orders: int) -> Ints:
    reply = padded_columns(replies, chunk, -1)
    # In the first reference, then the maximum over all.
    most = list(occurrences(reply, padded_columns(references, firsts, -2), orders))
    for k in range(1, int(counts.max())):
        holders = np.flatnonzero(counts > k)
        reference = padded_columns(references, firsts[holders] + k, -2)
        for n, found in enumerate(occurrences(reply[:, holders], reference, orders)):
            most[n][:, holders] = np.maximum(most[n][:, holders], found)
    matches = np.zeros((orders, len(chunk)), np.int64)
    for n, before in enumerate(occurrences_before(reply, orders)):
        # The k-th occurrence of an n-gram is a match if some reference contains it at least k times.
        matches[n] = _count_true(before < most[n])
    return matches


def _counted_matches(reply: Ints, references: list[Ints], n: int) -> int:
    """The same count with dictionaries, for texts too long for a table."""
    most: Counter[tuple[int, ...]] = Counter()
    for reference in references:
        most |= Counter(ngrams(reference, n))
    return (Counter(ngrams(reply, n)) & most).total()


def ngrams(text: Ints, n: int) -> Iterator[tuple[int, ...]]:
    """The n-grams of one text, in order."""
    words = text.tolist()
    return zip(*(words[start:] for start in range(n)), strict=False)


def ngram_offsets(texts: Ragged, n: int) -> Ints:
    """Where the n-grams of each text begin, if those of all texts are concatenated. (texts + 1,)"""
    return offsets_of(np.maximum(texts.lengths - (n - 1), 0))


def counts_within(texts: Ragged, orders: int) -> list[Ints]:
    """For n = 1..orders, how often each n-gram occurs in its own text; those of all texts concatenated."""
    firsts = [ngram_offsets(texts, n) for n in range(1, orders + 1)]
    counts = [np.ones(first[-1], np.int64) for first in firsts]
    rows = _rows_with_repeats(texts)
    short = texts.lengths[rows] <= LONGEST_IN_TABLE
    codes = narrowed(texts)
    for chunk in chunks_by_length(texts.lengths, rows[short]):
        words = padded_columns(codes, chunk, -1)
        for first, count, in_text in zip(firsts, counts, occurrences(words, words, orders), strict=True):
            position, column = np.nonzero(in_text > 1)
            place = first[chunk[column]] + position
            inside = place < first[chunk[column] + 1]  # padding equals padding, too
            count[place[inside]] = in_text[position[inside], column[inside]]
    for row in rows[~short].tolist():
        for n, (first, count) in enumerate(zip(firsts, counts, strict=True), 1):
            how_often = Counter(ngrams(texts[row], n))
            count[first[row] : first[row + 1]] = [how_often[ngram] for ngram in ngrams(texts[row], n)]
    return counts


def _rows_with_repeats(texts: Ragged) -> Ints:
    """The texts in which a word is repeated: in all others every n-gram occurs once."""
    row, size = texts.row_of_value, int(texts.values.max(initial=0)) + 1
    ordered = np.sort(row * size + texts.values)
    return np.unique(ordered[1:][ordered[1:] == ordered[:-1]] // size)


@dataclass(frozen=True, slots=True)
class SharedNgrams:
    """The n-grams of replies that also occur in a reference."""

    n: int
    pair: Ints  # (found,): which reference
    position: Ints  # (found,): where in the reply
    count: Ints  # (found,): how often in the reference


def shared_ngrams(replies: Ragged, references: Ragged, owner: Ints, orders: int) -> Iterator[SharedNgrams]:
    """All n-grams for n = 1..orders that a reply shares with each of its references, in no particular order."""
    longest = np.maximum(replies.lengths[owner], references.lengths)
    replies, references = narrowed(replies), narrowed(references)
    for pairs in chunks_by_length(longest, np.flatnonzero(longest <= LONGEST_IN_TABLE)):
        reply, reference = padded_columns(replies, owner[pairs], -1), padded_columns(references, pairs, -2)
        for n, counts in enumerate(occurrences(reply, reference, orders), 1):
            position, column = np.nonzero(counts)
            yield SharedNgrams(n, pairs[column], position, counts[position, column].astype(np.int64))
    for pair in np.flatnonzero(longest > LONGEST_IN_TABLE).tolist():
        for n in range(1, orders + 1):
            how_often = Counter(ngrams(references[pair], n))
            each = np.array([how_often[ngram] for ngram in ngrams(replies[owner[pair]], n)], np.int64)
            (position,) = np.nonzero(each)
            yield SharedNgrams(n, np.full(len(position), pair), position, each[position])


def longest_of(lengths: Ints, firsts: Ints) -> Ints:
    """The greatest length in each group of references; 0 for an empty group. (groups,)"""
    longest = np.zeros(len(firsts) - 1, np.int64)
    filled = np.flatnonzero(np.diff(firsts))
    if len(filled):
        longest[filled] = np.maximum.reduceat(lengths, firsts[filled])
    return longest


def nearest_reference_length(reply_lengths: Ints, reference_lengths: Ints, firsts: Ints) -> Ints:
    """The length of the reference closest in length, the shorter one on a tie; 0 without references. (replies,)"""
    nearest = np.zeros(len(reply_lengths), np.int64)
    counts = np.diff(firsts)
    filled = np.flatnonzero(counts)
    if len(filled):
        own = np.repeat(reply_lengths, counts)
        # One number orders by distance first and by length second.
        scale = int(reference_lengths.max(initial=0)) + 1
        rank = np.abs(reference_lengths - own) * scale + reference_lengths
        nearest[filled] = np.minimum.reduceat(rank, firsts[filled]) % scale
    return nearest

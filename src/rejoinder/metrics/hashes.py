"""N-grams as 64-bit hashes, for counts over a whole corpus.

Among m distinct n-grams, two share a hash with a probability of about m^2 / 2^65: in one of 400,000 corpora of ten
million n-grams. Matches between a reply and its references are counted without hashes (see `ngrams`).
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import IO

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ints, Ragged, offsets_of
from rejoinder.metrics.batch import Batch, BatchTokens, TextOptions
from rejoinder.metrics.ngrams import counts_within
from rejoinder.text.tokens import GOLDEN, Hashes, place_of_equal

_IN_MEMORY = 1 << 22  # hashes, 32 MB; more are written to disk
_PARTITION_BITS = 6  # hashes on disk are read back in partitions by this many leading bits
_SHARED_ORDERS = 4  # as CIDEr needs


def ngram_hashes(tokens: BatchTokens, rows: Ragged, orders: int) -> Iterator[tuple[Hashes, Ints]]:
    """For n = 1..orders, one hash per n-gram, the same in every batch of a run, and its row; in text order."""
    words, row = tokens.word_hashes[rows.values], rows.row_of_value
    hashes = np.zeros(len(words), np.uint64)
    for n in range(1, orders + 1):
        count = max(0, len(words) - n + 1)
        # Multiplication by an odd number is a bijection of 64-bit numbers; the shift mixes high bits into low ones.
        hashes = (hashes ^ (hashes >> np.uint64(29)))[:count] * GOLDEN + words[n - 1 :]
        inside = row[:count] == row[n - 1 :]
        yield hashes[inside], row[:count][inside]


def reply_counts(batch: Batch, options: TextOptions, orders: int) -> list[Ints]:
    """How often each n-gram of a reply occurs in it, for n = 1 to at least `orders`; counted once per batch."""
    enough = max(orders, _SHARED_ORDERS)
    replies = batch.tokens(options).responses
    return batch.keep(("counts in replies", options, enough), lambda: counts_within(replies, enough))


def reference_hashes(batch: Batch, options: TextOptions, orders: int) -> list[tuple[Hashes, Ints]]:
    """The n-gram hashes of a batch's references, computed once per batch."""
    tokens = batch.tokens(options)
    return batch.keep(
        ("reference hashes", options, orders), lambda: list(ngram_hashes(tokens, tokens.references, orders))
    )


class HashIndex:
    """Lookup in sorted, distinct hashes through an index over their leading bits."""

    def __init__(self, hashes: Hashes) -> None:
        self.hashes = hashes
        bits = max(1, len(hashes).bit_length())
        self._shift = np.uint64(64 - bits)
        if isinstance(hashes, np.memmap):  # too large to copy
            starts = np.searchsorted(hashes, np.arange(1 << bits, dtype=np.uint64) << self._shift)
        else:
            starts = offsets_of(np.bincount((hashes >> self._shift).view(np.int64), minlength=1 << bits))[:-1]
        self._starts = np.minimum(starts, max(0, len(hashes) - 1))

    def find(self, wanted: Hashes) -> Ints:
        """The position of each hash; -1 if it is not there."""
        if not len(self.hashes):
            return np.full(len(wanted), -1)
        last = len(self.hashes) - 1
        place = self._starts.take((wanted >> self._shift).view(np.int64))
        there = self.hashes.take(place)
        # Hashes are spread evenly, so nearly all are found within two steps of the index entry.
        waiting = np.flatnonzero(there < wanted)
        while len(waiting):
            waiting = waiting[place[waiting] < last]
            place[waiting] += 1
            there[waiting] = self.hashes.take(place[waiting])
            waiting = waiting[there[waiting] < wanted[waiting]]
        return np.where(there == wanted, place, -1)


def repeats_within(hashes: Hashes, document: Ints) -> NDArray[np.bool_]:
    """Which hashes are repeats within their document: of equal hashes all but one."""
    marked = hashes ^ (document.astype(np.uint64) * np.uint64(0xD6E8FEB86659FD93))
    place = place_of_equal(marked)
    again: NDArray[np.bool_] = place != np.arange(len(place))
    suspects = np.flatnonzero(again)
    others = place[suspects]
    again[suspects] = (hashes[others] == hashes[suspects]) & (document[others] == document[suspects])
    return again


class FrequencyTable:
    """How often each hash was seen."""

    def __init__(self, hashes: Hashes, counts: NDArray[np.int32]) -> None:
        self.hashes = hashes
        self.counts = counts

    def __len__(self) -> int:
        return len(self.hashes)

    @cached_property
    def _index(self) -> HashIndex:
        return HashIndex(self.hashes)

    def lookup(self, hashes: Hashes) -> NDArray[np.int32]:
        """How often each hash was seen; 0 for a new one."""
        place = self._index.find(hashes)
        return np.where(place >= 0, self.counts[place], np.int32(0)) if len(self) else np.zeros(len(hashes), np.int32)


class FrequencyCounter:
    """Counts hashes, in memory while they are few, on disk when they are many."""

    def __init__(self) -> None:
        self._whole: FrequencyTable | None = None  # all that was counted, where it was counted elsewhere
        self._kept: list[Hashes] = []
        self._count = 0
        self._file: IO[bytes] | None = None  # a single one: many counters may be active, and open files are limited
        self._bounds: list[Ints] = [np.zeros(1, np.int64)]  # where the partitions of each sorted run in the file end

    def add(self, hashes: Hashes) -> None:
        """Count these hashes."""
        if self._whole is not None:
            whole, self._whole = self._whole, None
            self.add(np.repeat(whole.hashes, whole.counts))
        self._kept.append(hashes)
        self._count += len(hashes)
        if self._count > _IN_MEMORY:
            self._spill()

    def merge(self, counted: FrequencyTable) -> None:
        """Count the hashes of a table; where they are the first, the table is used as it is, and not copied."""
        if self._whole is None and self._file is None and not self._count:
            self._whole = counted
        else:
            self.add(np.repeat(counted.hashes, counted.counts))

    def table(self) -> FrequencyTable:
        """The counts of all hashes."""
        if self._whole is not None:
            return self._whole
        if self._file is None:
            self._whole = FrequencyTable(*_run_lengths(np.concatenate([np.empty(0, np.uint64), *self._kept])))
            self._kept, self._count = [], 0
            return self._whole
        self._spill()
        with tempfile.TemporaryFile() as hashes, tempfile.TemporaryFile() as counts:
            for part in self._partitions(np.memmap(self._file, np.uint64, "r")):
                some, how_often = _run_lengths(part)
                some.tofile(hashes)
                how_often.tofile(counts)
            # A memory map stays valid after its file is closed.
            return FrequencyTable(np.memmap(hashes, np.uint64, "r"), np.memmap(counts, np.int32, "r"))

    def _spill(self) -> None:
        """Append the hashes in memory to the file, sorted."""
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the counter
            weakref.finalize(self, self._file.close)
        ordered = np.sort(np.concatenate([np.empty(0, np.uint64), *self._kept]))
        firsts = np.arange(1 << _PARTITION_BITS, dtype=np.uint64) << np.uint64(64 - _PARTITION_BITS)
        ends = np.append(np.searchsorted(ordered, firsts[1:]), len(ordered))
        self._bounds.append(self._bounds[-1][-1] + ends)
        self._file.write(ordered.data)
        self._file.flush()
        self._kept, self._count = [], 0

    def _partitions(self, written: Hashes) -> Iterator[Hashes]:
        """The hashes of all runs, grouped by their leading bits."""
        starts = [np.append(before[-1], run[:-1]) for before, run in pairwise(self._bounds)]
        for number in range(1 << _PARTITION_BITS):
            yield np.concatenate(
                [written[start[number] : end[number]] for start, end in zip(starts, self._bounds[1:], strict=True)]
            )


def _run_lengths(hashes: Hashes) -> tuple[Hashes, NDArray[np.int32]]:
    ordered = np.sort(hashes)
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)])
    counts = np.diff(np.append(starts, len(ordered))).astype(np.int32)
    return ordered[starts], counts

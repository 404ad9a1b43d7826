"""Strings and hashes to dense integer codes: a column of words has few distinct ones, and small integers are fast."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rejoinder.arrays import Ints, Ragged, offsets_of

Hashes = NDArray[np.uint64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio: an odd constant for multiplicative hashing (Knuth)."""

# glibc returns a large array's memory to the system when it is freed, and requests it again, page by page, for the next
# array. Once a block of this size was freed, it keeps up to twice as much (mallopt(3), M_MMAP_THRESHOLD), which makes
# the metrics a fifth faster. Nothing is written to the block, so it costs no memory.
np.empty(1 << 24, np.uint8)


def coded_lists(lists: pl.Series) -> tuple[pl.Series, Ragged]:
    """The distinct strings in a column of lists, and the lists as codes into them."""
    offsets = offsets_of(lists.list.len().to_numpy().astype(np.int64))
    words, codes = coded(lists.explode(empty_as_null=False, keep_nulls=False))
    return words, Ragged(codes, offsets)


def coded(strings: pl.Series) -> tuple[pl.Series, Ints]:
    """The distinct strings of a column, and the column as codes into them."""
    same = place_of_equal(strings.hash().to_numpy())
    if not (strings.gather(same) == strings).all():  # two strings with the same 64-bit hash
        return _interned(strings)
    code = np.arange(len(same))
    chosen = np.flatnonzero(same == code)
    code[chosen] = np.arange(len(chosen))
    return strings.gather(chosen), code.take(same)


def place_of_equal(hashes: Hashes) -> NDArray[np.int32]:
    """For each hash the position of one equal to it: the same position for all equal hashes."""
    bits = max(1, len(hashes).bit_length())
    table = np.empty(1 << bits, np.int32)

    def last_in_slot(places: NDArray[np.int32], mixed: Hashes) -> NDArray[np.int32]:
        slot = (mixed >> np.uint64(64 - bits)).view(np.int64)
        table[slot] = places
        return table.take(slot)

    found = last_in_slot(np.arange(len(hashes), dtype=np.int32), hashes)
    waiting = np.flatnonzero(hashes.take(found) != hashes).astype(np.int32)
    mixed = hashes[waiting]
    while len(waiting):  # each round settles the hashes that equal the last one in their slot
        mixed = mixed * GOLDEN
        found[waiting] = last_in_slot(waiting, mixed)
        missed = hashes.take(found[waiting]) != hashes[waiting]
        waiting, mixed = waiting[missed], mixed[missed]
    return found


def _interned(strings: pl.Series) -> tuple[pl.Series, Ints]:
    """The same through polars' categories, which compare whole strings and are slower."""
    categories = pl.Categories.random()  # its own, so that codes are dense
    column = strings.cast(pl.Categorical(categories))
    return categories.to_series(), column.to_physical().to_numpy().astype(np.int64)

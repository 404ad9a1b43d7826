"""Which words of a reply and of its reference are related, for all pairs of rows at once.

Two rows of 8 words have 64 pairs of words, of which only a few match. So every pair of words is first looked up in a
table of single bytes by a hash of the two codes; the caller tests the remaining pairs exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ints, Ragged, offsets_of
from rejoinder.text.coding import GOLDEN

_PAIRS_AT_ONCE = 1 << 17  # keeps the working arrays in the processor's cache
_BYTES_PER_PAIR = 32  # of the table, per related pair: one in 32 unrelated pairs is a false positive
_LARGEST_TABLE = 1 << 26
_LEFT, _RIGHT = GOLDEN, np.uint64(0xC2B2AE3D27D4EB4F)  # a different odd constant for each side


def find(values: Ints, ascending: Ints) -> tuple[NDArray[np.bool_], Ints]:
    """Which values occur in an ascending array, and where; the position of a value that does not occur is 0."""
    if not len(ascending):
        return np.zeros(len(values), np.bool_), np.zeros(len(values), np.int64)
    place = np.searchsorted(ascending, values)
    place[place == len(ascending)] = 0
    occurs: NDArray[np.bool_] = ascending[place] == values
    return occurs, np.where(occurs, place, 0)


def sharing(groups: Ints, members: Ints) -> tuple[Ints, Ints]:
    """All ordered pairs (left, right) of different members that share a group, each pair once.

    Member `members[i]` is in group `groups[i]`; it may be in several.
    """
    order = np.argsort(groups, kind="stable")
    groups, members = groups[order], members[order]
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    sizes = np.diff(starts, append=len(groups))
    of_member = np.repeat(sizes, sizes)
    left = np.repeat(members, of_member)
    shift = np.repeat(starts, sizes) - offsets_of(of_member)[:-1]
    right = members[np.repeat(shift, of_member) + np.arange(len(left))]
    different = left != right
    size = int(members.max(initial=0)) + 1
    keys = np.unique(left[different] * size + right[different])
    return keys // size, keys % size


@dataclass(frozen=True, slots=True)
class PairFilter:
    """A set of (left, right) codes with false positives, but no false negatives."""

    table: NDArray[np.bool_]
    left_hash: Ints  # by code
    right_hash: Ints

    @classmethod
    def of(cls, left: Ints, right: Ints, size: int) -> PairFilter:
        """The set of the given pairs of codes; all codes are below `size`."""
        bits = max(12, min(_BYTES_PER_PAIR * len(left), _LARGEST_TABLE).bit_length())
        codes = np.arange(size, dtype=np.uint64)
        left_hash = ((codes * _LEFT) >> np.uint64(64 - bits)).astype(np.int64)
        right_hash = ((codes * _RIGHT) >> np.uint64(64 - bits)).astype(np.int64)
        table = np.zeros(1 << bits, np.bool_)
        table[left_hash[left] ^ right_hash[right]] = True
        return cls(table, left_hash, right_hash)

    def passing(self, left: Ragged, right: Ragged) -> tuple[Ints, Ints]:
        """Indices into `left.values` and `right.values` of the pairs in the same row that may be in the set.

        They are in the order of the right values, and for each of these in the order of the left values.
        """
        found = list(self._passing(left, right))
        if not found:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        lefts, rights = zip(*found, strict=True)
        return np.concatenate(lefts), np.concatenate(rights)

    def _passing(self, left: Ragged, right: Ragged) -> Iterator[tuple[Ints, Ints]]:
        left_hash, right_hash = self.left_hash[left.values], self.right_hash[right.values]
        row = right.row_of_value
        first, count = left.offsets[:-1][row], left.lengths[row]
        ends = np.cumsum(count)
        begin = 0
        while begin < len(row):
            done = int(ends[begin - 1]) if begin else 0
            end = max(begin + 1, int(np.searchsorted(ends, done + _PAIRS_AT_ONCE, "right")))
            counts = count[begin:end]
            starts = ends[begin:end] - counts - done
            index = np.repeat(first[begin:end] - starts, counts)
            index += np.arange(len(index))
            hashes = left_hash[index]
            hashes ^= np.repeat(right_hash[begin:end], counts)
            hits = np.flatnonzero(self.table[hashes])
            yield index[hits], begin + np.searchsorted(starts + counts, hits, "right")
            begin = end

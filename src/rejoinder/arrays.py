"""The types of arrays, sequences of different lengths as one flat array, and columns too large for memory.

`Ragged` lets numpy work on a whole batch of sequences at once.
"""

from __future__ import annotations

import operator
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Vectors = NDArray[np.float32]
"""One row per text, usually."""

LARGEST_IN_MEMORY = 256 << 20
"""Bytes of all columns of a table; more is kept in temporary files."""


@dataclass(frozen=True, slots=True)
class Ragged:
    """Row i is `values[offsets[i]:offsets[i + 1]]`."""

    values: NDArray[np.int64]  # (total,)
    offsets: Ints  # (rows + 1,)

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> Ragged:
        """The same rows, flat."""
        lengths = np.fromiter((len(row) for row in rows), np.int64, len(rows))
        flat = np.fromiter((value for row in rows for value in row), np.int64, int(lengths.sum()))
        return cls(flat, offsets_of(lengths))

    @property
    def lengths(self) -> Ints:
        """How many values each row has. (rows,)"""
        return np.diff(self.offsets)

    @property
    def row_of_value(self) -> Ints:
        """The row of each value. (total,)"""
        return np.repeat(np.arange(len(self)), self.lengths)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> NDArray[np.int64]:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        return (self[row] for row in range(len(self)))

    def take(self, rows: Ints) -> Ragged:
        """The given rows, in the given order (a row may come twice)."""
        lengths = self.lengths[rows]
        offsets = offsets_of(lengths)
        source = np.repeat(self.offsets[rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Ragged(self.values[source], offsets)


class Texts(Sequence[str]):
    """Many short texts, such as ids, in a fifth of the memory of a list: their bytes and where each ends."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._bytes, self._ends = bytearray(), array("q", [0])
        for text in texts:
            self.append(text)

    def append(self, text: str) -> None:
        """Add a text at the end."""
        self._bytes += text.encode("utf-8", "surrogatepass")
        self._ends.append(len(self._bytes))

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __eq__(self, other: object) -> bool:
        """Whether a list or the like has the same texts."""
        if isinstance(other, Texts):
            return self._ends == other._ends and self._bytes == other._bytes
        return isinstance(other, list | tuple) and len(self) == len(other) and all(map(operator.eq, self, other))

    __hash__ = None  # type: ignore[assignment] # it can be changed

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        at = range(len(self))[place]
        return self._bytes[self._ends[at] : self._ends[at + 1]].decode("utf-8", "surrogatepass")


def offsets_of(lengths: Ints) -> Ints:
    """[3, 1, 2] -> [0, 3, 4, 6]."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def run_starts(ordered: NDArray[Any]) -> Bools:
    """Whether each value of a sorted array differs from the one before it."""
    starts = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=starts[1:])
    return starts


def storage(count: int, dtype: type[Any], columns: int = 1) -> NDArray[Any]:
    """Room for one value per example in each of some columns, of which this is one; on disk where it is large."""
    if count * columns * np.dtype(dtype).itemsize <= LARGEST_IN_MEMORY:
        return np.empty(count, dtype)
    with tempfile.TemporaryFile(prefix="rejoinder-") as file:  # the array keeps a handle of its own
        return np.memmap(file, dtype, "w+", shape=(count,))

"""Examples that are parsed once and read several times."""

from __future__ import annotations

import json
import os
import tempfile
import weakref
from array import array
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from operator import attrgetter
from typing import IO, Any

from rejoinder.errors import DataError
from rejoinder.types import Example

_IN_MEMORY = 64 << 20  # bytes; more than that is kept on disk
_NAMES = tuple(Example.__dataclass_fields__)
_values = attrgetter(*_NAMES)
_size_and_time = attrgetter("st_size", "st_mtime_ns")


class Replay:
    """Examples that can be read again as long as this object is kept: in passes, or single ones by their rows.

    With `copies` the first whole pass makes a temporary copy, in memory while it is small, else in a file: later passes
    do not parse and check the replies again. Without it every pass reads the replies where they are, which costs
    nothing before, and single ones are an error once their files have changed. A result keeps its replies in this way.
    """

    def __init__(self, examples: Iterable[Example], *, copies: bool = True) -> None:
        self.examples = examples
        self.copies = copies
        self._state = self._state_of_files()
        self._copy: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY, prefix="rejoinder-")  # noqa: SIM115
        self._ends: array[int] = array("q", [0])
        self._complete = False
        self.close = weakref.finalize(self, self._copy.close)
        """Removes the copy; without a call it is removed when this object is collected."""

    def __iter__(self) -> Iterator[Example]:
        if self._complete:
            self._copy.seek(0)
            return map(_example, self._copy)
        return self._copied() if self.copies else iter(self.examples)

    def take(self, rows: Collection[int]) -> dict[int, Example]:
        """The examples of some rows; DataError where they are no longer those that were read before."""
        found = {}
        if self._complete:
            for row in sorted(rows):
                self._copy.seek(self._ends[row])
                found[row] = _example(self._copy.readline())
            return found
        if self._state_of_files() == self._state:
            wanted = set(rows)
            read = enumerate(islice(self.examples, max(wanted, default=-1) + 1))
            found = {row: example for row, example in read if row in wanted}
        if len(found) < len(set(rows)):
            name = getattr(self.examples, "name", "the replies")
            raise DataError("changed after it was scored: expected the same replies", file=name)
        return found

    def _copied(self) -> Iterator[Example]:
        self._copy.seek(0)
        self._copy.truncate()
        self._ends = array("q", [0])
        for example in self.examples:
            line = json.dumps(_values(example)).encode() + b"\n"
            self._copy.write(line)
            self._ends.append(self._ends[-1] + len(line))
            yield example
        self._complete = True

    def _state_of_files(self) -> list[tuple[int, int]] | None:
        """The size and time of each file behind the examples; None if one cannot be found."""
        try:
            return list(map(_size_and_time, map(os.stat, getattr(self.examples, "files", ()))))
        except OSError:
            return None


def _example(line: bytes) -> Example:
    values = (tuple(value) if isinstance(value, list) else value for value in json.loads(line))
    known: dict[str, Any] = dict(zip(_NAMES, values, strict=True))
    return Example(**known)

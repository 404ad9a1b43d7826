"""Examples that are parsed once and read several times."""

from __future__ import annotations

import json
import tempfile
import weakref
from array import array
from collections.abc import Collection, Iterable, Iterator
from dataclasses import fields
from operator import attrgetter
from typing import IO, Any

from rejoinder.types import Example

_IN_MEMORY = 64 << 20  # bytes; more than that is kept on disk
_NAMES = tuple(field.name for field in fields(Example))
_values = attrgetter(*_NAMES)


class Replay:
    """Passes over some examples: the first one reads them, later ones read a temporary copy.

    A file of replies is parsed and checked at some cost. The copy is cheap to read, and gives single examples, such as
    those that a report shows. It closes itself when it is collected.
    """

    def __init__(self, examples: Iterable[Example]) -> None:
        self._examples = examples
        self._copy: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY, prefix="rejoinder-")  # noqa: SIM115
        self._ends: array[int] = array("q", [0])
        self._complete = False
        weakref.finalize(self, self._copy.close)

    def __iter__(self) -> Iterator[Example]:
        return self._again() if self._complete else self._first()

    def take(self, rows: Collection[int]) -> dict[int, Example]:
        """The examples of some rows, after the first pass."""
        found = {}
        for row in sorted(rows):
            self._copy.seek(self._ends[row])
            found[row] = _example(self._copy.readline())
        return found

    def close(self) -> None:
        """Remove the copy."""
        self._copy.close()

    def _first(self) -> Iterator[Example]:
        self._copy.seek(0)
        self._copy.truncate()
        self._ends = array("q", [0])
        for example in self._examples:
            line = json.dumps(_values(example)).encode() + b"\n"
            self._copy.write(line)
            self._ends.append(self._ends[-1] + len(line))
            yield example
        self._complete = True

    def _again(self) -> Iterator[Example]:
        self._copy.seek(0)
        return map(_example, self._copy)


def _example(line: bytes) -> Example:
    values = (tuple(value) if isinstance(value, list) else value for value in json.loads(line))
    known: dict[str, Any] = dict(zip(_NAMES, values, strict=True))
    return Example(**known)

"""Slices of the replies: those with one value of a field, of a length, or with a number of turns before them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from rejoinder.arrays import Ints
from rejoinder.errors import CallError
from rejoinder.types import Example

LENGTH, TURNS = "length", "turns"
"""Slices that need no field of the data: words of the reply, and utterances of the context."""
MISSING = "(none)"
MOST_VALUES = 50
"""Values of a field beyond which it is an identifier or a text, not a group."""
_LENGTHS = ((0, "no words"), (5, "1-5 words"), (10, "6-10 words"), (20, "11-20 words"), (40, "21-40 words"))
_MOST_TURNS = 6


@dataclass(frozen=True)
class Slices:
    """The slice of each example by one field."""

    field: str
    values: tuple[str, ...]
    codes: Ints
    """One index into `values` per example."""


@dataclass
class SliceFinder:
    """Collects the values of some fields; memory: some bytes per example and field."""

    fields: tuple[str, ...] = ()
    _codes: list[list[int]] = field(default_factory=list)
    _values: list[dict[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._codes, self._values = [[] for _ in self.fields], [{} for _ in self.fields]

    def add(self, examples: Iterable[Example]) -> None:
        """Take examples into account."""
        if not self.fields:
            return
        for example in examples:
            self.add_values(self.values_of(example))

    def values_of(self, example: Example) -> list[str]:
        """The example's value of each field."""
        return [slice_of(example, name, place) for place, name in enumerate(self.fields)]

    def add_values(self, found: Sequence[str]) -> None:
        """Take an example with these values of the fields into account."""
        for name, values, codes, value in zip(self.fields, self._values, self._codes, found, strict=True):
            codes.append(values.setdefault(value, len(values)))
            if len(values) > MOST_VALUES:
                raise CallError(
                    f"the field {name!r} has more than {MOST_VALUES} different values: expected one that "
                    "groups the replies, such as a topic or a language"
                )

    def found(self) -> tuple[Slices, ...]:
        """The slices of all examples that were added."""
        for name, values in zip(self.fields, self._values, strict=True):
            if set(values) == {MISSING}:
                raise CallError(f"no reply has a field {name!r}: expected a field of the data, length or turns")
        return tuple(map(_ordered, self.fields, self._values, self._codes))


def slice_of(example: Example, name: str, place: int) -> str:
    """The example's value of a field; `place` is the field's place in `Example.slices`."""
    given = example.slices[place] if place < len(example.slices) else ""
    if given:
        return given
    return length_of(example) if name == LENGTH else turns_of(example) if name == TURNS else MISSING


def length_of(example: Example) -> str:
    """How many words the reply has, in ranges."""
    words = len(example.response.split())
    return next((name for most, name in _LENGTHS if words <= most), "over 40 words")


def turns_of(example: Example) -> str:
    """How many utterances the context has."""
    turns = len(example.context)
    return f"{turns}" if turns < _MOST_TURNS else f"{_MOST_TURNS} or more"


def in_order(name: str, values: Iterable[str]) -> list[str]:
    """The values as a reader expects them: lengths by size, others by alphabet, the missing one last."""
    lengths = [label for _, label in _LENGTHS]
    if name == LENGTH:
        return sorted(values, key=lambda value: (lengths.index(value) if value in lengths else len(lengths), value))
    return sorted(values, key=lambda value: (value == MISSING, value))


def _ordered(name: str, values: dict[str, int], codes: Sequence[int]) -> Slices:
    order = in_order(name, values)
    place = np.empty(len(order), np.int64)
    place[[values[value] for value in order]] = np.arange(len(order))
    return Slices(name, tuple(order), place[np.array(codes, np.int64)])

"""The first pass over all examples, before any work is done: are they readable, how many are there, what do they have?

Every problem with the input is found here, so that nothing is scored or written from a file whose last line is bad.
Memory: eight bytes per example.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from operator import attrgetter
from typing import Protocol, TypeVar

import numpy as np

from rejoinder.data.source import Source
from rejoinder.errors import DataError, shortened
from rejoinder.progress import progress
from rejoinder.types import Example

T = TypeVar("T")

_AT_ONCE = 64
_values = attrgetter("system", "id", "context", "references")


@dataclass(frozen=True)
class Survey:
    """What a source contains."""

    count: int
    digest: str
    """Changes when any example changes: an interrupted run resumes only over the same data."""
    has: dict[str, int] = field(default_factory=dict)
    """How many examples have references, a context, ..."""
    systems: tuple[str, ...] = ()
    """In order of appearance."""
    slices: str = ""
    """Changes when any value changes of the fields by which results are shown separately; "" without such fields."""


class Visitor(Protocol):
    """Looks at each example of a survey."""

    def begin(self) -> None:
        """A pass begins: whatever an earlier one, which found repeated ids, has seen is no longer valid."""

    def visit(self, file: str, number: int, line: int, content: bytes) -> None:
        """The name of a file, the number of a record, its line in the file, and all of its example."""


def survey(source: Source, *, quiet: bool = True, digest: bool = True, visitor: Visitor | None = None) -> Survey:
    """Read and check a source; `digest=False` leaves the digest, which only runs into files need, empty."""
    keys: array[int] = array("q")
    content, sliced = hashlib.blake2b(digest_size=16), hashlib.blake2b(digest_size=16)
    by_fields = False
    has = {"references": 0, "context": 0}
    systems: dict[str, None] = {}
    if visitor is not None:
        visitor.begin()
    rows = ((source.file, *row) for row in source.numbered())
    for part in in_batches(rows if quiet else progress(rows, "reading", unit="replies"), _AT_ONCE):
        files, numbers, lines, examples = zip(*part, strict=True)
        names, ids, contexts, references = zip(*map(_values, examples), strict=True)
        keys.extend(map(hash, zip(names, ids, strict=True)))
        if digest:
            written = [*map(bytes_of, examples)]
            content.update(b"".join(written))
            if any(values := [example.slices for example in examples]):
                by_fields = True
                sliced.update(json.dumps(values).encode())
            if visitor is not None:
                for seen in zip(files, numbers, lines, written, strict=True):
                    visitor.visit(*seen)
        has["references"] += sum(any(map(str.strip, texts)) for texts in references)  # a blank one is none
        has["context"] += sum(map(bool, contexts))
        systems |= dict.fromkeys(names)
    if not keys:
        raise _nothing_left(source)
    repeated = _repeated(keys)
    if repeated and _refuse_repeated_ids(source, repeated):
        return survey(source, quiet=quiet, digest=digest, visitor=visitor)
    values_digest = sliced.hexdigest() if by_fields else ""
    return Survey(len(keys), content.hexdigest() if digest else "", has, tuple(systems), values_digest)


def bytes_of(example: Example) -> bytes:
    """All of an example; it includes the lengths of the lists, so different examples have different bytes."""
    lists = (example.context, example.references, example.speakers)
    labels = [example.id, example.system, example.context_id, example.response]
    if example.dialogue_id:
        labels.append(example.dialogue_id)
    return "\0".join((*labels, *map(str, map(len, lists)), *chain(*lists), "")).encode()


def in_batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of at most `size` items."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def _nothing_left(source: Source) -> DataError:
    left_out = ""
    if source.skipped:
        first = next(iter(source.skipped.values()))
        left_out = f" ({len(source.skipped)} unreadable records were skipped; the first: {first})"
    return DataError(f"contains no examples{left_out}: expected at least one", file=source.name)


def _repeated(keys: array[int]) -> set[int]:
    ordered = np.sort(np.frombuffer(keys, np.int64))
    return set(ordered[1:][ordered[1:] == ordered[:-1]].tolist())


def _refuse_repeated_ids(source: Source, suspects: set[int]) -> int:
    """Refuse repeated ids, as opposed to two ids that merely share a hash; the number of skipped records."""
    first: dict[tuple[str, str], str] = {}
    before = len(source.skipped)
    for number, line, example in source.numbered():
        key = (example.system, example.id)
        if hash(key) not in suspects:
            continue
        if key in first:
            of = f" of system {shortened(example.system)}" if example.system else ""
            used = f"{shortened(example.id)}{of} was already used {first[key]}"
            problem = f"{used}: expected ids unique within a system"
            source.refuse(number, DataError(problem, file=source.file, line=line, field=source.fields.of("id")))
        first.setdefault(key, f"on line {line}" + (f" of {source.file}" if source.file != source.name else ""))
    return len(source.skipped) - before

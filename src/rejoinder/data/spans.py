"""Parts of a source that another process reads: some thousand examples, from one place of a file on.

A survey of the whole source finds where each part begins (`SpanFinder`). A part is then read without what is before it,
and is checked against the survey, so that a file which changed in the meantime is noticed.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, islice
from pathlib import Path

from rejoinder.data.files import NumberedRow, is_document, is_parquet, line_offsets, rows_after
from rejoinder.data.importers import RecordMapping
from rejoinder.data.records import FieldMap
from rejoinder.data.source import Source, bytes_of, in_batches
from rejoinder.errors import CallError, DataError
from rejoinder.types import Example, Unit

UNIT = 1024
"""Examples of the smallest span."""
READABLE = (".parquet", ".pq", ".jsonl", ".ndjson")
"""Files that can be read from the middle."""


@dataclass(frozen=True)
class Span:
    """Some examples of a source that follow each other."""

    first: int
    """The place of its first example among all examples, from 0."""
    count: int
    file: str
    """The file that it begins in; it may reach into the next ones."""
    line: int
    number: int
    """The number of its first record."""
    first_on_line: int
    """The number of the first record of that line: a line may hold several."""
    unit: int
    digests: tuple[str, ...] = ()
    """One per unit, so that spans can be joined after the survey."""
    offset: int = 0
    """Where the line begins in a file of lines, in bytes."""


class SpanFinder:
    """Finds spans of a number of examples during a survey of a source."""

    def __init__(self, source: Source, unit: int = UNIT) -> None:
        _check_files(source)
        self._source, self._unit = source, unit
        self.begin()

    def begin(self) -> None:
        """Forget what was found."""
        self._spans: list[Span] = []
        self._count, self._content = 0, hashlib.blake2b(digest_size=16)
        self._place, self._first_on_line = ("", 0), 0

    def visit(self, file: str, number: int, line: int, content: bytes) -> None:
        """Take one example into account."""
        if (file, line) != self._place:
            self._place, self._first_on_line = (file, line), number
        if self._count % self._unit == 0:
            self._close()
            self._spans.append(Span(self._count, 0, file, line, number, self._first_on_line, self._unit))
        self._content.update(content)
        self._count += 1

    def found(self, size: int) -> tuple[Span, ...]:
        """Spans of this many examples, a multiple of the unit, in order."""
        self._close()
        each = size // self._unit
        spans = [_joined(self._spans[start : start + each]) for start in range(0, len(self._spans), each)]
        offsets: dict[str, Mapping[int, int]] = {}
        for name, path in self._source.named_files.items():
            lines = [span.line for span in spans if span.file == name]
            offsets[name] = {} if is_parquet(name) or not lines else line_offsets(path, name, lines)
        return tuple(replace(span, offset=offsets[span.file].get(span.line, 0)) for span in spans)

    def _close(self) -> None:
        if self._spans and not self._spans[-1].count:
            last = self._spans[-1]
            self._spans[-1] = replace(last, count=self._count - last.first, digests=(self._content.hexdigest(),))
            self._content = hashlib.blake2b(digest_size=16)


def _joined(spans: Sequence[Span]) -> Span:
    """Spans that follow each other as one."""
    digests = tuple(digest for span in spans for digest in span.digests)
    return replace(spans[0], count=sum(span.count for span in spans), digests=digests)


def _check_files(source: Source) -> None:
    """Raise a CallError for a source that cannot be read in parts."""
    for name, path in source.named_files.items() or [(source.name, None)]:
        suffix = Path(name).suffix.lower()
        if path is None or suffix not in READABLE or (not is_parquet(name) and is_document(path, suffix)):
            raise CallError(
                f"{name} cannot be read in parts: expected {', '.join(READABLE)}, or a folder or pattern of these "
                "(`rejoinder convert` makes them)"
            )


@dataclass(frozen=True)
class SpanReader:
    """What another process needs to read spans as the survey did."""

    files: Mapping[str, Path]
    given: FieldMap
    readings: Mapping[str, RecordMapping]
    skipped: tuple[int, ...] = ()
    """The numbers of records that the survey left out, in order."""
    unit: Unit = "reply"
    systems: Mapping[str, str] = field(default_factory=dict)
    """File -> the system of those of its replies that name none."""

    @classmethod
    def of(cls, source: Source) -> SpanReader:
        """The reader of a source that was surveyed."""
        files = {name: path.resolve() for name, path in source.named_files.items()}
        skipped = tuple(sorted(source.skipped))
        return cls(files, source.given, dict(source.readings), skipped, source.unit, source.systems_of_files)

    def take(self, spans: Sequence[Span], rows: Collection[int]) -> dict[int, Example]:
        """The examples of some rows of these spans, counted over all of them."""
        found: dict[int, Example] = {}
        ends = list(accumulate(span.count for span in spans))
        wanted: dict[int, list[int]] = {}
        for row in rows:
            wanted.setdefault(bisect_right(ends, row), []).append(row)
        for place, here in sorted(wanted.items()):
            examples = self.read(spans[place])
            start = ends[place] - spans[place].count
            found |= {row: examples[row - start] for row in here}
        return found

    def read(self, span: Span) -> list[Example]:
        """The examples of a span; DataError if they are not those that were surveyed."""
        examples = list(islice(_SpanSource(self, span), span.count))
        found = tuple(_digest(some) for some in in_batches(examples, span.unit))
        if len(examples) != span.count or found != span.digests:
            raise DataError("changed while it was read", file=span.file)
        return examples


def _digest(examples: Sequence[Example]) -> str:
    content = hashlib.blake2b(digest_size=16)
    for example in examples:
        content.update(bytes_of(example))
    return content.hexdigest()


class _SpanSource(Source):
    """A source that begins in the middle."""

    def __init__(self, reader: SpanReader, span: Span) -> None:
        super().__init__([], reader.given, unit=reader.unit)
        self._reader, self._span = reader, span
        self.readings, self._systems = dict(reader.readings), dict(reader.systems)
        self._files, self._all_examples = dict(reader.files), False
        self._first_number, self._reads_all = span.first_on_line, False
        before = DataError("was left out", file=span.file)
        left_out = reader.skipped[bisect_left(reader.skipped, span.number) :]
        last = span.number + span.count + len(left_out)
        left_out = left_out[: bisect_left(left_out, last)]
        self.skipped = dict.fromkeys((*left_out, *range(span.first_on_line, span.number)), before)

    def _rows(self) -> Iterator[NumberedRow]:
        names = list(self._files)
        for name in names[names.index(self._span.file) :]:
            line, offset = (self._span.line, self._span.offset) if name == self._span.file else (1, 0)
            yield from self._understood(name, rows_after(self._files[name], name, line, offset))

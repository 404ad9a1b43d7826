"""Examples from any origin, readable more than once, and the first pass over them: the survey."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import shutil
import sys
import tempfile
import warnings
import weakref
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import IO, Annotated, Any, Protocol, TypeVar

import numpy as np

from rejoinder.data.files import NumberedRow, rows_of_file
from rejoinder.data.importers import SAMPLE, RecordMapping, understand
from rejoinder.data.opening import files_of, unreadable
from rejoinder.data.records import (
    LENGTH,
    REPLY_ROLES,
    TURNS,
    FieldError,
    FieldMap,
    Fields,
    MissingReply,
    all_plain,
    data_error,
    example_of,
)
from rejoinder.data.tables import frame_records
from rejoinder.errors import CallError, DataError, UnknownNameError, shortened
from rejoinder.options import FIELDS_OPTION, OnError, UnitOption, fitting, path, verb
from rejoinder.progress import progress
from rejoinder.types import Example, Unit

# Examples from any origin, readable more than once.
#
# A file is never read into memory as a whole, nor is a stream, which is copied to a temporary file. A generator can run
# only once, so its records are kept in a list. What the records of a file mean is decided from the first of them, once
# (`importers.reading`), and logged where they are not in our own format.


_FRAME_ROWS = 4096
_log = logging.getLogger(__name__)


class ErrorPolicy:
    """Whether an unreadable record stops the reader, or is skipped and recorded."""

    def __init__(self, on_error: OnError) -> None:
        self.on_error: OnError = fitting("on_error", on_error, OnError)
        self.skipped: dict[int, DataError] = {}
        """The number of the record -> what is wrong with it."""

    def refuse(self, number: int, error: DataError) -> None:
        """Raise the error, or record it and continue, depending on `on_error`."""
        if self.on_error == "raise":
            raise error
        self.skipped[number] = error


class Source(ErrorPolicy):
    """Examples of a file, of standard input ("-"), of a data frame, a data set, or any collection of records.

    Iterating yields the examples in order and may be repeated. With `on_error="skip"` unreadable records are skipped
    and collected in `skipped` (the record's number -> error). With `by_file`, replies that name no system have the name
    of the file, folder or pattern that they are from, where several are given.
    """

    def __init__(
        self,
        origin: Any,
        fields: Fields | None = None,
        on_error: OnError = "raise",
        *,
        unit: Unit = "reply",
        by_file: bool = False,
    ) -> None:
        super().__init__(on_error)
        self.given = FieldMap.given(fields)
        self.fields = self.given
        """The data's names for our fields, those of the file that is being read."""
        self.unit: Unit = fitting("unit", unit, UnitOption)
        """Whether the last assistant message of a chat is an example, or each one."""
        self.readings: dict[str, RecordMapping] = {}
        """File -> what was understood of it."""
        self._spilled: tempfile.TemporaryDirectory[str] | None = None
        self._origin = origin
        self._files: dict[str, Path] = {}
        self._systems: dict[str, str] = {}
        """File -> the system of those of its replies that name none; empty where such replies have no name."""
        self._all_examples: bool | None = None
        """Whether it is a list of Examples with nothing wrong; None before the first pass."""
        self._first_number, self._reads_all = 1, True
        if isinstance(origin, str | Path) or _is_list_of_paths(origin):
            for one in [origin] if isinstance(origin, str | Path) else origin:
                fitting("the file", one, path)
            self.name = _name_of_files(origin)
            files = files_of(origin, self.name)
            if files is None:
                self._files = {self.name: self._readable_twice(Path(origin))}
            else:
                self._files = {_text_of(file): file for file in files}
            if by_file and isinstance(origin, list | tuple) and len(origin) > 1:
                self._systems = _systems_of(origin)
        else:
            self.name = _name_of(origin)
            _check_holds_records(origin)
            if isinstance(origin, Iterator):  # can be read only once, and we read twice
                self._origin = list(origin)
        self.file = self.name
        """The file that is being read."""

    def __iter__(self) -> Iterator[Example]:
        return map(itemgetter(2), self.numbered())

    def numbered(self) -> Iterator[tuple[int, int, Example]]:
        """Record number, line number and example, for each example."""
        if self._all_examples is None:
            reads_records = type(self)._example is not Source._example  # a subclass that reads more than the example
            self._all_examples = isinstance(self._origin, list) and not reads_records and all_plain(self._origin)
            if self._all_examples:
                self.readings[self.name] = RecordMapping(self.given, self.given)
        if self._all_examples and not self.skipped:
            yield from ((number, number, example) for number, example in enumerate(self._origin, start=1))
            return
        for number, (line, record) in enumerate(self._rows(), start=self._first_number):
            if number in self.skipped:
                continue
            try:
                if isinstance(record, DataError):
                    raise record
                example = self._example(record, number)
            except FieldError as error:
                self.refuse(number, data_error(self._with_hint(error), self.file, line))
            except DataError as error:
                self.refuse(number, error)
            else:
                yield number, line, example

    def _example(self, record: Any, number: int) -> Example:
        return example_of(record, number, self.fields, self._systems.get(self.file, ""))

    @property
    def systems_of_files(self) -> dict[str, str]:
        """File -> the system of those of its replies that name none."""
        return dict(self._systems)

    @property
    def named_files(self) -> dict[str, Path]:
        """The files that are read, by the names that messages have for them; none for objects in memory."""
        return dict(self._files)

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are read; none for objects in memory."""
        return tuple(self._files.values())

    @property
    def holds_examples(self) -> bool:
        """Whether it is a list of Examples, whose fields have our names."""
        return isinstance(self._origin, list | tuple) and any(isinstance(one, Example) for one in self._origin[:1])

    def close(self) -> None:
        """Delete the copy of a stream."""
        if self._spilled:
            self._spilled.cleanup()

    def _with_hint(self, error: FieldError) -> FieldError:
        """The error, and for a missing reply the options that would name it."""
        hint = self.readings[self.file].hint
        return FieldError(error.name, f"{error}; {hint}") if isinstance(error, MissingReply) and hint else error

    def _rows(self) -> Iterator[NumberedRow]:
        if not self._files:
            yield from self._understood(self.name, enumerate(_records_of(self._origin), start=1))
        for name, file in self._files.items():
            yield from self._understood(name, rows_of_file(file, name))

    def _understood(self, name: str, rows: Iterable[NumberedRow]) -> Iterator[NumberedRow]:
        """The rows of one file, as records of ours."""
        rows = iter(rows)
        reading = self.readings.get(name)
        if reading is None:
            first, rows = _first_rows(rows)
            sample = list(map(itemgetter(1), first))
            reading = understand(sample, name, self.given, unit=self.unit)
            if reading.is_foreign and str(reading) not in map(str, self.readings.values()):
                level = logging.WARNING if reading.notes else logging.INFO
                _log.log(level, "%s: %s", name, reading)
            self.readings[name] = reading
        self.file, self.fields = name, reading.fields
        prefix = f"{Path(name).name}:" if len(self._files) > 1 else ""
        yield from reading.rows(rows, name, unit=self.unit, prefix=prefix, whole_file=self._reads_all)

    def _readable_twice(self, path: Path) -> Path:
        """The path of a file, or of a copy if it is a stream (standard input, a pipe), which can be read only once."""
        if str(path) == "-":
            return self._spill(sys.stdin.buffer)
        try:
            path.stat()
            if path.is_file():
                return path
            with path.open("rb") as stream:
                return self._spill(stream)
        except OSError as error:
            raise unreadable(error, self.name) from None

    def _spill(self, stream: IO[bytes]) -> Path:
        self._spilled = tempfile.TemporaryDirectory(prefix="rejoinder-")
        weakref.finalize(self, self._spilled.cleanup)  # a result may keep the replies for longer than its function runs
        path = Path(self._spilled.name) / "stream"
        with path.open("wb") as file:
            shutil.copyfileobj(stream, file)
        return path


@verb
def read(
    replies: Any, *, fields: Annotated[Fields | None, FIELDS_OPTION] = None, on_error: OnError = "raise"
) -> Iterator[Example]:
    """The examples of a file, standard input ("-"), data frame or data set, one after the other.

    `fields` maps our field names to the data's: {"context": "history"}. With `on_error="skip"` unreadable examples are
    left out, and a warning at the end counts them.
    """
    return _examples(Source(replies, fields, on_error))


def _examples(opened: Source) -> Iterator[Example]:
    with contextlib.closing(opened) as source:
        yield from source
        if source.skipped:
            first = next(iter(source.skipped.values()))
            warnings.warn(f"left out {len(source.skipped)} unreadable examples; the first: {first}", stacklevel=2)


def _is_list_of_paths(origin: Any) -> bool:
    return isinstance(origin, list | tuple) and bool(origin) and all(isinstance(item, Path) for item in origin)


FORMATS = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".pq")
"""Suffixes that are dropped from a file's name to get the system's."""


def labels_of(origins: Sequence[object]) -> list[str]:
    """A name for each source: the file's without its suffix, else A, B, C ...; the whole path where two are equal."""
    labels = [
        _stem(str(origin)) if isinstance(origin, str | Path) else chr(ord("A") + place % 26)
        for place, origin in enumerate(origins)
    ]
    if len(set(labels)) < len(labels):
        labels = [
            str(origin) if isinstance(origin, str | Path) else label
            for origin, label in zip(origins, labels, strict=True)
        ]
    return labels


def _stem(path: str) -> str:
    """'runs/gpt-4.1.jsonl.gz' -> 'gpt-4.1'."""
    name = path if path == "-" else Path(path).name
    for suffix in (".gz", *FORMATS):
        name = name.removesuffix(suffix)
    return name or path


def _systems_of(origins: Sequence[Path]) -> dict[str, str]:
    """File -> the name of the file, the folder or the pattern that the caller gave."""
    given = zip(origins, labels_of(origins), strict=True)
    return {_text_of(file): label for one, label in given for file in files_of(one, str(one)) or [one]}


def _name_of_files(origin: str | Path | Sequence[Path]) -> str:
    if not isinstance(origin, str | Path):
        return ", ".join(map(_text_of, origin))
    return "standard input" if str(origin) == "-" else _text_of(origin)


def _text_of(path: str | Path) -> str:
    """A path as text that can be shown and written: a file name may contain bytes that are not text."""
    return str(path).encode(errors="replace").decode()


def _first_rows(rows: Iterator[NumberedRow]) -> tuple[list[NumberedRow], Iterator[NumberedRow]]:
    """The first rows, and all rows; an error after some of them is raised in its place."""
    first: list[NumberedRow] = []
    try:
        first += islice(rows, SAMPLE)
    except DataError as error:
        return first, _then_raising(first, error)
    return first, chain(first, rows)


def _then_raising(rows: list[NumberedRow], error: DataError) -> Iterator[NumberedRow]:
    yield from rows
    raise error


def _name_of(origin: Any) -> str:
    module = type(origin).__module__.partition(".")[0]
    return f"<{type(origin).__name__}>" if module == "builtins" else f"<{module} {type(origin).__name__}>"


def _check_holds_records(origin: Any) -> None:
    """Raise a CallError for an object that is no collection of records."""
    kind = type(origin).__name__
    single = isinstance(origin, dict | bytes | type) or kind == "Series"
    if single or not (hasattr(origin, "__iter__") or kind == "LazyFrame"):
        raise CallError(f"cannot read examples from a {kind}: expected a path, a data frame or a list")


def _records_of(origin: Any) -> Iterable[Any]:
    """Records of an object in memory; those of a data frame in batches."""
    module, kind = type(origin).__module__.partition(".")[0], type(origin).__name__
    if (module, kind) == ("polars", "DataFrame"):
        return origin.iter_rows(named=True)  # type: ignore[no-any-return]
    if (module, kind) == ("polars", "LazyFrame"):
        return frame_records(origin, _name_of(origin))
    if (module, kind) == ("pandas", "DataFrame"):
        starts = range(0, len(origin), _FRAME_ROWS)
        return (record for at in starts for record in origin.iloc[at : at + _FRAME_ROWS].to_dict("records"))
    return origin  # type: ignore[no-any-return]


# The first pass over all examples, before any work is done: are they readable, how many are there, what do they
# have?
#
# Every problem with the input is found here, so that nothing is scored or written from a file whose last line is bad.
# Memory: eight bytes per example.


T = TypeVar("T")

_AT_ONCE = 64
_values, _slices = attrgetter("system", "id", "context", "references"), attrgetter("slices")


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
    lacking: tuple[str, ...] = ()
    """The fields by which results are to be shown separately, and which no example has."""
    earlier: int = 0
    """Assistant turns of chats that are not scored: those before the last one."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What is not scored, and how to score it."""
        if not self.earlier:
            return ()
        total = self.earlier + self.count
        return (
            f"{self.earlier:,} of {total:,} replies are not scored: of each conversation only the last one is "
            "(`--unit turn` scores every one)",
        )


class Visitor(Protocol):
    """Looks at each example of a survey."""

    def begin(self) -> None:
        """A pass begins: whatever an earlier one, which found repeated ids, has seen is no longer valid."""

    def visit(self, file: str, number: int, line: int, content: bytes) -> None:
        """The name of a file, the number of a record, its line in the file, and all of its example."""


def survey(
    source: Source,
    *,
    quiet: bool = True,
    digest: bool = True,
    visitor: Visitor | None = None,
    others: bool = False,
) -> Survey:
    """Read and check a source; `digest=False` leaves the digest, which only runs into files need, empty.

    A field to slice by that no example has is an error, unless there are `others`, which may have it.
    """
    keys: array[int] = array("q")
    content, sliced = hashlib.blake2b(digest_size=16), hashlib.blake2b(digest_size=16)
    by_fields = False
    has = {"references": 0, "context": 0}
    systems: dict[str, None] = {}
    lacking, earlier = {name for name in source.given.by if name not in (LENGTH, TURNS)}, 0
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
            if any(values := list(map(_slices, examples))):
                by_fields = True
                sliced.update(json.dumps(values).encode())
            if visitor is not None:
                for seen in zip(files, numbers, lines, written, strict=True):
                    visitor.visit(*seen)
        has["references"] += sum(any(map(str.strip, texts)) for texts in references)  # a blank one is none
        has["context"] += sum(map(bool, contexts))
        systems |= dict.fromkeys(names)
        if lacking:
            by = source.given.by
            lacking -= {name for one in examples for name, value in zip(by, one.slices, strict=False) if value}
        if source.unit == "reply":
            chats = {file for file in {*files} if source.readings[file].chats}
            earlier += sum(
                role in REPLY_ROLES
                for file, one in zip(files, examples, strict=True)
                if file in chats
                for role in one.speakers
            )
    if not keys:
        raise _nothing_left(source)
    ordered = np.sort(np.frombuffer(keys, np.int64))
    repeated = set(ordered[1:][ordered[1:] == ordered[:-1]].tolist())
    if repeated and _refuse_repeated_ids(source, repeated):
        return survey(source, quiet=quiet, digest=digest, visitor=visitor, others=others)
    if lacking and not others:
        refuse_lacking(source.given.by, lacking, [source])
    return Survey(
        len(keys),
        content.hexdigest() if digest else "",
        has,
        tuple(systems),
        sliced.hexdigest() if by_fields else "",
        tuple(name for name in source.given.by if name in lacking),
        earlier,
    )


def refuse_lacking(by: Sequence[str], lacking: Collection[str], sources: Sequence[Source]) -> None:
    """Raise an UnknownNameError for the first field to slice by that no example of the sources has, if there is one."""
    readings = [reading for source in sources for reading in source.readings.values()]
    known = {path for reading in readings for path in reading.present if path not in reading.ours}
    for name in by:
        if name in lacking:
            raise UnknownNameError("field to slice by:", name, {*known, LENGTH, TURNS})


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

"""The raw records of files, each with its line number: lines of JSON, whole documents, tables."""

from __future__ import annotations

import codecs
import csv
import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from json import JSONDecodeError
from pathlib import Path
from typing import IO, Any

from rejoinder.data.opening import LONGEST_LINE, open_bytes, unreadable
from rejoinder.data.tables import parquet_records, sheet_cells
from rejoinder.errors import CallError, DataError, shortened
from rejoinder.folders.schema import RepeatedKeyError, json_value, unique_keys

# Raw records of files, each with its line number.
#
# An unreadable record is yielded as an error, so that the caller decides whether to stop or to skip it.


NumberedRow = tuple[int, Any]
"""A line number with a record, or with the DataError that replaces it."""


class TableRow(dict[str, str]):
    """A record of a table (CSV, TSV, spreadsheet): every value is a string, lists are JSON, missing values empty."""


def rows_of_file(path: Path, name: str) -> Iterator[NumberedRow]:
    """Records of a file, by its suffix: .jsonl, .json, .csv, .tsv, .parquet, .xlsx; text may be gzipped (.gz)."""
    kind = Path(name.lower().removesuffix(".gz")).suffix or ".jsonl"
    if kind in {".parquet", ".pq"}:
        return _parquet(path, name)
    if kind in {".csv", ".tsv"}:
        return _records(_cells(path, name, "\t" if kind == ".tsv" else ","), name)
    if kind == ".xlsx":
        return _records(sheet_cells(path, name), name)
    if kind in {".xls", ".xlsb", ".xlsm", ".ods", ".numbers", ".zip", ".pkl", ".arrow"}:
        raise CallError(f"{name}: cannot read {kind} files; expected .jsonl, .json, .csv, .tsv, .parquet or .xlsx")
    return document_rows(path, name) if is_document(path, kind) else _json_lines(path, name)


def rows_after(path: Path, name: str, row: int, offset: int) -> Iterator[NumberedRow]:
    """Records of a Parquet file or of JSON lines from some row on, numbered as in the whole file.

    `offset` is where the row begins in a file of lines (see `line_offsets`).
    """
    if is_parquet(name):
        return enumerate(parquet_records(path, name, row - 1), start=row)
    return _json_lines(path, name, row, offset)


def is_parquet(name: str) -> bool:
    """Whether a file is read as Parquet."""
    return Path(name).suffix.lower() in {".parquet", ".pq"}


def line_offsets(path: Path, name: str, lines: Iterable[int]) -> dict[int, int]:
    """Line number -> where the line begins in the file, in bytes."""
    wanted, offsets, offset = set(lines), dict[int, int](), 0
    try:
        with open_bytes(path) as file:
            for number, line in enumerate(file, start=1):
                if number in wanted:
                    offsets[number] = offset
                offset += len(line)
    except OSError as error:
        raise unreadable(error, name) from None
    return offsets


def lines_of_file(path: Path, name: str, first: int = 1, offset: int = 0) -> Iterator[tuple[int, str | DataError]]:
    """Decoded lines, each with its number; those from line `first` on, which begins at `offset`."""
    for number, line in _raw_lines(path, name, first, offset):
        yield number, line if isinstance(line, DataError) else _decoded(line, name, number)


def _raw_lines(path: Path, name: str, first: int = 1, offset: int = 0) -> Iterator[tuple[int, bytes | DataError]]:
    """Lines as bytes, each with its number; an error in place of one that is too long."""
    try:
        with open_bytes(path) as file:
            number = first - 1
            if offset:
                file.seek(offset)
            while line := file.readline(LONGEST_LINE + 1):
                number += 1
                if len(line) > LONGEST_LINE:
                    _drain(file, line)
                    problem = f"is longer than {LONGEST_LINE >> 20} MiB: expected one example per line"
                    yield number, DataError(problem, file=name, line=number)
                else:
                    yield number, line
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"is not a complete gzip file ({error})", file=name) from None
    except OSError as error:
        raise unreadable(error, name) from None


def _decoded(line: bytes, name: str, number: int) -> str | DataError:
    if number == 1 and line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return DataError("is UTF-16: expected UTF-8 text", file=name, line=number)
    if b"\x00" in line:
        return DataError("contains a NUL byte: expected UTF-8 text", file=name, line=number)
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        problem = (
            f"is not valid UTF-8 (byte {line[error.start]:#04x} at position {error.start + 1}): expected UTF-8 text"
        )
        return DataError(problem, file=name, line=number)


def _drain(file: IO[bytes], line: bytes) -> None:
    while line and not line.endswith(b"\n"):
        line = file.readline(LONGEST_LINE)


def _json_lines(path: Path, name: str, first: int = 1, offset: int = 0) -> Iterator[NumberedRow]:
    for number, line in lines_of_file(path, name, first, offset):
        if isinstance(line, DataError):
            yield number, line
            continue
        if not line.strip():
            continue
        try:
            record = json_value(line.rstrip())
        except JSONDecodeError as error:
            problem = f"is not valid JSON ({error.msg} at column {error.colno}): expected one object per line"
            record = DataError(problem, file=name, line=number)
        except RepeatedKeyError as error:
            record = DataError(str(error), file=name, line=number)
        except ValueError as error:  # nested too deep; a number of too many digits
            problem = f"is not usable JSON ({error}): expected one object per line"
            record = DataError(problem, file=name, line=number)
        yield number, record


class _TextLines:
    """Lines for Python's CSV reader, which only counts the lines that it was given.

    An undecodable line must not end a quoted cell, or the rest of the cell would be read as new rows. So the reader
    gets it with replacement characters, and `error` says that the row is bad.
    """

    def __init__(self, path: Path, name: str) -> None:
        self._lines, self._name = _raw_lines(path, name), name
        self.number = 0
        self.begin_row()

    def begin_row(self) -> None:
        """Forget what was seen in earlier rows."""
        self.error: DataError | None = None
        self.quotes = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self.number, line = next(self._lines)
        if isinstance(line, DataError):  # too long, and its quotes are unknown
            raise line
        text = _decoded(line, self._name, self.number)
        if isinstance(text, DataError):
            self.error = self.error or text
            text = line.decode("utf-8", "replace").replace("\0", "\ufffd")
        self.quotes += text.count('"')
        return text


def _records(rows: Iterable[tuple[int, list[str] | DataError]], name: str) -> Iterator[NumberedRow]:
    """Rows of cells as records of strings, with the column names of the first row."""
    header: list[str] | None = None
    for line, cells in rows:
        if isinstance(cells, DataError):
            if header is None:  # nothing below it can be read
                raise cells
            yield line, cells
        elif _is_blank(cells, header):
            continue
        elif header is None:
            header = _checked_header(cells, name, line)
        else:
            yield line, _record(header, cells, name, line)


def _is_blank(cells: list[str], header: list[str] | None) -> bool:
    """Whether a row is a blank line, or what a spreadsheet leaves of one.

    The only cell of a row counts even if it is blank: "" is how a table with one column writes an empty reply.
    """
    return not any(map(str.strip, cells)) and (not cells or header is None or len(header) > 1)


def _cells(path: Path, name: str, delimiter: str) -> Iterator[tuple[int, list[str] | DataError]]:
    """Rows of cells; a row that spans several lines has the number of its first.

    A bad row can be skipped only if it is clear where the next one begins: its quotes must be in pairs.
    """
    lines = _TextLines(path, name)
    csv.field_size_limit(LONGEST_LINE)  # Python's own is 128 KiB, for the whole process
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        lines.begin_row()
        line = lines.number + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            bad = lines.error or DataError(_csv_problem(error), file=name, line=line)
            if lines.quotes % 2 or _is_field_limit(error):
                raise bad from None
            yield bad.line, bad
        else:
            yield (line, cells) if lines.error is None else (lines.error.line, lines.error)


def _csv_problem(error: csv.Error) -> str:
    if _is_field_limit(error):
        return f"has a cell longer than {LONGEST_LINE >> 20} MiB: expected one row per example, paired quotes"
    return f"is not valid CSV ({error}): expected quotes in pairs"


def _is_field_limit(error: csv.Error) -> bool:
    return "field limit" in str(error)


def _checked_header(cells: list[str], name: str, line: int) -> list[str]:
    header = [cell.strip() for cell in cells]
    twice = next((cell for cell, count in Counter(header).items() if count > 1), None)
    if twice is not None:
        raise DataError(f"names the column {shortened(twice)} twice: expected unique names", file=name, line=line)
    return header


def _record(header: list[str], cells: list[str], name: str, line: int) -> TableRow | DataError:
    if len(cells) != len(header):
        problem = f"has {len(cells)} cells: expected {len(header)}, as in the header"
        return DataError(problem, file=name, line=line)
    return TableRow(zip(header, cells, strict=True))


def _parquet(path: Path, name: str) -> Iterator[NumberedRow]:
    try:
        path.open("rb").close()
    except OSError as error:
        raise unreadable(error, name) from None
    yield from enumerate(parquet_records(path, name), start=1)


# JSON that is not one object per line: an array of records, or objects that span several lines.
#
# The file is parsed as it is read: only one record is in memory at a time. After a syntax error it is not known where
# the next record begins, so such a file is refused even where single bad records are skipped.


LONGEST_DOCUMENT = 64 << 20
"""Characters of an object that is a whole file, such as one page of an export."""

_CHUNK = 1 << 16
_BLANKS = " \t\r\n"
_GZIP_ERRORS = (EOFError, gzip.BadGzipFile, zlib.error)


def is_document(path: Path, suffix: str) -> bool:
    """Whether a file must be parsed as a whole: it begins with an array, or is a .json file with an unfinished line."""
    try:
        with open_bytes(path) as file:
            begin = file.read(3).removeprefix(codecs.BOM_UTF8) + file.read(_CHUNK)
            begin = begin.lstrip()
            while not begin and (more := file.read(_CHUNK)):
                begin = more.lstrip()
            if not begin.startswith((b"{", b"[")):
                return False
            if begin.startswith(b"["):
                return True
            return suffix == ".json" and not _is_json(begin.partition(b"\n")[0] + _rest_of_line(begin, file))
    except (OSError, *_GZIP_ERRORS):  # reported by whoever reads the file
        return False


def _rest_of_line(begin: bytes, file: IO[bytes]) -> bytes:
    return b"" if b"\n" in begin else file.readline(LONGEST_LINE)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def document_rows(path: Path, name: str) -> Iterator[tuple[int, Any]]:
    """The elements of the array, or the objects one after another, each with the number of its first line.

    A DataError stands in place of a record in which an object has a key twice.
    """
    try:
        with open_bytes(path) as file:
            text = _Text(file, name)
            in_array = text.next_character() == "["
            if in_array:
                text.skip("[")
                if text.next_character() == "]":
                    text.skip("]")
                    in_array = False
            while text.next_character():
                line = text.line
                yield line, text.value(LONGEST_LINE if in_array else LONGEST_DOCUMENT)
                if in_array and text.next_character() != "]":
                    text.skip(",")
                elif in_array:
                    text.skip("]")
                    in_array = False
                    text.expect_end()
            if in_array:
                raise text.error("ends within an array: expected ]")
    except _GZIP_ERRORS as error:
        raise DataError(f"is not a complete gzip file ({error})", file=name) from None
    except OSError as error:
        raise unreadable(error, name) from None


class _Text:
    """The text of a file from the place that is parsed next."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self._name = file, name
        self._decode = codecs.getincrementaldecoder("utf-8-sig")()
        self._json = json.JSONDecoder(object_pairs_hook=self._object)
        self._repeated: RepeatedKeyError | None = None
        self._text, self._at, self._ended = "", 0, False
        self.line = 1

    def next_character(self) -> str:
        """The next character that is not blank, which is not consumed; "" at the end of the file."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _BLANKS:
                self.line += self._text[self._at] == "\n"
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if self._ended:
                return ""
            self._read_more(_CHUNK)

    def skip(self, character: str) -> None:
        """Consume this character, which must be the next one."""
        found = self.next_character()
        if found != character:
            what = repr(found) if found else "the end of the file"
            raise self.error(f"is not valid JSON: expected {character!r}, found {what}")
        self._at += 1

    def expect_end(self) -> None:
        """Raise a DataError if there is anything but blanks."""
        if self.next_character():
            raise self.error("has text after the end of the array: expected nothing there")

    def value(self, longest: int) -> Any:
        """The next value, which has at most `longest` characters; a DataError in place of one that repeats a key."""
        size, first = _CHUNK, self.line
        while True:
            self._repeated = None
            try:
                value, end = self._json.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._ended or not self._may_be_cut(error):
                    self.line += self._text.count("\n", self._at, error.pos)
                    raise self.error(f"is not valid JSON ({error.msg})") from None
                if len(self._text) - self._at > longest:
                    raise self.error(f"has a record longer than {longest >> 20} MiB: expected one per reply") from None
                self._read_more(size)
                size *= 2  # so that a long value is not parsed again and again
            except (RecursionError, ValueError) as error:
                raise self.error(f"is not usable JSON ({error})") from None
            else:
                self.line += self._text.count("\n", self._at, end)
                self._at = end
                return value if self._repeated is None else DataError(str(self._repeated), file=self._name, line=first)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        try:
            return unique_keys(pairs)
        except RepeatedKeyError as error:  # only this record is bad: its end is known
            self._repeated = error
            return {}

    def _may_be_cut(self, error: json.JSONDecodeError) -> bool:
        """Whether the error may be due to the end of what was read so far: no token but a string is longer than 16."""
        return error.msg.startswith("Unterminated string") or error.pos > len(self._text) - 16

    def _read_more(self, size: int) -> None:
        chunk = self._file.read(size)
        self._ended = not chunk
        try:
            text = self._decode.decode(chunk, final=self._ended)
        except UnicodeDecodeError:
            raise DataError("is not valid UTF-8: expected UTF-8 text", file=self._name) from None
        self._text, self._at = self._text[self._at :] + text, 0

    def error(self, problem: str) -> DataError:
        """The problem with its place."""
        return DataError(problem, file=self._name, line=self.line)

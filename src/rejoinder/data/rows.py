"""Raw records of files, each with its line number.

An unreadable record is yielded as an error, so that the caller decides whether to stop or to skip it.
"""

from __future__ import annotations

import codecs
import csv
import errno
import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from rejoinder.data.parquet import parquet_records
from rejoinder.errors import CallError, DataError, quoted

LONGEST_LINE = 4 << 20
"""Bytes. No reply is this long: a longer line means a broken file, and is never read into memory as a whole."""

Row = tuple[int, Any]
"""A line number with a record, or with the DataError that replaces it."""


class TableRow(dict[str, str]):
    """A record of a CSV or TSV table, where every value is a string: lists are JSON, missing values are empty."""


def rows_of_file(path: Path, name: str) -> Iterator[Row]:
    """Records of a file, by its suffix: .jsonl, .csv, .tsv, .parquet; the text formats may be gzipped (.gz)."""
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    kind = next((suffix for suffix in reversed(suffixes) if suffix != ".gz"), ".jsonl")
    if kind in {".parquet", ".pq"}:
        return _parquet(path, name)
    if kind in {".csv", ".tsv"}:
        return _table(path, name, "\t" if kind == ".tsv" else ",")
    if kind in {".xlsx", ".xls", ".zip", ".pkl", ".arrow"}:
        raise CallError(f"{name}: cannot read {kind} files; expected .jsonl, .jsonl.gz, .csv, .tsv or .parquet")
    return _json_lines(path, name)


def lines_of_file(path: Path, name: str) -> Iterator[tuple[int, str | DataError]]:
    """Decoded lines, each with its number."""
    try:
        with _open(path) as file:
            number = 0
            while line := file.readline(LONGEST_LINE + 1):
                number += 1
                if len(line) > LONGEST_LINE:
                    _drain(file, line)
                    problem = f"is longer than {LONGEST_LINE >> 20} MiB: expected one example per line"
                    yield number, DataError(problem, file=name, line=number)
                else:
                    yield number, _decoded(line, name, number)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"is not a complete gzip file ({error})", file=name) from None
    except OSError as error:
        raise unreadable(error, name) from None


def unreadable(error: OSError, name: str) -> DataError:
    """The error for a file that cannot be opened."""
    problems = {
        errno.EISDIR: "is a folder: expected a file",
        errno.ENOENT: "no such file",
        errno.EACCES: "may not be read: permission denied",
    }
    return DataError(problems.get(error.errno or 0, f"cannot be read ({error.strerror or error})"), file=name)


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


def _open(path: Path) -> IO[bytes]:
    file = path.open("rb")
    if file.read(2) == b"\x1f\x8b":
        file.close()
        return gzip.open(path, "rb")  # type: ignore[return-value]
    file.seek(0)
    return file


def _drain(file: IO[bytes], line: bytes) -> None:
    while line and not line.endswith(b"\n"):
        line = file.readline(LONGEST_LINE)


def _json_lines(path: Path, name: str) -> Iterator[Row]:
    for number, line in lines_of_file(path, name):
        if isinstance(line, DataError):
            yield number, line
        elif line.strip():
            yield number, _parsed(line.rstrip(), name, number)


def _parsed(line: str, name: str, number: int) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        problem = f"is not valid JSON ({error.msg} at column {error.colno}): expected one object per line"
    except (RecursionError, ValueError) as error:  # nested too deep; a number of too many digits
        problem = f"is not usable JSON ({error}): expected one object per line"
    return DataError(problem, file=name, line=number)


class _TextLines:
    """Lines for Python's CSV reader, which keeps count only of those that it was given; a bad one is raised."""

    def __init__(self, path: Path, name: str) -> None:
        self._lines = lines_of_file(path, name)
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self.number, line = next(self._lines)
        if isinstance(line, DataError):
            raise line
        return line


def _table(path: Path, name: str, delimiter: str) -> Iterator[Row]:
    """Rows as records of strings, with the column names of the first row."""
    header: list[str] | None = None
    for line, cells in _cells(path, name, delimiter):
        if isinstance(cells, DataError):
            if header is None:  # nothing below it can be read
                raise cells
            yield line, cells
        elif not any(cells) and len(cells) != 1:  # a blank line, or what a spreadsheet leaves of one
            continue
        elif header is None:
            header = _checked_header(cells, name, line)
        else:
            yield line, _record(header, cells, name, line)


def _cells(path: Path, name: str, delimiter: str) -> Iterator[tuple[int, list[str] | DataError]]:
    """Rows of cells; a row that spans several lines has the number of its first."""
    lines = _TextLines(path, name)
    csv.field_size_limit(LONGEST_LINE)  # Python's own is 128 KiB, for the whole process
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        line = lines.number + 1
        try:
            yield line, next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if "field limit" in str(error):  # nobody can tell where the next row begins, so it cannot be skipped
                problem = (
                    f"has a cell longer than {LONGEST_LINE >> 20} MiB: expected one row per example, paired quotes"
                )
                raise DataError(problem, file=name, line=line) from None
            yield line, DataError(f"is not valid CSV ({error}): expected quotes in pairs", file=name, line=line)
        except DataError as error:
            if not error.line:  # the file as a whole
                raise
            yield error.line, error


def _checked_header(cells: list[str], name: str, line: int) -> list[str]:
    header = [cell.strip() for cell in cells]
    twice = next((cell for place, cell in enumerate(header) if cell in header[:place]), None)
    if twice is not None:
        raise DataError(f"names the column {quoted(twice)} twice: expected unique names", file=name, line=line)
    return header


def _record(header: list[str], cells: list[str], name: str, line: int) -> TableRow | DataError:
    if len(cells) != len(header):
        problem = f"has {len(cells)} cells: expected {len(header)}, as in the header"
        return DataError(problem, file=name, line=line)
    return TableRow(zip(header, cells, strict=True))


def _parquet(path: Path, name: str) -> Iterator[Row]:
    try:
        path.open("rb").close()
    except OSError as error:
        raise unreadable(error, name) from None
    yield from enumerate(parquet_records(path, name), start=1)

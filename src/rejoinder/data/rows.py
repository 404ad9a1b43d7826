"""Raw records out of files and frames, each with its line number. A line that cannot be read is yielded as an error, so
that the caller decides whether to stop or to skip."""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from rejoinder.errors import CallError, DataError

LONGEST_LINE = 4 << 20
"""Bytes. No reply is this long: a longer line is a broken file, and is never held in memory whole."""

Row = tuple[int, Any]
"""A line number with a record, or with the DataError that stands in its place."""

_TABLE_ROWS = 4096


def rows_of_file(path: Path, name: str) -> Iterator[Row]:
    """Records of a file, by its suffix: .jsonl, .csv, .tsv, .parquet; .gz on top of the text ones."""
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    kind = next((suffix for suffix in reversed(suffixes) if suffix != ".gz"), ".jsonl")
    if kind in {".parquet", ".pq"}:
        return _parquet(path, name)
    if kind in {".csv", ".tsv"}:
        return _table(path, name, "\t" if kind == ".tsv" else ",")
    if kind in {".xlsx", ".xls", ".zip", ".pkl", ".arrow"}:
        raise CallError(f"{name}: cannot read {kind} files; expected .jsonl, .jsonl.gz, .csv, .tsv or .parquet")
    return _json_lines(path, name)


def _lines(path: Path, name: str) -> Iterator[tuple[int, str | DataError]]:
    """Decoded lines that are not blank."""
    try:
        with _open(path) as file:
            number = 0
            while line := file.readline(LONGEST_LINE + 1):
                number += 1
                if len(line) > LONGEST_LINE:
                    _drain(file, line)
                    yield (
                        number,
                        DataError(f"is longer than {LONGEST_LINE >> 20} MiB", file=name, line=number),
                    )
                    continue
                yield number, _decoded(line, name, number)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"is not a whole gzip file ({error})", file=name) from None
    except IsADirectoryError:
        raise DataError("is a folder: expected a file", file=name) from None
    except FileNotFoundError:
        raise DataError("no such file", file=name) from None
    except PermissionError:
        raise DataError("may not be read: permission denied", file=name) from None


def _decoded(line: bytes, name: str, number: int) -> str | DataError:
    if b"\x00" in line:
        return DataError("holds a NUL byte: expected UTF-8 text", file=name, line=number)
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        problem = f"is not valid UTF-8 (byte {line[error.start]:#04x} at position {error.start + 1})"
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
    for number, line in _lines(path, name):
        if isinstance(line, DataError):
            yield number, line
        elif line.strip():
            yield number, _parsed(line, name, number)


def _parsed(line: str, name: str, number: int) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        problem = f"is not valid JSON ({error.msg} at column {error.colno}): expected one object a line"
    except (RecursionError, ValueError) as error:  # nested too deep; a number of too many digits
        problem = f"is not usable JSON ({error}): expected one object a line"
    return DataError(problem, file=name, line=number)


def _table(path: Path, name: str, delimiter: str) -> Iterator[Row]:
    bad: list[tuple[int, DataError]] = []

    def text() -> Iterator[str]:
        for number, line in _lines(path, name):
            if isinstance(line, DataError):
                bad.append((number, line))
            else:
                yield line

    reader = csv.DictReader(text(), delimiter=delimiter, strict=True)
    while True:
        try:
            record = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            yield reader.line_num, DataError(f"is not valid CSV ({error})", file=name, line=reader.line_num)
            continue
        yield from bad
        bad.clear()
        yield reader.line_num, _without_blanks(record, name, reader.line_num)
    yield from bad


def _without_blanks(record: dict[Any, Any], name: str, line: int) -> Any:
    if None in record or None in record.values():
        found = sum(value is not None for key, value in record.items() if key is not None)
        found += len(record.get(None) or [])
        expected = len(record) - (None in record)
        return DataError(f"has {found} cells: expected {expected}, as in the header", file=name, line=line)
    # An empty cell is an absent value, but an empty reply is a reply.
    return {key: value for key, value in record.items() if value or "response" in key}


def _parquet(path: Path, name: str) -> Iterator[Row]:
    import polars as pl

    if not path.is_file():
        raise DataError("no such file", file=name)
    number = 0
    try:
        for frame in pl.scan_parquet(path).collect_batches(chunk_size=_TABLE_ROWS, maintain_order=True):
            for record in frame.iter_rows(named=True):
                number += 1
                yield number, record
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"is not a readable Parquet file ({reason})", file=name) from None
    except OSError as error:
        raise DataError(f"cannot be read ({error})", file=name) from None

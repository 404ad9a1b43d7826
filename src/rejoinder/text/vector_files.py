"""Reading word vectors from the files of word2vec, GloVe and fastText.

In a *text* file each line is a word and its numbers. word2vec and fastText (.vec) begin with a header line, the number
of words and of dimensions; GloVe has no header. word2vec's *binary* format has that header too, then for each word its
UTF-8 bytes, a space, and little-endian float32 numbers. The format is detected from the first bytes of the file, not
from its name.
"""

from __future__ import annotations

import math
import mmap
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rejoinder.arrays import Vectors
from rejoinder.data.formats.opening import unreadable
from rejoinder.data.formats.parquet import check_polars_threads
from rejoinder.errors import DataError, shortened
from rejoinder.progress import bar as progress_bar
from rejoinder.text.terminal import terminal_safe

_HEAD_BYTES = 1 << 18  # enough for two lines of several thousand dimensions
_CHUNK_BYTES = 8 << 20
_BINARY_BLOCK = 4096  # words at a time
_LONGEST_WORD = 4096  # bytes; the search for the space after a word in a binary file goes no further
_MOST_DIMS = 1 << 16
_MOST_DIGITS = 18  # of a number in the header
_LARGEST = float(np.finfo(np.float32).max)
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_OTHER_FORMATS = {
    b"\x1f\x8b": "is compressed with gzip: unpack it first",
    b"PK\x03\x04": "is a zip archive: unpack it first",
    b"BZh": "is compressed with bzip2: unpack it first",
    b"\xfd7zXZ": "is compressed with xz: unpack it first",
    b"\xba\x16\x4f\x2f": "is a fastText model: export its vectors as text (.vec) first",
}


@dataclass(frozen=True, slots=True)
class Layout:
    """How a vector file is laid out."""

    binary: bool
    dims: int
    words: int | None = None
    """The number of words by the header; None if there is no header."""
    start: int = 0
    """The offset of the first word in bytes."""


def read_vector_file(path: Path, *, quiet: bool = False) -> tuple[list[str], Vectors]:
    """The distinct words of a file in order, and their vectors. (words, dims)"""
    check_polars_threads()
    try:
        return _read(path, quiet)
    except OSError as error:
        raise unreadable(error, str(path)) from None
    except MemoryError:
        raise DataError("has more vectors than fit into memory", file=str(path)) from None


def _read(path: Path, quiet: bool) -> tuple[list[str], Vectors]:
    layout = detect_layout(path)
    bar = progress_bar(f"reading {terminal_safe(path.name)}", total=path.stat().st_size, unit="B", quiet=quiet)
    with bar:
        collected = _read_binary(path, layout, bar) if layout.binary else _read_text(path, layout, bar)
    if not collected.rows:
        raise DataError("expected word vectors, found none", file=str(path))
    return list(collected.rows), collected.matrix[: len(collected.rows)]


def detect_layout(path: Path) -> Layout:
    """The layout of a file, from its first bytes."""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if not head:
        raise DataError("expected word vectors, found an empty file", file=str(path))
    for magic, problem in _OTHER_FORMATS.items():
        if head.startswith(magic):
            raise DataError(problem, file=str(path))
    first, _, rest = head.partition(b"\n")
    header = first.split()
    if len(header) == 2 and all(part.isdigit() for part in header):
        if any(len(part) > _MOST_DIGITS for part in header) or not 0 < int(header[1]) <= _MOST_DIMS:
            expected = f"a number of words and 1 to {_MOST_DIMS:,} dimensions"
            raise DataError(f"the header announces {_shown(first)}: expected {expected}", file=str(path), line=1)
        words, dims = map(int, header)
        return Layout(not _is_text(rest, dims), dims, words, start=len(first) + 1)
    lines = head.split(b"\n")
    if len(head) == _HEAD_BYTES and len(lines) > 1:
        lines.pop()  # it may be incomplete
    # The first line may be damaged, so take the most frequent count of the first lines.
    counts = Counter(_count_numbers(line) for line in lines[:20] if line.strip())
    dims = counts.most_common(1)[0][0] if counts else 0
    if not 0 < dims <= _MOST_DIMS or _CONTROL.search(first):
        expected = "expected a header (number of words, dimensions) or a word and its numbers"
        raise DataError(f"{expected}, found {_shown(first)}", file=str(path), line=1)
    return Layout(False, dims)


def _is_text(after_header: bytes, dims: int) -> bool:
    line = after_header.partition(b"\n")[0]
    # A damaged text file is still text: binary numbers almost always contain control characters.
    return _count_numbers(line) >= dims or not _CONTROL.search(after_header)


def _count_numbers(line: bytes) -> int:
    """How many numbers a line ends with, not counting its first field, which is the word."""
    count = 0
    for part in reversed(line.split()[1:]):
        if not _is_number(part):
            break
        count += 1
    return count


def _is_number(part: bytes) -> bool:
    try:
        float(part)
    except ValueError:
        return False
    return True


def _shown(line: bytes) -> str:
    return shortened(line.decode("utf-8", "backslashreplace"), 40)


@dataclass(slots=True)
class _Collected:
    """The vectors read so far; of a repeated word the first one is kept."""

    matrix: Vectors
    rows: dict[str, int] = field(default_factory=dict)

    def add(self, words: list[str], vectors: Vectors) -> None:
        before, fresh = len(self.rows), []
        for position, word in enumerate(words):
            if word not in self.rows:
                self.rows[word] = len(self.rows)
                fresh.append(position)
        self.matrix[before : len(self.rows)] = vectors if len(fresh) == len(words) else vectors[fresh]


def _read_text(path: Path, layout: Layout, bar: Any) -> _Collected:
    # Each number takes two bytes at least, so a header with wrong dimensions allocates no more than the file is worth.
    most = path.stat().st_size // (2 * layout.dims + 1) + 1
    collected = _Collected(np.empty((min(_count_lines(path), most), layout.dims), np.float32))
    line_number, found = (1 if layout.start == 0 else 2), 0
    with path.open("rb") as file:
        file.seek(layout.start)
        while lines := file.readlines(_CHUNK_BYTES):
            stripped = [line.rstrip() for line in lines]
            block = _parse_regular(stripped, layout.dims)
            if block is None:
                block = _parse_exactly(stripped, layout.dims, path, line_number)
            collected.add(*block)
            found += len(block[0])
            line_number += len(lines)
            bar.update(sum(map(len, lines)))
    if layout.words is not None and found != layout.words:
        problem = f"the header announces {layout.words} words, found {found}: is the file complete?"
        raise DataError(problem, file=str(path), line=1)
    return collected


def _count_lines(path: Path) -> int:
    """An upper bound on the words in a text file, so that the matrix is allocated once."""
    with path.open("rb") as file:
        return 1 + sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(_CHUNK_BYTES), b""))


def _parse_regular(lines: list[bytes], dims: int) -> tuple[list[str], Vectors] | None:
    """Words and vectors of lines with one word and `dims` numbers each, fast; None if any line differs."""
    schema = {"word": pl.String} | {f"number {i}": pl.Float32 for i in range(dims)}
    source = BytesIO(b"\n".join(lines))
    try:
        frame = pl.read_csv(source, has_header=False, separator=" ", quote_char=None, schema=schema)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    if len(frame) != len(lines) or any(column.null_count() for column in frame):
        return None
    vectors: Vectors = frame.select(pl.exclude("word")).to_numpy()
    return (frame["word"].to_list(), vectors) if np.isfinite(vectors).all() else None


def _parse_exactly(lines: list[bytes], dims: int, path: Path, first_line: int) -> tuple[list[str], Vectors]:
    """The same line by line: words may contain spaces, and errors name their line."""
    words: list[str] = []
    vectors: list[list[float]] = []
    for number, line in enumerate(lines, first_line):
        if not line:
            continue
        try:
            word, values = _parse_line(line, dims)
        except ValueError as problem:
            raise DataError(str(problem), file=str(path), line=number) from None
        vectors.append(values)
        words.append(word)
    return words, np.array(vectors, np.float32).reshape(-1, dims)


def _parse_line(line: bytes, dims: int) -> tuple[str, list[float]]:
    try:
        line.decode()
    except UnicodeDecodeError as error:
        found = f"byte 0x{line[error.start]:02x} at column {error.start + 1}"
        raise ValueError(f"expected UTF-8, found {found}") from None
    expected = f"expected a word and {dims} numbers"
    if line[:1].isspace():
        raise ValueError(f"{expected}, found no word in {_shown(line)}")
    fields = line.rsplit(None, dims)
    # A number before the last `dims` numbers is one too many, rather than part of a word with spaces.
    if len(fields) <= dims or _count_numbers(fields[0]):
        raise ValueError(f"{expected}, found {_count_numbers(line)} numbers")
    for position, part in enumerate(fields[1:], 1):
        if not _is_number(part) or abs(float(part)) > _LARGEST or math.isnan(float(part)):
            raise ValueError(f"{expected}, found {shortened(part.decode(), 40)} as number {position}")
    return fields[0].decode(), [float(part) for part in fields[1:]]


def _read_binary(path: Path, layout: Layout, bar: Any) -> _Collected:
    promised = layout.words or 0
    most = path.stat().st_size // (4 * layout.dims + 2)  # never allocate by the header alone, which may be wrong
    collected = _Collected(np.empty((min(promised, most), layout.dims), np.float32))
    pairs = _binary_words(path, layout)
    while block := list(islice(pairs, _BINARY_BLOCK)):
        words = [word for word, _ in block]
        vectors = np.frombuffer(b"".join(numbers for _, numbers in block), "<f4").reshape(len(words), -1)
        finite = np.isfinite(vectors).all(axis=1)
        if not finite.all():
            problem = f"word {shortened(words[int(np.argmin(finite))])}: expected finite numbers"
            raise DataError(f"{problem}, found {vectors[~np.isfinite(vectors)][0]}", file=str(path))
        collected.add(words, vectors)
        bar.update(vectors.nbytes)
    return collected


def _binary_words(path: Path, layout: Layout) -> Iterator[tuple[str, bytes]]:
    """Each word with the bytes of its vector."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        position = layout.start
        for number in range(1, (layout.words or 0) + 1):
            # word2vec itself writes a line break after each vector, most other writers do not.
            while data[position : position + 1] == b"\n":
                position += 1
            try:
                word, end = _binary_word(data, position, layout.dims)
            except ValueError as problem:
                place = f"word {number} of {layout.words} at byte {position}"
                raise DataError(f"{place}: {problem}", file=str(path)) from None
            yield word, data[end - 4 * layout.dims : end]
            position = end
        if rest := len(data[position:].strip()):
            surplus = f"the header announces {layout.words} words, found {rest} bytes after the last"
            raise DataError(surplus, file=str(path))


def _binary_word(data: mmap.mmap, position: int, dims: int) -> tuple[str, int]:
    """The word at a position, and the end of its vector."""
    space = data.find(b" ", position, position + _LONGEST_WORD)
    if space <= position:
        raise ValueError("expected a word and a space: is the file complete?")
    end = space + 1 + 4 * dims
    if end > len(data):
        found = len(data) - space - 1
        raise ValueError(f"expected {4 * dims} bytes of numbers, found {found}: is the file complete?")
    try:
        return data[position:space].decode(), end
    except UnicodeDecodeError:
        raise ValueError(f"expected UTF-8, found {_shown(data[position:space])}") from None

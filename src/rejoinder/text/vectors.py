"""Word vectors: a vocabulary and a matrix, and the files that they are read from."""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
import re
import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rejoinder.arrays import Vectors
from rejoinder.data.opening import unreadable
from rejoinder.errors import CallError, DataError, shortened
from rejoinder.folders.foreign import mapped_array
from rejoinder.progress import bar as progress_bar
from rejoinder.show.text import terminal_safe
from rejoinder.threads import check_polars_threads

# Word vectors: a vocabulary and a matrix, ready to look words up in.
#
# `load_vectors()` loads the set that comes with the package (docs/reference/word-vectors.md), `load_vectors(path)` a
# word2vec, GloVe or fastText file. The first time a file is read, a copy is written to the cache folder; later calls
# map that copy into memory. The cache folder is $REJOINDER_CACHE, else $XDG_CACHE_HOME/rejoinder, else
# ~/.cache/rejoinder.


SHIPPED_VECTORS = "conversational-50d"
_RESOURCES = Path(__file__).resolve().parents[1] / "resources"
_CACHE_VERSION = 1

Matrix = NDArray[np.float16] | NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Row i of the matrix is the vector of word i."""

    name: str
    vocabulary: bytes = field(repr=False)
    """The words in UTF-8, one per line: decoded only when needed."""
    matrix: Matrix = field(repr=False)  # (words, dims), may be mapped from disk: read-only
    digest: str
    """A short hash of words and vectors: sets with equal digests give equal scores."""

    @classmethod
    def of(cls, words: Sequence[str], matrix: Matrix, *, name: str) -> WordVectors:
        """Word vectors from a list of words and a matrix. (words, dims)"""
        if matrix.ndim != 2 or matrix.dtype not in (np.float16, np.float32):
            raise CallError(f"expected a matrix of float16 or float32, found {matrix.dtype} {matrix.shape}")
        if not words or len(words) != len(matrix):
            raise CallError(f"expected one vector per word, found {len(words)} words and {len(matrix)} vectors")
        if len(set(words)) != len(words):
            raise CallError("expected unique words")
        if any("\n" in word for word in words):
            raise CallError("a word must not contain a line break")
        vocabulary = "\n".join(words).encode()
        return cls(name, vocabulary, matrix, _digest(vocabulary, matrix))

    @property
    def dims(self) -> int:
        """The number of dimensions."""
        return int(self.matrix.shape[1])

    @cached_property
    def words(self) -> list[str]:
        """The words in the order of the matrix, which is by frequency in most files."""
        return self.vocabulary.decode().split("\n")

    @cached_property
    def _rows(self) -> dict[str, int]:
        return dict(zip(self.words, range(len(self.words)), strict=True))

    def lookup(self, words: Sequence[str]) -> NDArray[np.int64]:
        """The row of each word, as written or else in lower case with straight apostrophes; -1 if unknown."""
        row = self._rows.get
        found = np.fromiter((row(word, -1) for word in words), np.int64, len(words))
        for position in np.flatnonzero(found < 0):
            found[position] = row(words[int(position)].lower().replace("’", "'"), -1)
        return found

    def __len__(self) -> int:
        return len(self.matrix)


def load_vectors(source: str | Path = SHIPPED_VECTORS, *, quiet: bool = False) -> WordVectors:
    """The word vectors in a file, or the set that comes with the package."""
    path = Path(source)
    if str(source) == SHIPPED_VECTORS:
        return _load_shipped()
    if not path.is_file():
        expected = f"expected a file, or {SHIPPED_VECTORS!r} for the shipped set"
        raise CallError(f"no word vectors at {shortened(str(path))}: {expected}")
    folder = _cache_entry(path)
    wanted = _source_stamp(path)
    if (cached := _read_cache(folder, wanted, path.stem)) is not None:
        return cached
    words, matrix = read_vector_file(path, quiet=quiet)
    vectors = WordVectors.of(words, matrix, name=path.stem)
    try:
        _write_cache(vectors, folder, wanted)
    except OSError as problem:
        warnings.warn(f"word vectors are not cached in {folder}: {problem}", RuntimeWarning, stacklevel=2)
        return vectors
    return _read_cache(folder, wanted, path.stem) or vectors


def cache_folder() -> Path:
    """The folder for files that can be generated again."""
    if own := os.environ.get("REJOINDER_CACHE"):
        return Path(own)
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path.home() / ".cache") / "rejoinder"


def _load_shipped() -> WordVectors:
    vocabulary = (_RESOURCES / f"{SHIPPED_VECTORS}.txt").read_bytes()
    matrix = mapped_array(_RESOURCES / f"{SHIPPED_VECTORS}.npy")
    return WordVectors(SHIPPED_VECTORS, vocabulary, matrix, _digest(vocabulary, matrix))


def _digest(vocabulary: bytes, matrix: Matrix) -> str:
    content = hashlib.sha256(f"{matrix.dtype.str}{matrix.shape}".encode())
    content.update(vocabulary)
    content.update(np.ascontiguousarray(matrix).data)
    return content.hexdigest()[:12]


def _cache_entry(path: Path) -> Path:
    place = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:12]
    return cache_folder() / "vectors" / f"{path.stem}-{place}"


def _source_stamp(path: Path) -> dict[str, int]:
    status = path.stat()
    return {
        "cache_version": _CACHE_VERSION,
        "source_bytes": status.st_size,
        "source_mtime_ns": status.st_mtime_ns,
    }


def _content_stamp(vocabulary: bytes, matrix: Matrix) -> dict[str, Any]:
    """Hashes that reveal a damaged cache; for speed, only 64 rows of the matrix are included."""
    some = matrix[:: max(1, len(matrix) // 64)]
    return {
        "shape": list(matrix.shape),
        "vocabulary_sha256": hashlib.sha256(vocabulary).hexdigest(),
        "some_rows_sha256": hashlib.sha256(np.ascontiguousarray(some).data).hexdigest(),
    }


def _read_cache(folder: Path, wanted: dict[str, int], name: str) -> WordVectors | None:
    """The cached vectors; None if they are missing, stale or damaged."""
    try:
        fingerprint = json.loads((folder / "fingerprint.json").read_text("utf-8"))
        if wanted.items() <= fingerprint.items():
            vocabulary = (folder / "vocabulary.txt").read_bytes()
            matrix = mapped_array(folder / "matrix.npy")
            if _content_stamp(vocabulary, matrix).items() <= fingerprint.items():
                return WordVectors(name, vocabulary, matrix, str(fingerprint["digest"]))
    except (OSError, ValueError, EOFError, KeyError, TypeError, AttributeError):
        return None
    return None


def _write_cache(vectors: WordVectors, folder: Path, stamp: dict[str, int]) -> None:
    """Write the entry into a temporary folder and move it into place, so that a reader sees all of it or none."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f"{folder.name}.", suffix=".part"))
    try:
        np.save(part / "matrix.npy", vectors.matrix, allow_pickle=False)
        (part / "vocabulary.txt").write_bytes(vectors.vocabulary)
        content = _content_stamp(vectors.vocabulary, vectors.matrix)
        fingerprint = stamp | content | {"digest": vectors.digest}
        (part / "fingerprint.json").write_text(json.dumps(fingerprint, indent=1), "utf-8")
        if folder.exists():
            shutil.rmtree(folder)
        part.rename(folder)
    except OSError:
        shutil.rmtree(part, ignore_errors=True)
        raise


# Reading word vectors from the files of word2vec, GloVe and fastText.
#
# In a *text* file each line is a word and its numbers. word2vec and fastText (.vec) begin with a header line, the
# number of words and of dimensions; GloVe has no header. word2vec's *binary* format has that header too, then for
# each word its UTF-8 bytes, a space, and little-endian float32 numbers. The format is detected from the first bytes
# of the file, not from its name.


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
class VectorLayout:
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


def detect_layout(path: Path) -> VectorLayout:
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
        return VectorLayout(not _is_text(rest, dims), dims, words, start=len(first) + 1)
    lines = head.split(b"\n")
    if len(head) == _HEAD_BYTES and len(lines) > 1:
        lines.pop()  # it may be incomplete
    # The first line may be damaged, so take the most frequent count of the first lines.
    counts = Counter(_count_numbers(line) for line in lines[:20] if line.strip())
    dims = counts.most_common(1)[0][0] if counts else 0
    if not 0 < dims <= _MOST_DIMS or _CONTROL.search(first):
        expected = "expected a header (number of words, dimensions) or a word and its numbers"
        raise DataError(f"{expected}, found {_shown(first)}", file=str(path), line=1)
    return VectorLayout(False, dims)


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


def _read_text(path: Path, layout: VectorLayout, bar: Any) -> _Collected:
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


def _read_binary(path: Path, layout: VectorLayout, bar: Any) -> _Collected:
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


def _binary_words(path: Path, layout: VectorLayout) -> Iterator[tuple[str, bytes]]:
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

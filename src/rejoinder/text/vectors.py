"""Word vectors: a vocabulary and a matrix, ready to look words up in.

`load_vectors()` loads the set that comes with the package (docs/reference/word-vectors.md), `load_vectors(path)` a
word2vec, GloVe or fastText file. The first time a file is read, a copy is written to the cache folder; later calls map
that copy into memory. The cache folder is $REJOINDER_CACHE, else $XDG_CACHE_HOME/rejoinder, else ~/.cache/rejoinder.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import CallError, shortened
from rejoinder.loading.foreign import mapped_array
from rejoinder.text.vector_files import read_vector_file

SHIPPED = "conversational-50d"
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


def load_vectors(source: str | Path = SHIPPED, *, quiet: bool = False) -> WordVectors:
    """The word vectors in a file, or the set that comes with the package."""
    path = Path(source)
    if str(source) == SHIPPED:
        return _load_shipped()
    if not path.is_file():
        expected = f"expected a file, or {SHIPPED!r} for the shipped set"
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
    vocabulary = (_RESOURCES / f"{SHIPPED}.txt").read_bytes()
    matrix = mapped_array(_RESOURCES / f"{SHIPPED}.npy")
    return WordVectors(SHIPPED, vocabulary, matrix, _digest(vocabulary, matrix))


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

"""Opening files, and errors in plain words for those that cannot be opened."""

from __future__ import annotations

import errno
import gzip
from pathlib import Path
from typing import IO

from rejoinder.errors import DataError

LONGEST_LINE = 4 << 20
"""Bytes. No reply is this long: a longer line means a broken file, and is never read into memory as a whole."""


def open_bytes(path: Path) -> IO[bytes]:
    """The content of a file, decompressed if it is gzipped."""
    file = path.open("rb")
    if file.read(2) == b"\x1f\x8b":
        file.close()
        return gzip.open(path, "rb")  # type: ignore[return-value]
    file.seek(0)
    return file


def unreadable(error: OSError, name: str) -> DataError:
    """The error for a file that cannot be opened."""
    problems = {
        errno.EISDIR: "is a folder: expected a file",
        errno.ENOENT: "no such file",
        errno.EACCES: "may not be read: permission denied",
    }
    return DataError(problems.get(error.errno or 0, f"cannot be read ({error.strerror or error})"), file=name)

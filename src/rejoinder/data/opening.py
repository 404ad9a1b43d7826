"""Files and folders are opened here; what cannot be opened is an error in plain words."""

from __future__ import annotations

import errno
import glob
import gzip
import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from rejoinder.errors import DataError

# Opening files, and errors in plain words for those that cannot be opened.


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


# The files that a folder, a pattern such as logs/*.jsonl, or a list of paths stands for.


READABLE = (".jsonl", ".json", ".ndjson", ".csv", ".tsv", ".parquet", ".pq", ".xlsx")
"""Files of a folder that are read; each may end in .gz as well."""


def files_of(origin: str | Path | Sequence[Path], name: str) -> list[Path] | None:
    """The files of a folder, a pattern or a list, in order of their names; None for a single file."""
    if not isinstance(origin, str | Path):
        return [file for path in origin for file in files_of(path, str(path)) or [path]]
    path = Path(origin)
    if os.path.isdir(path):  # unlike Path.is_dir, no error for a name that is too long
        try:
            found = [file for file in path.iterdir() if _is_readable(file)]
        except OSError as error:
            raise unreadable(error, name) from None
        if not found:
            raise DataError(f"is a folder without replies: expected files such as {', '.join(READABLE)}", file=name)
        return sorted(found)
    if not glob.has_magic(str(path)) or os.path.exists(path):
        return None
    matches = sorted(Path(match) for match in glob.glob(str(path), recursive=True))
    if not matches:
        raise DataError("no file has a name like this", file=name)
    return [file for match in matches for file in files_of(match, str(match)) or [match]]


def _is_readable(file: Path) -> bool:
    name = file.name.lower().removesuffix(".gz")
    return file.is_file() and name.endswith(READABLE) and not name.startswith(".")

"""Atomic writing: into a temporary file first, then moved into place, so that no reader sees half a file."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

_SHOWN = 40  # characters of the target's name in the name of its temporary file


@contextmanager
def replacing(path: Path) -> Iterator[IO[str]]:
    """A text file that replaces `path` when the block succeeds, and leaves no trace when it fails."""
    with replacing_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        yield file


@contextmanager
def replacing_file(path: Path) -> Iterator[Path]:
    """An empty file that replaces `path` when the block succeeds, and is deleted when it fails."""
    with temporary_beside(path) as temporary:
        yield temporary
        temporary.replace(path)


@contextmanager
def temporary_beside(path: Path) -> Iterator[Path]:
    """An empty file in the folder of `path`, deleted after the block if it is still there.

    Nobody can guess its name, and it is created exclusively: neither another file nor the target of a link is
    overwritten.
    """
    temporary = path.with_name(f".{path.name[:_SHOWN]}-{secrets.token_hex(8)}.tmp")
    temporary.touch(exist_ok=False)
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text to a file, completely or not at all."""
    with replacing(path) as file:
        file.write(text)

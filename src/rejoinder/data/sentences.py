"""Sentences to train on: a text file (.txt, .txt.gz) with one sentence per line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rejoinder.data.formats.rows import lines_of_file
from rejoinder.errors import DataError
from rejoinder.types import Dialogue


def sentences_of_file(path: str | Path) -> Iterator[Dialogue]:
    """Each non-blank line as a dialogue of one turn, with the line number as id."""
    for number, line in lines_of_file(Path(path), str(path)):
        if isinstance(line, DataError):
            raise line
        if line.strip():
            yield Dialogue(str(number), (line.strip(),))

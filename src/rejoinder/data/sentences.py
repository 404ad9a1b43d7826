"""Sentences to learn from: a text file (.txt, .txt.gz) with one a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rejoinder.data.rows import lines_of_file
from rejoinder.errors import DataError
from rejoinder.types import Dialogue


def sentences_of_file(path: str | Path) -> Iterator[Dialogue]:
    """Each line that is not blank as a dialogue of one turn, its number being the id."""
    for number, line in lines_of_file(Path(path), str(path)):
        if isinstance(line, DataError):
            raise line
        if line.strip():
            yield Dialogue(str(number), (line.strip(),))

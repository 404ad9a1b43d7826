"""Dialogues to train on: JSON lines (.jsonl, .jsonl.gz) with `turns` and optionally `id` and `speakers`.

`turns` is a list of at least two utterances, oldest first; `speakers` has one label per turn. A missing id becomes the
record's number.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rejoinder.arguments import fitting
from rejoinder.arguments import path as as_path
from rejoinder.data.formats.rows import rows_of_file
from rejoinder.data.record import FieldMap, Fields, data_error
from rejoinder.data.source import ErrorPolicy, OnError
from rejoinder.data.values import FieldError, as_list, is_missing, json_list, kind_of, label_of, texts_of
from rejoinder.errors import DataError, listed
from rejoinder.types import Dialogue


class DialogueSource(ErrorPolicy):
    """The dialogues of a file, in order; can be iterated more than once.

    With `on_error="skip"` unreadable records are skipped and collected in `skipped` (the record's number -> error).
    """

    def __init__(self, path: str | Path, on_error: OnError = "raise", fields: Fields | None = None) -> None:
        super().__init__(on_error)
        fitting("the file", path, as_path)
        self.fields = FieldMap.given(fields)
        self.name = str(path).encode(errors="replace").decode()
        self._path = Path(path)

    def __iter__(self) -> Iterator[Dialogue]:
        for number, (line, record) in enumerate(rows_of_file(self._path, self.name), start=1):
            try:
                if isinstance(record, DataError):
                    raise record
                dialogue = dialogue_of(record, number, self.fields)
            except FieldError as error:
                self.refuse(number, data_error(error, self.name, line))
            except DataError as error:
                self.refuse(number, error)
            else:
                yield dialogue


def dialogue_of(record: Any, number: int, fields: FieldMap | None = None) -> Dialogue:
    """The dialogue in a record; FieldError if it contains none."""
    names = fields or FieldMap()
    if not isinstance(record, dict):
        raise FieldError("", f"expected an object with fields, found {kind_of(record)}")
    turns = _texts(record, names.of("turns"))
    if turns is None:
        found = listed(record) or "no fields"
        raise FieldError(names.of("turns"), f"is missing: expected a list of utterances, found {found}")
    if len(turns) < 2:
        raise FieldError(names.of("turns"), f"expected at least two utterances, found {len(turns)}")
    speakers = _texts(record, names.of("speakers")) or ()
    if speakers and len(speakers) != len(turns):
        raise FieldError(names.of("speakers"), f"expected one label per turn ({len(turns)}), found {len(speakers)}")
    label = record.get(names.of("id"))
    return Dialogue(label_of(None if is_missing(label) else label, names.of("id")) or str(number), turns, speakers)


def _texts(record: dict[str, Any], name: str) -> tuple[str, ...] | None:
    found = as_list(record.get(name))
    if found is None or is_missing(found):
        return None
    if isinstance(found, str):  # a cell of a table
        found = json_list(found, name)
    if not isinstance(found, list | tuple):
        raise FieldError(name, f"expected a list of strings, found {kind_of(record[name])}")
    return texts_of(found, name)

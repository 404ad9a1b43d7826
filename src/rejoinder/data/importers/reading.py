"""What was understood of a file, and its records read accordingly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from rejoinder.data.formats.rows import Row, TableRow
from rejoinder.data.importers.columns import Sample, columns_of, suggestion
from rejoinder.data.importers.detection import records_of_page, shape_of
from rejoinder.data.importers.paths import structured, value_at
from rejoinder.data.importers.traces import Importer
from rejoinder.data.importers.turns import records_of_turns
from rejoinder.data.messages import ASIDE_ROLES
from rejoinder.data.record import FieldMap, data_error
from rejoinder.data.values import FieldError, as_list
from rejoinder.errors import UnknownNameError, shortened

OWN_FORMAT = "rejoinder's own format"
SAMPLE = 100
"""Records by which it is decided what a file contains."""


@dataclass(frozen=True)
class Reading:
    """How the records of one file become records of ours."""

    fields: FieldMap
    """The names of our fields in the records that `rows` gives."""
    given: FieldMap
    """The names that the caller gave, which are those of the original records."""
    importer: Importer | None = None
    shape: str = OWN_FORMAT
    mapping: str = ""
    """What was read from where; empty where nothing had to be guessed."""
    notes: tuple[str, ...] = ()
    """What is left out or not used."""
    hint: str = ""
    """Options that would help where a record has no reply."""
    pages: bool = False
    """Whether the records are inside pages of an export."""

    @property
    def is_foreign(self) -> bool:
        """Whether anything had to be understood that our own format would have said."""
        return bool(self.importer or self.mapping or self.notes or self.pages)

    def __str__(self) -> str:
        read = f"read as {self.shape}" + (f": {self.mapping}" if self.mapping else "")
        return "; ".join([read, *self.notes])

    def rows(
        self,
        rows: Iterable[Row],
        name: str,
        *,
        every_turn: bool = False,
        prefix: str = "",
        whole_file: bool = True,
    ) -> Iterator[Row]:
        """The records, imported; an error in place of one that cannot be.

        With `every_turn` there is a record per assistant message; `prefix` makes the ids of several files different. In
        a whole file, each field that the caller named must occur.
        """
        unseen, seen = set(self.given.names.values()) if whole_file else set[str](), set[str]()
        paths = [path for path in self.fields.names.values() if "." in path]
        if self.pages:
            rows = ((line, one) for line, record in rows for one in records_of_page(record) or [record])
        if not (unseen or paths or self.importer or every_turn):
            yield from rows
            return
        for number, (line, record) in enumerate(rows, start=1):
            if not isinstance(record, dict):
                yield line, record
                continue
            try:
                if unseen:
                    seen.update(record)
                    unseen = {path for path in unseen if path not in record and value_at(record, path) is None}
                imported = self._imported(record, paths)
                if every_turn:
                    imported = [turn for one in imported for turn in self._turns(one, f"{prefix}{number}")]
            except FieldError as error:
                yield line, data_error(error, name, line)
            else:
                yield from ((line, one) for one in imported)
        if seen and unseen:
            raise UnknownNameError(f"field in {name}:", min(unseen), seen)

    def _imported(self, record: dict[str, Any], paths: list[str]) -> list[dict[str, Any]]:
        if self.importer is not None:
            own = {ours: value_at(record, theirs) for ours, theirs in self.given.names.items()}
            return [{**record, **_said(one), **own} for one in self.importer(record)]
        if not paths:
            return [record]
        inner = {path: value_at(record, path) for path in paths if path not in record}
        return [type(record)({**record, **inner})]

    def _turns(self, record: dict[str, Any], name: str) -> list[dict[str, Any]]:
        if record.get(self.fields.of("response")) or not record.get(self.fields.of("messages")):
            return [record]
        # The records of the turns have our own names, whatever those of the file are.
        turns = records_of_turns(record, name, self.fields)
        return [{self.fields.of(ours): value for ours, value in turn.items()} for turn in turns]


def _said(imported: dict[str, Any]) -> dict[str, Any]:
    """What an importer found. Where it found nothing, a field of ours that the record has counts (human scores, for
    example), unless its name means something else to the tool."""
    return {name: value for name, value in imported.items() if value is not None or name in {"system", "scores"}}


def understand(records: Sequence[Any], name: str, given: FieldMap, *, every_turn: bool = False) -> Reading:
    """How to read a file that begins with these records; DataError where they could mean several things."""
    inner = [one for record in records for one in records_of_page(record)]
    reply = "each assistant message" if every_turn else "the last assistant message"
    reading = _understood([one for one in inner or records if isinstance(one, dict)], name, given, reply)
    return replace(reading, pages=True) if inner else reading


def _understood(sample: Sample, name: str, given: FieldMap, reply: str) -> Reading:
    if not sample:
        return Reading(given, given)
    shape = None if {"response", "messages"} & given.names.keys() else shape_of(sample, name)
    if shape is not None:
        importer, left_out = shape.importer(sample)
        own = [f"{ours} from {shortened(theirs)}" for ours, theirs in given.names.items()]
        notes = (left_out, *_notes_on_messages(_imported_messages(importer, sample)))
        mapping = ", ".join([shape.mapping.format(reply=reply), *own])
        return Reading(
            FieldMap({}, given.separator, given.by),
            given,
            importer,
            shape.name,
            mapping,
            tuple(note for note in notes if note),
        )
    columns = columns_of(sample, name, given)
    chats = [record[columns.fields.of("messages")] for record in sample if record.get(columns.fields.of("messages"))]
    unused = [f"the field {shortened(key)} is not used" for key in columns.unused]
    guessed = [f"{ours} from {shortened(theirs)}" for ours, theirs in columns.guessed.items()]
    has_reply = any(record.get(columns.fields.of("response")) for record in sample)
    if chats and not has_reply:
        guessed = [f"response from {reply}", "context from the messages before it", *guessed]
    kind = "a table" if isinstance(sample[0], TableRow) else "records"
    unnamed = not chats and not any(columns.fields.of("response") in record for record in sample)
    return Reading(
        columns.fields,
        given,
        shape="a chat log with messages" if chats else kind if guessed else OWN_FORMAT,
        mapping=", ".join(guessed),
        notes=(*unused, *_notes_on_messages(chats)),
        hint=suggestion(sample, columns.fields.names) if unnamed else "",
    )


def _imported_messages(importer: Importer, sample: Sample) -> list[Any]:
    """The messages of the records that can be imported."""
    found: list[Any] = []
    for record in sample:
        with suppress(FieldError):  # reported when the record is read
            found += [one["messages"] for one in importer(record)]
    return found


def _notes_on_messages(chats: Iterable[Any]) -> list[str]:
    """What of these chats is not part of the conversation."""
    messages = [message for chat in chats for message in _items(structured(chat)) if isinstance(message, Mapping)]
    roles = {str(message.get("role")).lower() for message in messages} & ASIDE_ROLES
    parts = [part for message in messages for part in _items(message.get("content")) if isinstance(part, Mapping)]
    notes = {
        "system prompts": roles & {"system", "developer"},
        "tool messages": roles & {"tool", "function"},
        "images and other content without text": [part for part in parts if part.get("text") is None],
    }
    left_out = [what for what, found in notes.items() if found]
    return [f"{' and '.join(left_out)} are not part of the context"] if left_out else []


def _items(value: Any) -> Sequence[Any]:
    value = as_list(value)
    return value if isinstance(value, list | tuple) else ()

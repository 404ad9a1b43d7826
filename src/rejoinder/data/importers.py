"""Records of other tools to records of ours: which tool wrote them, and what its fields are called."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from rejoinder.data.chats import (
    Importer,
    conversation_name,
    is_langfuse,
    is_langsmith,
    is_nested,
    is_request_log,
    langfuse_importer,
    langsmith_importer,
    request_log,
    sharegpt,
)
from rejoinder.data.files import NumberedRow, TableRow
from rejoinder.data.records import (
    ASIDE_ROLES,
    FIELDS,
    REPLY_ROLES,
    FieldError,
    FieldMap,
    as_list,
    data_error,
    is_missing,
    label_of,
    spoken,
    structured,
    text_paths,
    value_at,
    values_in,
)
from rejoinder.errors import DataError, UnknownNameError, listed, shortened
from rejoinder.types import Example, Unit

# Which tool wrote a record, by its structure alone.


# Records whose fields have the usual names: question, answer, model, expected.
#
# Each of our fields takes the one field of the data that has a usual name for it. Two such fields are an error: which
# one is meant is for the user to say. Records that have a `response` are in our own format: there, our own names
# count before the usual ones.


RecordSample = Sequence[Mapping[str, Any]]

USUAL = {
    "response": (
        *("response", "bot", "output", "answer", "completion", "assistant", "reply", "bot_message", "bot_response"),
        *("model_output", "model_answer", "model_response", "generated_text", "prediction", "actual_output"),
    ),
    "context": (
        *("context", "user", "input", "question", "prompt", "query", "user_input", "user_message", "instruction"),
        *("history", "chat_history", "dialogue", "dialog"),
    ),
    "references": (
        *("references", "reference", "expected", "ground_truth", "expected_output", "expected_answer"),
        *("reference_answer", "reference_output", "gold", "ideal"),
    ),
    "system": ("system", "model", "version", "model_name", "model_version"),
    "dialogue_id": ("dialogue_id", "conversation_id", "session_id", "thread_id"),
    "id": ("id",),
}
"""Our field -> names that it usually has elsewhere, in snake case."""

_LABELS = {"system", "dialogue_id", "id"}


@dataclass(frozen=True)
class FieldColumns:
    """Which of the data's fields are read as ours."""

    fields: FieldMap
    guessed: Mapping[str, str]
    """Our field -> theirs, for those that were chosen by a usual name."""
    unused: tuple[str, ...]
    """Fields with a usual name of a system, a context or references that are not read as such."""


def columns_of(sample: RecordSample, name: str, given: FieldMap) -> FieldColumns:
    """The fields to read; DataError where two could be meant."""
    present = list(dict.fromkeys(chain.from_iterable(sample)))
    ours = given.of("response") == "response" and "response" in present
    chat = given.of("messages") in present
    taken = set(given.names.values())
    guessed: dict[str, str] = {}
    for field in USUAL:
        if field in given.names or (field in present and (ours or chat or field == "id")):
            continue
        if chat and field in {"context", "response"}:
            continue
        found = [key for key in present if key not in taken and _fits(key, field, sample, ours)]
        if field == "references" and ours and "reference" in found:
            continue
        if len(found) > 1:
            raise DataError(_two_meanings(field, found), file=name)
        if found and found[0] != field and (field, found[0]) != ("references", "reference"):
            guessed[field] = found[0]
    outer = {path.partition(".")[0] for path in taken}  # `input` of the path input.question
    read = {*taken, *outer, *guessed.values(), *USUAL, "reference"}
    usual = {*USUAL["system"], *USUAL["context"], *USUAL["references"]}
    unused = tuple(key for key in present if key not in read and snake_case(key) in usual)
    return FieldColumns(FieldMap({**given.names, **guessed}, given.separator, given.by), guessed, unused)


def snake_case(name: str) -> str:
    """'Ground Truth', 'groundTruth' -> 'ground_truth'."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\s\-]+", "_", spaced).lower()


def suggestion(sample: RecordSample, known: Mapping[str, str]) -> str:
    """The options that would name reply and context: the fields with the longest texts, apart from those that are
    known; "" without any."""
    lengths: dict[str, int] = {}
    for record in sample:
        for path in text_paths(record):
            # A path may not lead back to the text: a key can contain a dot itself.
            with suppress(FieldError):
                lengths[path] = lengths.get(path, 0) + len(value_at(record, path) or "")
    free = [path for path in lengths if path not in known.values() and snake_case(path) != "id"]
    longest = sorted(free, key=lambda path: -lengths[path])[: 1 if "context" in known else 2]
    texts = [path for path in lengths if path in longest]
    if not texts or all(isinstance(record, TableRow) and len(record) == 1 for record in sample):
        return ""  # a table with one column has another delimiter
    fields = {"context": texts[-2], "response": texts[-1]} if len(texts) > 1 else {"response": texts[-1]}
    options = " ".join(f"--field {shlex.quote(f'{ours}={theirs}')}" for ours, theirs in fields.items())
    return f"name the fields to read, for example {options}"


def _two_meanings(field: str, found: Sequence[str]) -> str:
    option = f"--field {shlex.quote(f'{field}={found[0]}')}"
    return f"has several fields that could be the {field} ({listed(found)}): name the right one, for example {option}"


def _fits(key: str, field: str, sample: RecordSample, ours: bool) -> bool:
    """Whether a field has a usual name for ours, and values that ours could have."""
    usual = snake_case(key)
    if usual not in USUAL[field]:
        return False
    values = [value for value in (as_list(record.get(key)) for record in sample) if not _is_blank(value)]
    if field in _LABELS:
        return all(isinstance(value, str | int) and not isinstance(value, bool) for value in values)
    if usual == "user" and (ours or not values or all(map(_is_identifier, values))):  # who asked, not what was asked
        return False
    return all(isinstance(value, str if field == "response" else str | list | tuple) for value in values)


def _is_blank(value: Any) -> bool:
    return value is None or is_missing(value) or (isinstance(value, str) and not value)


def _is_identifier(value: Any) -> bool:
    """Whether a text is rather the id or the address of a user than something that was said: u-17, ann@example.org."""
    return isinstance(value, str) and not re.search(r"\s", value.strip()) and bool(re.search(r"[0-9@]", value))


@dataclass(frozen=True)
class RecordShape:
    """One kind of record that needs an importer."""

    name: str
    fields: frozenset[str]
    """Such a record has at least one of these."""
    fits: Callable[[Mapping[str, Any]], bool]
    importer: Callable[[RecordSample], tuple[Importer, str]]
    """For a sample of records: the importer, and a note on what it leaves out."""
    mapping: str
    """What is read from where; {reply} stands for the messages that are replies."""


SHAPES = (
    RecordShape(
        "requests with responses of a chat service",
        frozenset({"response", "choices", "body", "object"}),
        is_request_log,
        lambda sample: (request_log, _several_choices(sample)),
        "context from the request, response from the first choice, system from 'model'",
    ),
    RecordShape(
        "ShareGPT conversations",
        frozenset({"conversations", "conversation"}),
        lambda record: bool(conversation_name(record)),
        lambda sample: (sharegpt, "'system' is taken as a system prompt" if _has(sample, "system") else ""),
        "response from {reply}, context from the turns before it, system from 'model'",
    ),
    RecordShape(
        "LangSmith runs",
        frozenset({"inputs"}),
        is_langsmith,
        langsmith_importer,
        "context from 'inputs', response from 'outputs', system from the model's name in 'extra'",
    ),
    RecordShape(
        "Langfuse traces",
        frozenset({"input"}),
        is_langfuse,
        langfuse_importer,
        "context from 'input', response from 'output', system from 'model', 'version' or 'release'",
    ),
    RecordShape(
        "traces with an input and an output",
        frozenset({"input"}),
        is_nested,
        langfuse_importer,
        "context from 'input', response from 'output', system from 'model', 'version' or 'release'",
    ),
)

_PAGE_NAMES = ("runs", "data", "traces", "observations", "items", "results")
_NOT_IN_PAGES = {*USUAL["response"], "messages", "turns"}


def shape_of(sample: RecordSample, name: str) -> RecordShape | None:
    """The one shape of these records; None where they need no importer, DataError where they differ."""
    found: dict[str, RecordShape] = {}
    plain = 0
    for record in sample:
        fitting = [shape for shape in SHAPES if shape.fields & record.keys() and shape.fits(record)]
        found.update((shape.name, shape) for shape in fitting)
        plain += not fitting
    if len(found) + bool(found and plain) > 1:
        kinds = [*found, *(["records of another kind"] if plain else [])]
        raise DataError(f"mixes {' and '.join(kinds)}: expected records of one kind", file=name)
    return next(iter(found.values()), None)


def records_of_page(record: Any) -> list[Any]:
    """The records inside one page of an export, such as {"data": [...], "meta": ...}; none where it is no page."""
    if not isinstance(record, dict):
        return []
    for name in _PAGE_NAMES:
        inner = record.get(name)
        if isinstance(inner, list) and inner and all(isinstance(item, dict) for item in inner):
            own = any(shape.fits(record) for shape in SHAPES) or any(snake_case(one) in _NOT_IN_PAGES for one in record)
            return [] if own else inner
    return []


def _has(sample: RecordSample, name: str) -> bool:
    return any(record.get(name) for record in sample)


def _several_choices(sample: RecordSample) -> str:
    several = any(len(_choices(record)) > 1 for record in sample)
    return "other choices than the first are left out" if several else ""


def _choices(record: Mapping[str, Any]) -> Sequence[Any]:
    response = record.get("response")
    response = response if isinstance(response, Mapping) else record
    body = response.get("body")
    choices = (body if isinstance(body, Mapping) else response).get("choices")
    return choices if isinstance(choices, list | tuple) else ()


# What was understood of a file, and its records read accordingly.


OWN_FORMAT = "rejoinder's own format"
SAMPLE = 100
"""Records by which it is decided what a file contains."""


@dataclass(frozen=True)
class RecordMapping:
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
    chats: bool = False
    """Whether records are chats that contain their replies."""
    present: tuple[str, ...] = ()
    """The fields of the first records, also those inside others, that hold one value; () unless there are `by`."""

    @property
    def ours(self) -> set[str]:
        """The data's names for the fields that are read as ours and say nothing about a group of replies."""
        return {self.fields.of(name) for name in FIELDS if name != "split"} | {"reference"}

    @property
    def is_foreign(self) -> bool:
        """Whether anything had to be understood that our own format would have said."""
        return bool(self.importer or self.mapping or self.notes or self.pages)

    def __str__(self) -> str:
        read = f"read as {self.shape}" + (f": {self.mapping}" if self.mapping else "")
        return "; ".join([read, *self.notes])

    def rows(
        self,
        rows: Iterable[NumberedRow],
        name: str,
        *,
        unit: Unit = "reply",
        prefix: str = "",
        whole_file: bool = True,
    ) -> Iterator[NumberedRow]:
        """The records, imported; an error in place of one that cannot be.

        By turn, there is a record per assistant message; `prefix` makes the ids of several files different. In
        a whole file, each field that the caller named must occur.
        """
        unseen, seen = set(self.given.names.values()) if whole_file else set[str](), set[str]()
        paths = [path for path in self.fields.names.values() if "." in path]
        if self.pages:
            rows = ((line, one) for line, record in rows for one in records_of_page(record) or [record])
        if not (unseen or paths or self.importer or unit == "turn"):
            yield from rows
            return
        for number, (line, record) in enumerate(rows, start=1):
            place = number if whole_file else line  # in a part of a file of lines, records are counted by their lines
            if not isinstance(record, dict):
                yield line, record
                continue
            try:
                if unseen:
                    seen.update(record)
                    unseen = {path for path in unseen if path not in record and value_at(record, path) is None}
                imported = self._imported(record, paths)
                if unit == "turn":
                    imported = [turn for one in imported for turn in self._turns(one, f"{prefix}{place}")]
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
        shared = {theirs: value for theirs, value in record.items() if theirs not in self._of_one_reply}
        return [
            type(record)({**shared, **{self.fields.of(ours): value for ours, value in turn.items()}}) for turn in turns
        ]

    @property
    def _of_one_reply(self) -> set[str]:
        """The data's names for the fields of ours that the turns of one chat do not share."""
        return {self.fields.of(ours) for ours in _OF_ONE_REPLY} | {"reference"}


def _said(imported: dict[str, Any]) -> dict[str, Any]:
    """What an importer found. Where it found nothing, a field of ours that the record has counts (ratings, for
    example), unless its name means something else to the tool."""
    return {name: value for name, value in imported.items() if value is not None or name in {"system", "scores"}}


def understand(records: Sequence[Any], name: str, given: FieldMap, *, unit: Unit = "reply") -> RecordMapping:
    """How to read a file that begins with these records; DataError where they could mean several things."""
    inner = [*chain.from_iterable(map(records_of_page, records))]
    reply = "each assistant message" if unit == "turn" else "the last assistant message"
    sample = [one for one in inner or records if isinstance(one, dict)]
    reading = _understood(sample, name, given, reply)
    if given.by:
        paths = (path for record in sample for path, _ in values_in(with_objects(record)))
        reading = replace(reading, present=tuple(dict.fromkeys(paths)))
    return replace(reading, pages=bool(inner)) if inner else reading


def with_objects(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """A record with the objects that the cells of a table contain as JSON."""
    if not isinstance(record, TableRow):
        return record
    return {name: structured(value) for name, value in record.items()}


def _understood(sample: RecordSample, name: str, given: FieldMap, reply: str) -> RecordMapping:
    if not sample:
        return RecordMapping(given, given)
    shape = None if {"response", "messages"} & given.names.keys() else shape_of(sample, name)
    if shape is not None:
        importer, left_out = shape.importer(sample)
        own = [f"{ours} from {shortened(theirs)}" for ours, theirs in given.names.items()]
        imported = _imported(importer, sample)
        notes = (left_out, *_notes_on_messages([one["messages"] for one in imported]))
        mapping = ", ".join([shape.mapping.format(reply=reply), *own])
        return RecordMapping(
            FieldMap({}, given.separator, given.by),
            given,
            importer,
            shape.name,
            mapping,
            tuple(note for note in notes if note),
            chats=any(one["messages"] and not one.get("response") for one in imported),
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
    return RecordMapping(
        columns.fields,
        given,
        shape="a chat log with messages" if chats else kind if guessed else OWN_FORMAT,
        mapping=", ".join(guessed),
        notes=(*unused, *(_notes_on_messages(chats) if chats else ())),
        hint=suggestion(sample, columns.fields.names) if unnamed else "",
        chats=bool(chats) and not has_reply,
    )


def _imported(importer: Importer, sample: RecordSample) -> list[dict[str, Any]]:
    """What the records that can be imported become."""
    found: list[dict[str, Any]] = []
    for record in sample:
        with suppress(FieldError):  # reported when the record is read
            found += importer(record)
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


# One record per assistant turn of a chat, instead of one per chat.


def records_of_turns(record: Mapping[str, Any], unnamed: str, fields: FieldMap) -> list[dict[str, Any]]:
    """A record for each assistant message, with the messages before it as its context; their ids end in the turn's
    number, and they share a `dialogue_id`. A chat without an id is called `unnamed`.

    Ratings and references of a turn are those of its message; those of the chat are about the last turn."""
    name = fields.of("messages")
    turns = spoken(record[name], name)
    chat = label_of(record.get(fields.of("id")), fields.of("id")) or unnamed
    dialogue = label_of(record.get(fields.of("dialogue_id")), fields.of("dialogue_id")) or chat
    places = [place for place, (role, _, _) in enumerate(turns) if role in REPLY_ROLES]
    if not places:
        raise FieldError(name, "has no assistant message: expected at least one")
    found = []
    for count, place in enumerate(places, start=1):
        _, reply, message = turns[place]
        last = record if place == places[-1] else {}
        own = {
            ours: next((one[theirs] for one in (message, last) if one.get(theirs) is not None), None)
            for ours, theirs in ((ours, fields.of(ours)) for ours in _OF_A_TURN)
        }
        said = {
            "id": f"{chat}-{count}",
            "context": [text for _, text, _ in turns[:place]],
            "speakers": [role for role, _, _ in turns[:place]],
            "response": reply,
            "system": record.get(fields.of("system")),
            "dialogue_id": dialogue,
            "references": own.pop("references"),
        }
        found.append(said | {ours: value for ours, value in own.items() if value is not None})
    return found


_OF_A_TURN = ("references", "scores", "raters")
"""Fields of ours that a message may have for its turn."""
_OF_ONE_REPLY = (*Example.__slots__, *_OF_A_TURN, "messages")
"""Fields of ours that the turns of a chat do not share."""

"""One record (a JSON object, a row of a table) to an Example, with every field checked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from numbers import Integral
from operator import attrgetter
from typing import Any

from rejoinder.data.files import TableRow
from rejoinder.errors import CallError, DataError, UnknownNameError, listed, shortened
from rejoinder.folders.schema import RepeatedKeyError, json_value
from rejoinder.specs import NearNames
from rejoinder.types import Example

# A record (one JSON object, one row of a table) to an Example, with every field checked.
#
# Fields: `response` (or chat-style `messages`), `context`, `references` (or one `reference`), `id`, `system`,
# `speakers`, `context_id`, `dialogue_id`. Only the reply is required. A context is a list of utterances, or one string
# that is split at a separator; a missing id becomes the record's number. In a table, a cell may contain a list as JSON,
# and an empty reply next to messages counts as missing.


# Single values of a record, checked: a FieldError says what was expected and what was found instead.


class FieldError(ValueError):
    """A field's value is not what was expected."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(problem)
        self.name = name


def text_of(value: Any, name: str, expected: str = "a string") -> str:
    """The value, which must be text that can be encoded as UTF-8."""
    if not isinstance(value, str):
        raise FieldError(name, f"expected {expected}, found {type_words(value)}")
    if "\x00" in value:
        raise FieldError(name, "contains a NUL character: expected text")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise FieldError(name, f"contains a lone surrogate at character {error.start}: expected text") from None
    return value


def is_text(value: str) -> bool:
    """Whether a string can be encoded as UTF-8, and contains no NUL character."""
    try:
        return "\0" not in value and bool(value.isascii() or value.encode())
    except UnicodeEncodeError:
        return False


def texts_of(values: list[Any] | tuple[Any, ...], name: str) -> tuple[str, ...]:
    """The values, each of which must be text."""
    try:
        text_of("".join(values), name)  # one check for all of them, since bad ones are rare
    except (TypeError, FieldError):
        return tuple(text_of(value, f"{name}[{place}]") for place, value in enumerate(values))
    return tuple(values)


def json_list(text: str, name: str) -> list[Any] | None:
    """The JSON list in a cell of a table; None if it contains none, FieldError if an object in it has a key twice."""
    if not text.lstrip().startswith("["):
        return None
    try:
        parsed = json_value(text)
    except RepeatedKeyError as error:
        raise FieldError(name, str(error)) from None
    except ValueError:
        return None
    return parsed if isinstance(parsed, list) else None


def label_of(value: Any, name: str) -> str:
    """An id or another label: a string, or a whole number as a string; "" for None."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():  # pandas turns integers with a missing value into floats
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, Integral):
        return text_of(value, name, "a string or a whole number")
    try:
        return str(value)
    except ValueError:  # Python writes no number of more than 4,300 digits
        raise FieldError(name, "expected a string or a whole number, found one of too many digits") from None


def slice_text(value: Any, name: str) -> str:
    """A value to slice by as text: numbers and truth values too; "" where it is missing."""
    if is_missing(value):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, int | float) else label_of(value, name)


def as_list(value: Any) -> Any:
    """An array of a data frame as a list; anything else unchanged."""
    return value.tolist() if hasattr(value, "tolist") else value


def is_missing(value: Any) -> bool:
    """Whether a value is what frames write for a missing one: NaN or their own NA."""
    return (isinstance(value, float) and value != value) or type(value).__name__ in {"NAType", "NaTType"}


def type_words(value: Any) -> str:
    """The value's type in plain words."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else f"a {type(value).__name__}")


FIELDS = (
    *("id", "context", "response", "references", "system", "speakers", "context_id", "dialogue_id"),
    *("messages", "turns"),
    *("scores", "split", "raters", "probability", "rater", "dimension", "score", "time"),
    *("a", "b", "winner", "response_a", "response_b"),
)
"""What `--field` may rename."""

LENGTH, TURNS = "length", "turns"
"""Slices that need no field of the data: words of the reply, and utterances of the context."""

_PLAIN = (str, list, type(None))


class MissingReply(FieldError):
    """A record without a reply."""


@dataclass(frozen=True)
class FieldMap(NearNames):
    """The data's names for our fields, and the separator of a context given as one string."""

    names: Mapping[str, str] = field(default_factory=dict)
    separator: str = "\n"
    by: tuple[str, ...] = ()
    """Further fields of the data, whose values become `Example.slices`."""

    def __post_init__(self) -> None:
        names: Any = self.names
        if not isinstance(names, Mapping):
            expected = "expected our names with the data's, such as {'context': 'history'}"
            raise CallError(f"cannot read the fields {shortened(names)}: {expected}")
        for ours, theirs in names.items():
            if not isinstance(ours, str) or ours not in FIELDS:
                raise UnknownNameError("field", ours, FIELDS)
            if not isinstance(theirs, str) or not theirs:
                raise CallError(f"the field {ours!r} must have a name in the data, not {shortened(theirs)}")
        if not isinstance(self.separator, str) or not self.separator:
            raise CallError(
                f"the separator of a context must be text that is not empty, not {shortened(self.separator)}"
            )
        by: Any = self.by
        if not isinstance(by, tuple) or not all(isinstance(name, str) and name for name in by):
            raise CallError(f"`by` must be a tuple of the data's field names, not {shortened(by)}")

    @classmethod
    def given(cls, fields: Fields | None) -> FieldMap:
        """From the `fields` of a public function."""
        return fields if isinstance(fields, FieldMap) else cls({} if fields is None else fields)

    @classmethod
    def parse(cls, pairs: Iterable[str], separator: str = "\n") -> FieldMap:
        """From ['context=history', ...], the form of the command line."""
        names: dict[str, str] = {}
        for pair in pairs:
            ours, equals, theirs = pair.partition("=")
            if not (ours and equals and theirs):
                expected = "expected ours=theirs, such as context=history"
                raise CallError(f"cannot read the field {shortened(pair)}: {expected}")
            if ours in names:
                both = f"{shortened(names[ours])} and {shortened(theirs)}"
                raise CallError(f"the field {shortened(ours)} is given twice: {both}")
            names[ours] = theirs
        return cls(names, separator)

    def without(self, ours: str) -> FieldMap:
        """The same map without one of our fields."""
        return FieldMap({name: theirs for name, theirs in self.names.items() if name != ours}, self.separator, self.by)

    def of(self, ours: str) -> str:
        """The data's name for one of our fields."""
        return self.names.get(ours, ours)


Fields = FieldMap | Mapping[str, str]
"""A field map, or our names with the data's: {"context": "history"}."""


def fields_given(pairs: Sequence[str] | None, separator: str | None) -> FieldMap | None:
    """The field map of a command line: what was given as --field and --separator."""
    if pairs is None and separator is None:
        return None
    # A shell passes backslash-n as two characters.
    split_at = "\n" if separator is None else separator.replace("\\n", "\n").replace("\\t", "\t")
    return FieldMap.parse(pairs or (), split_at)


def examples_in(origin: Any) -> list[Example]:
    """The Examples of a list, with the types of their fields checked; their texts may contain anything."""
    if isinstance(origin, str | bytes | Mapping | type) or not isinstance(origin, Iterable):
        raise CallError(f"cannot score {shortened(origin)}: expected a list of Examples, as read() gives them")
    examples = list(origin)
    for number, example in enumerate(examples, start=1):
        if not isinstance(example, Example):
            raise CallError(f"cannot score {shortened(example)}: expected Examples, as read() gives them")
        if _text_of(example) is None:
            try:
                examples[number - 1] = example_of(example, number, FieldMap())
            except FieldError as error:
                raise data_error(error, "examples", number) from None
    return examples


def example_of(record: Any, number: int, fields: FieldMap, system: str = "") -> Example:
    """The example in a record; FieldError if it contains none. `system` is the name of a system that has none."""
    if isinstance(record, Example):  # made by the caller, so its fields may contain anything
        if _is_plain(record):
            return record
        checked = _example_of({name: getattr(record, name) for name in Example.__slots__}, number, FieldMap(), "")
        checked = replace(checked, slices=record.slices)
        return record if checked == record else checked
    return _example_of(record, number, fields, system)


def _example_of(record: Any, number: int, fields: FieldMap, system: str) -> Example:
    if not isinstance(record, dict):
        raise FieldError("", f"expected an object with fields, found {type_words(record)}")
    get = _Getter(record, fields)
    context, speakers, response = (
        get.texts("context", split=True),
        get.texts("speakers", split=True),
        get.text("response"),
    )
    if get.has("messages"):
        response = None if response == "" and isinstance(record, TableRow) else response
        context, speakers, said = from_messages(get.value("messages"), fields.of("messages"), response is None)
        response = said if response is None else response
    if response is None:
        found = listed(record) or "no fields"
        raise MissingReply(fields.of("response"), f"is missing: expected the reply as a string, found {found}")
    if speakers and len(speakers) != len(context):
        raise FieldError(
            fields.of("speakers"),
            f"expected one label per context turn ({len(context)}), found {len(speakers)}",
        )
    return Example(
        id=get.label("id") or str(number),
        context=context,
        response=response,
        references=get.texts("references" if get.has("references") else "reference"),
        system=get.label("system") or system,
        speakers=speakers,
        context_id=get.label("context_id"),
        dialogue_id=get.label("dialogue_id"),
        slices=tuple(get.value_text(name) for name in fields.by) if fields.by else (),
    )


_CHECKED_AT_ONCE = 512
_values = attrgetter("id", "context", "references", "speakers", "response", "system", "context_id", "dialogue_id")


def all_plain(records: Sequence[Any]) -> bool:
    """Whether these are Examples that `example_of` would return as they are; many are checked at once."""
    starts = range(0, len(records), _CHECKED_AT_ONCE)
    return all(_are_plain(records[start : start + _CHECKED_AT_ONCE]) for start in starts)


def _are_plain(records: Sequence[Any]) -> bool:
    if {*map(type, records)} != {Example}:
        return False
    ids, contexts, references, speakers, *labels = zip(*map(_values, records), strict=True)
    lists = (contexts, references, speakers)
    if not all(ids) or {*map(type, chain(*lists))} != {tuple}:
        return False
    if any(speakers) and any(said and len(said) != len(turns) for said, turns in zip(speakers, contexts, strict=True)):
        return False
    try:
        return is_text("".join(chain(ids, *labels, *map(chain.from_iterable, lists))))
    except TypeError:
        return False


def _is_plain(example: Example) -> bool:
    """Whether all fields of an example are as they should be, as in most: then none needs another check."""
    text = _text_of(example)
    if text is None or not example.id:
        return False
    fits = not example.speakers or len(example.speakers) == len(example.context)
    return fits and is_text(text)


def _text_of(example: Example) -> str | None:
    """All text of an example; None where a field has the wrong type."""
    lists = (example.context, example.references, example.speakers)
    if not all(type(texts) is tuple for texts in lists):
        return None
    try:
        return "".join(
            (example.id, example.response, example.system, example.context_id, example.dialogue_id, *chain(*lists))
        )
    except TypeError:
        return None


@dataclass(frozen=True, slots=True)
class _Getter:
    record: dict[str, Any]
    fields: FieldMap

    def value(self, ours: str) -> Any:
        found = self.record.get(self.fields.of(ours))
        return found if type(found) in _PLAIN or not is_missing(found) else None

    def has(self, ours: str) -> bool:
        found = self.value(ours)
        return found is not None and not (isinstance(found, str) and not found)  # an empty cell of a table

    def text(self, ours: str) -> str | None:
        found = self.value(ours)
        return None if found is None else text_of(found, self.fields.of(ours))

    def label(self, ours: str) -> str:
        return label_of(self.value(ours), self.fields.of(ours))

    def value_text(self, theirs: str) -> str:
        """A field that is not ours, or one inside a field (metadata.channel), as text."""
        found = value_at(self.record, theirs)
        if isinstance(found, list | tuple | Mapping):
            raise FieldError(theirs, f"expected text, a number or a truth value to slice by, found {type_words(found)}")
        return slice_text(found, theirs)

    def texts(self, ours: str, *, split: bool = False) -> tuple[str, ...]:
        found, name = self.value(ours), self.fields.of(ours)
        if found is None:
            return ()
        found = self._from_string(found, name, split) if isinstance(found, str) else as_list(found)
        if not isinstance(found, list | tuple):
            raise FieldError(name, f"expected a list of strings, found {type_words(found)}")
        return texts_of(found, name)

    def _from_string(self, found: str, name: str, split: bool) -> list[Any]:
        parsed = json_list(found, name) if isinstance(self.record, TableRow) else None
        if parsed is not None and all(isinstance(item, str) for item in parsed):
            return parsed
        if not split:
            return [found] if found else []
        return [part.strip() for part in found.split(self.fields.separator) if part.strip()]


def data_error(error: FieldError, file: str, line: int) -> DataError:
    """The same problem with its file and line."""
    return DataError(str(error), file=file, line=line, field=error.name)


# A value inside a record, by a path such as output.content or messages.0.content.


_MOST_LEVELS = 4


def value_at(record: Mapping[str, Any], path: str) -> Any:
    """The value of a field, or the value inside a field that the path leads to; None where there is none.

    A field that has the whole path as its name comes first. Objects in the cells of a table are JSON; FieldError where
    one of them has a key twice.
    """
    if path in record:
        return record[path]
    value: Any = record
    for step in path.split("."):
        value = as_list(structured(value, path))
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list | tuple) and step.isdecimal() and len(step) < 10 and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def structured(value: Any, where: str | None = None) -> Any:
    """The object or list that a string contains as JSON; anything else unchanged.

    FieldError if an object has a key twice; without `where`, which is its field, this is left to whoever reads it.
    """
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        try:
            return json_value(value)
        except RepeatedKeyError as error:
            if where is not None:
                raise FieldError(where, str(error)) from None
            return _last_values(value)
        except ValueError:
            return value
    return value


def _last_values(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def text_paths(record: Mapping[str, Any]) -> Iterator[str]:
    """The paths of all strings in a record, outermost first within each field."""
    return (path for path, value in values_in(record) if isinstance(value, str))


def values_in(record: Mapping[str, Any], prefix: str = "", level: int = 0) -> Iterator[tuple[str, Any]]:
    """The path and the value of each field in a record that is neither an object nor a list."""
    for key, value in record.items():
        if isinstance(value, Mapping) and level < _MOST_LEVELS:
            yield from values_in(value, f"{prefix}{key}.", level + 1)
        elif not isinstance(value, Mapping | list | tuple):
            yield f"{prefix}{key}", value


# Chat messages with roles to a context, its speakers and the reply.


TURN_ROLES = {"user", "assistant", "human", "bot"}
REPLY_ROLES = {"assistant", "bot"}
ASIDE_ROLES = {"system", "developer", "tool", "function"}
"""Instructions and what tools returned: not part of the conversation."""
ROLES = frozenset(TURN_ROLES | ASIDE_ROLES)
BODY = ("content", "tool_calls", "function_call")
"""What a message may consist of; a call of a tool has no content."""


def from_messages(messages: Any, name: str, take_reply: bool) -> tuple[tuple[str, ...], tuple[str, ...], str | None]:
    """Context, speakers and reply of a chat: the last assistant message is the reply; later messages are ignored."""
    turns = turns_of_messages(messages, name)
    reply = None
    if take_reply:
        last = max((place for place, (role, _) in enumerate(turns) if role in REPLY_ROLES), default=None)
        if last is None:
            raise FieldError(name, "has no assistant message: expected the last one to be the reply")
        reply, turns = turns[last][1], turns[:last]
    return tuple(text for _, text in turns), tuple(role for role, _ in turns), reply


def turns_of_messages(messages: Any, name: str) -> list[tuple[str, str]]:
    """Role and text of each message that is part of the conversation."""
    return [(role, text) for role, text, _ in spoken(messages, name)]


def spoken(messages: Any, name: str) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Role, text and all fields of each message that is part of the conversation."""
    messages = json_list(messages, name) or messages if isinstance(messages, str) else as_list(messages)
    if not isinstance(messages, list | tuple):
        raise FieldError(name, f"expected a list of messages, found {type_words(messages)}")
    turns: list[tuple[str, str, Mapping[str, Any]]] = []
    for place, message in enumerate(messages):
        where = f"{name}[{place}]"
        if not isinstance(message, dict) or not isinstance(message.get("role"), str) or not message.keys() & set(BODY):
            raise FieldError(where, "expected an object with 'role' and 'content'")
        role = message["role"].lower()
        if role not in ROLES:
            known = "user, assistant, system, developer or tool"
            raise FieldError(f"{where}.role", f"expected {known}, found {shortened(message['role'], 40)}")
        # Calls of tools have no content.
        if role in TURN_ROLES and message.get("content") is not None:
            turns.append((role, text_of_content(message["content"], f"{where}.content"), message))
    return turns


def text_of_content(content: Any, where: str) -> str:
    """A message's text, which may be split into parts, some of them without text (images)."""
    content = as_list(content)
    if not isinstance(content, list | tuple):
        return text_of(content, where)
    texts = [part.get("text") if isinstance(part, dict) else part for part in content]
    return "".join(text_of(text, f"{where}[{place}]") for place, text in enumerate(texts) if text is not None)

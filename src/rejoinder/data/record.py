"""A record (one JSON object, one row of a table) to an Example, with every field checked.

Fields: `response` (or chat-style `messages`), `context`, `references` (or one `reference`), `id`, `system`,
`speakers`, `context_id`. Only the reply is required. A context is a list of utterances, or one string that is cut at a
separator; an absent id becomes the record's number.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rejoinder.errors import CallError, DataError, UnknownNameError
from rejoinder.types import Example

FIELDS = ("id", "context", "response", "references", "system", "speakers", "context_id", "messages")
_TURN_ROLES = {"user", "assistant", "human", "bot"}
_REPLY_ROLES = {"assistant", "bot"}


@dataclass(frozen=True)
class FieldMap:
    """What the data call our fields, and where a context given as one string is cut."""

    names: Mapping[str, str] = field(default_factory=dict)
    separator: str = "\n"

    def __post_init__(self) -> None:
        for ours in self.names:
            if ours not in FIELDS:
                raise UnknownNameError("field", ours, FIELDS)
        if not self.separator:
            raise CallError("the separator of a context must not be empty")

    @classmethod
    def parse(cls, pairs: Iterable[str], separator: str = "\n") -> FieldMap:
        """From ['context=history', ...] as the command line gives them."""
        names = {}
        for pair in pairs:
            ours, equals, theirs = pair.partition("=")
            if not (ours and equals and theirs):
                raise CallError(f"cannot read the field {pair!r}: expected ours=theirs, such as context=history")
            names[ours] = theirs
        return cls(names, separator)

    def of(self, ours: str) -> str:
        """The data's name for one of our fields."""
        return self.names.get(ours, ours)


class FieldError(ValueError):
    """A field's value is not what it should be."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(problem)
        self.name = name


def example_of(record: Any, number: int, fields: FieldMap) -> Example:
    """The example that a record holds; FieldError where it holds none."""
    if not isinstance(record, dict):
        raise FieldError("", f"expected an object with fields, found {_kind(record)}")
    get = _Getter(record, fields)
    context, speakers, response = (
        get.texts("context", split=True),
        get.texts("speakers"),
        get.text("response"),
    )
    if get.has("messages"):
        context, speakers, said = _from_messages(get.value("messages"), fields.of("messages"), response is None)
        response = said if response is None else response
    if response is None:
        raise FieldError(fields.of("response"), "is missing: expected the reply as a string")
    if speakers and len(speakers) != len(context):
        raise FieldError(
            fields.of("speakers"),
            f"expected one label a context turn ({len(context)}), found {len(speakers)}",
        )
    references = get.texts("references")
    if not references and "references" not in fields.names and record.get("reference") is not None:
        references = (_text(record["reference"], "reference"),)
    return Example(
        id=get.label("id") or str(number),
        context=context,
        response=response,
        references=references,
        system=get.label("system"),
        speakers=speakers,
        context_id=get.label("context_id"),
    )


@dataclass(frozen=True, slots=True)
class _Getter:
    record: dict[str, Any]
    fields: FieldMap

    def value(self, ours: str) -> Any:
        found = self.record.get(self.fields.of(ours))
        # Frames write a missing value as NaN, the only value that differs from itself.
        return None if isinstance(found, float) and found != found else found

    def has(self, ours: str) -> bool:
        return self.value(ours) is not None

    def text(self, ours: str) -> str | None:
        found = self.value(ours)
        return None if found is None else _text(found, self.fields.of(ours))

    def label(self, ours: str) -> str:
        found, name = self.value(ours), self.fields.of(ours)
        if found is None:
            return ""
        if isinstance(found, int) and not isinstance(found, bool):
            return str(found)
        return _text(found, name)

    def texts(self, ours: str, *, split: bool = False) -> tuple[str, ...]:
        found, name = self.value(ours), self.fields.of(ours)
        if found is None:
            return ()
        if isinstance(found, str):
            found = self._from_string(found, split)
        elif not isinstance(found, list | tuple):
            if not hasattr(found, "tolist"):  # an array of a frame
                raise FieldError(name, f"expected a list of strings, found {_kind(found)}")
            found = found.tolist()
        return tuple(_text(item, f"{name}[{place}]") for place, item in enumerate(found))

    def _from_string(self, found: str, split: bool) -> list[Any]:
        # A table has no lists: a cell may hold one as JSON.
        if found.lstrip().startswith("["):
            try:
                parsed = json.loads(found)
            except ValueError:
                pass
            else:
                if isinstance(parsed, list) and all(isinstance(item, str) for item in parsed):
                    return parsed
        if not split:
            return [found] if found else []
        return [part.strip() for part in found.split(self.fields.separator) if part.strip()]


def _from_messages(messages: Any, name: str, take_reply: bool) -> tuple[tuple[str, ...], tuple[str, ...], str | None]:
    """Context, speakers and reply of a chat: the last assistant message is the reply, what follows it is left out."""
    if hasattr(messages, "tolist"):
        messages = messages.tolist()
    if not isinstance(messages, list):
        raise FieldError(name, f"expected a list of messages, found {_kind(messages)}")
    turns = []
    for place, message in enumerate(messages):
        where = f"{name}[{place}]"
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise FieldError(where, "expected an object with 'role' and 'content'")
        if message["role"] in _TURN_ROLES:  # instructions and tool calls are no part of the conversation
            turns.append((message["role"], _content(message.get("content"), where)))
    reply = None
    if take_reply:
        last = max((place for place, (role, _) in enumerate(turns) if role in _REPLY_ROLES), default=None)
        if last is None:
            raise FieldError(name, "has no assistant message: expected the last one to be the reply")
        reply, turns = turns[last][1], turns[:last]
    return tuple(text for _, text in turns), tuple(role for role, _ in turns), reply


def _content(content: Any, where: str) -> str:
    """A message's text, which may come in parts."""
    if content is None:
        return ""
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return "".join(_text(text, where) for text in texts)
    return _text(content, where)


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise FieldError(name, f"expected a string, found {_kind(value)}")
    if "\x00" in value:
        raise FieldError(name, "holds a NUL character: expected text")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise FieldError(name, f"holds a lone surrogate at character {error.start}: expected text") from None
    return value


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else f"a {type(value).__name__}")


def data_error(error: FieldError, file: str, line: int) -> DataError:
    """The same problem with the place where it stands."""
    return DataError(str(error), file=file, line=line, field=error.name)

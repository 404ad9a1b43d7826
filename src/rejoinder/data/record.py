"""A record (one JSON object, one row of a table) to an Example, with every field checked.

Fields: `response` (or chat-style `messages`), `context`, `references` (or one `reference`), `id`, `system`,
`speakers`, `context_id`, `dialogue_id`. Only the reply is required. A context is a list of utterances, or one string
that is split at a separator; a missing id becomes the record's number. In a table, a cell may contain a list as JSON,
and an empty reply next to messages counts as missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import attrgetter
from typing import Any

from rejoinder.data.formats.rows import TableRow
from rejoinder.data.messages import from_messages
from rejoinder.data.values import (
    FieldError,
    as_list,
    is_missing,
    is_text,
    json_list,
    kind_of,
    label_of,
    text_of,
    texts_of,
)
from rejoinder.errors import CallError, DataError, UnknownNameError, listed, shortened
from rejoinder.types import Example

FIELDS = (
    *("id", "context", "response", "references", "system", "speakers", "context_id", "dialogue_id"),
    *("messages", "turns"),
    *("scores", "split", "raters", "probability", "rater", "dimension", "score", "time"),
    *("a", "b", "winner", "response_a", "response_b"),
)
"""What `--field` may rename."""

_PLAIN = (str, list, type(None))


class MissingReply(FieldError):
    """A record without a reply."""


@dataclass(frozen=True)
class FieldMap:
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


def example_of(record: Any, number: int, fields: FieldMap) -> Example:
    """The example in a record; FieldError if it contains none."""
    if isinstance(record, Example):  # made by the caller, so its fields may contain anything
        if _is_plain(record):
            return record
        checked = _example_of({name: getattr(record, name) for name in Example.__slots__}, number, FieldMap())
        checked = replace(checked, slices=record.slices)
        return record if checked == record else checked
    return _example_of(record, number, fields)


def _example_of(record: Any, number: int, fields: FieldMap) -> Example:
    if not isinstance(record, dict):
        raise FieldError("", f"expected an object with fields, found {kind_of(record)}")
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
        system=get.label("system"),
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
        """A field that is not ours, as text: numbers and truth values too."""
        found = self.record.get(theirs)
        if isinstance(found, bool | int | float) and not is_missing(found):
            found = str(found).lower() if isinstance(found, bool) else f"{found:g}"
        return label_of(None if is_missing(found) else found, theirs)

    def texts(self, ours: str, *, split: bool = False) -> tuple[str, ...]:
        found, name = self.value(ours), self.fields.of(ours)
        if found is None:
            return ()
        found = self._from_string(found, name, split) if isinstance(found, str) else as_list(found)
        if not isinstance(found, list | tuple):
            raise FieldError(name, f"expected a list of strings, found {kind_of(found)}")
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

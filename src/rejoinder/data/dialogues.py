"""Dialogues, and contexts without replies, in any supported form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from rejoinder.data.files import lines_of_file, rows_of_file
from rejoinder.data.judged import JudgedSource, RatingFields
from rejoinder.data.opening import unreadable
from rejoinder.data.records import (
    REPLY_ROLES,
    FieldError,
    FieldMap,
    Fields,
    as_list,
    data_error,
    is_missing,
    json_list,
    label_of,
    texts_of,
    type_words,
)
from rejoinder.data.source import ErrorPolicy, Source
from rejoinder.errors import CallError, DataError, NeedsError, listed, shortened
from rejoinder.options import OnError, fitting
from rejoinder.options import path as as_path
from rejoinder.types import Dialogue, Example, JudgedExample

# Dialogues to train on: JSON lines (.jsonl, .jsonl.gz) with `turns` and optionally `id` and `speakers`.
#
# `turns` is a list of at least two utterances, oldest first; `speakers` has one label per turn. A missing id becomes
# the record's number.


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
        raise FieldError("", f"expected an object with fields, found {type_words(record)}")
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
        raise FieldError(name, f"expected a list of strings, found {type_words(record[name])}")
    return texts_of(found, name)


# Training data in any supported form: a file, several files, a data frame, or objects in memory.


T = TypeVar("T")
S = TypeVar("S", bound=Source)


class CorpusReader:
    """Reads training data, and notes why records were left out.

    Files that hold nothing are an error: a model would otherwise be trained without what they were given for.
    """

    def __init__(self, on_error: OnError = "raise", fields: Fields | None = None) -> None:
        self.on_error = on_error
        self.fields = FieldMap.given(fields)
        self.skipped: list[str] = []

    def dialogues(self, origin: Any, *, sentences: bool = False) -> list[Dialogue]:
        """The dialogues of one or more files, or of an iterable of Dialogues, of records or of lists of turns.

        With `sentences`, each line of a text file (.txt, .txt.gz) counts as a dialogue of one turn.
        """
        paths = _paths(origin)
        if not paths:
            return dialogues_in(origin, self.fields)
        found = [dialogue for path in paths for dialogue in self._dialogues_of(path, sentences=sentences)]
        return _some(found, paths, "dialogue")

    def judged(self, origin: Any, *, scored: bool = True) -> list[JudgedExample]:
        """The judged examples of one or more files, of a data frame or of an iterable; ratings may be absent unless
        they must be `scored`."""
        kind = JudgedSource if scored else _UnscoredSource
        return [item for one in _paths(origin) or [origin] for item in self._judged_of(self._open(kind, one))]

    def examples(self, origin: Any) -> list[Example]:
        """The examples of one or more files, of a data frame or of an iterable."""
        paths = _paths(origin)
        found: list[Example] = []
        for one in paths or [origin]:
            with closing(self._open(Source, one)) as source:
                found += source
                self.skipped += map(str, source.skipped.values())
        return _some(found, paths, "reply")

    def _open(self, kind: type[S], origin: Any) -> S:
        return kind(origin, self.fields.without("turns"), self.on_error)

    def _dialogues_of(self, path: str | Path, *, sentences: bool) -> Iterator[Dialogue]:
        if sentences and str(path).removesuffix(".gz").endswith(".txt"):
            yield from sentences_of_file(path)
            return
        source = DialogueSource(path, self.on_error, self.fields)
        yield from source
        self.skipped += map(str, source.skipped.values())

    def _judged_of(self, opened: JudgedSource) -> Iterator[JudgedExample]:
        with closing(opened) as source:
            yield from source.judged()
            self.skipped += map(str, source.skipped.values())


class _UnscoredSource(JudgedSource):
    """A source whose records may lack ratings."""

    def _example(self, record: Any, number: int) -> Example:
        if isinstance(record, JudgedExample):
            return super()._example(record, number)
        self._judged = RatingFields()
        return Source._example(self, record, number)


def _paths(origin: Any) -> list[str | Path]:
    """The path or paths that the origin is; none where it holds the data itself."""
    if isinstance(origin, str | Path):
        return [origin]
    if isinstance(origin, list | tuple) and all(isinstance(item, str | Path) for item in origin):
        return list(origin)
    return []


def _some(found: list[T], paths: list[str | Path], what: str) -> list[T]:
    if paths and not found:
        raise NeedsError(f"{', '.join(map(str, paths))}: expected at least one {what}, found none")
    return found


def dialogues_in(origin: Any, fields: FieldMap | None = None) -> list[Dialogue]:
    """The dialogues that objects in memory represent: Dialogues, records, or lists of turns."""
    if isinstance(origin, str | bytes | Mapping | type) or not isinstance(origin, Iterable):
        raise CallError(f"cannot read dialogues from {shortened(origin)}: expected a list of them")
    return [_dialogue(item, number, fields or FieldMap()) for number, item in enumerate(origin, start=1)]


def judged_in(origin: Any) -> list[JudgedExample]:
    """The judged examples that objects in memory represent: JudgedExamples or records."""
    with closing(JudgedSource(origin)) as source:
        return list(source.judged())


def _dialogue(item: Any, number: int, fields: FieldMap) -> Dialogue:
    """The dialogue that an object in memory represents; DataError if it represents none."""
    record = {fields.of("turns"): item} if isinstance(item, list | tuple) else item
    try:
        if isinstance(item, Dialogue):  # made by the caller, so its fields may contain anything
            return Dialogue(label_of(item.id, "id"), _turns(item.turns, "turns"), _turns(item.speakers, "speakers"))
        return dialogue_of(record, number, fields)
    except FieldError as error:
        raise data_error(error, "dialogues", number) from None


def _turns(value: Any, name: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise FieldError(name, f"expected a list of strings, found {type_words(value)}")
    return texts_of(value, name)


# Sentences to train on: a text file (.txt, .txt.gz) with one sentence per line.


def sentences_of_file(path: str | Path) -> Iterator[Dialogue]:
    """Each non-blank line as a dialogue of one turn, with the line number as id."""
    for number, line in lines_of_file(Path(path), str(path)):
        if isinstance(line, DataError):
            raise line
        if line.strip():
            yield Dialogue(str(number), (line.strip(),))


# A context with one reply, and the speaker of each turn of the context.


class ReplyInContext(NamedTuple):
    """What a reply is judged by: itself and its context."""

    context: tuple[str, ...]
    speakers: tuple[str, ...]
    response: str


class HasReply(Protocol):
    """An example, or a place in a dialogue."""

    @property
    def context(self) -> tuple[str, ...]:
        """Turns, oldest first."""

    @property
    def speakers(self) -> tuple[str, ...]:
        """One per turn of the context, or none."""

    @property
    def response(self) -> str:
        """The reply."""


def pair_of(said: HasReply) -> ReplyInContext:
    """The context, speakers and reply of an example or of a place in a dialogue."""
    return ReplyInContext(said.context, said.speakers, said.response)


def by_replier(turns: int, speakers: Sequence[str] = ()) -> list[bool]:
    """Which turns of a context are by the speaker who replies. (turns,)

    The replier is never the one who spoke last. Without labels the speakers alternate; with labels the replier is the
    most recent speaker other than the last.
    """
    if not speakers:
        return [(turns - turn) % 2 == 0 for turn in range(turns)]
    replier = next((speaker for speaker in reversed(speakers) if speaker != speakers[-1]), None)
    return [speaker == replier for speaker in speakers]


# Reading single files of a model folder.


def read_text(path: Path) -> str:
    """The text of a file in a model folder; DataError if it is missing or not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise DataError("is missing: expected a file of the model", file=str(path)) from error
    except UnicodeDecodeError as error:
        raise DataError(f"is not UTF-8 text ({error})", file=str(path)) from error
    except OSError as error:
        raise unreadable(error, str(path)) from None


def changed_at(path: str | Path) -> int:
    """When a file, or any file directly in a folder, was last changed, in nanoseconds; 0 where there is none."""
    place = Path(path)
    files = [place, *place.iterdir()] if place.is_dir() else [place]
    return max((each.stat().st_mtime_ns for each in files if each.exists()), default=0)


# Contexts that wait for a reply: the same records as examples, but the reply may be missing.
#
# A record has `context` or `messages`, as an example does, or the `turns` of a dialogue, whose last turn is then the
# true reply. If there are `references`, the first one is the true reply; otherwise it is the `response`, unless a
# `system` wrote it. With messages the true reply is the last message, if it is by the assistant.


class UnansweredSource(Source):
    """Contexts as examples with an empty response; the true reply, if known, is their reference."""

    def _example(self, record: Any, number: int) -> Example:
        if isinstance(record, dict) and self.fields.of("turns") in record:
            dialogue = dialogue_of(record, number, self.fields)
            return Example(
                dialogue.id,
                dialogue.turns[:-1],
                "",
                dialogue.turns[-1:],
                speakers=dialogue.speakers[:-1],
            )
        example = super()._example(self._with_reply(record), number)
        if not example.context:
            raise FieldError(self.fields.of("context"), "is missing: expected what was said before, to reply to")
        said = (example.response,) if example.response.strip() and not example.system else ()
        return replace(example, response="", references=example.references or said, system="")

    def _with_reply(self, record: Any) -> Any:
        """The record, with an empty reply if it has none."""
        name = self.fields.of("response")
        if not isinstance(record, dict) or record.get(name) is not None or self._ends_with_reply(record):
            return record
        return type(record)({**record, name: ""})

    def _ends_with_reply(self, record: dict[str, Any]) -> bool:
        messages = record.get(self.fields.of("messages"))
        last = messages[-1] if isinstance(messages, list) and messages else None
        return isinstance(last, dict) and str(last.get("role")).lower() in REPLY_ROLES


def each_once(contexts: Iterable[Example]) -> Iterator[Example]:
    """Each context once, even if the data have several systems' replies to it; CallError for a repeated id."""
    seen: set[int] = set()
    owners: set[str] = set()
    for example in contexts:
        key = hash(example.context_id or (example.context, example.references))
        if key in seen:
            continue
        if example.id in owners:
            raise CallError(f"two different contexts have the id {shortened(example.id)}: expected unique ids")
        seen.add(key)
        owners.add(example.id)
        yield example

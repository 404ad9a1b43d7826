"""Training data in any supported form: a file, several files, a frame, or objects in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

from rejoinder.data.dialogues import DialogueSource, dialogue_of
from rejoinder.data.judged import HumanScores, JudgedSource
from rejoinder.data.record import FieldMap, Fields, data_error
from rejoinder.data.sentences import sentences_of_file
from rejoinder.data.source import OnError, Source
from rejoinder.data.values import FieldError, kind_of, label_of, texts_of
from rejoinder.errors import CallError, NeedsError, shortened
from rejoinder.types import Dialogue, Example, JudgedExample

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
        """The judged examples of one or more files, of a frame or of an iterable; human scores may be absent unless
        they must be `scored`."""
        kind = JudgedSource if scored else _UnscoredSource
        return [item for one in _paths(origin) or [origin] for item in self._judged_of(self._open(kind, one))]

    def examples(self, origin: Any) -> list[Example]:
        """The examples of one or more files, of a frame or of an iterable."""
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
    """A source whose records may lack human scores."""

    def _example(self, record: Any, number: int) -> Example:
        if isinstance(record, JudgedExample):
            return super()._example(record, number)
        self._judged = HumanScores()
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
        raise FieldError(name, f"expected a list of strings, found {kind_of(value)}")
    return texts_of(value, name)

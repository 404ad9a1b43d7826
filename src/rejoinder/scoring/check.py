"""What a file of replies contains, and which metrics can score it, before anything is scored."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any

from rejoinder.data.convert import duplicate_key
from rejoinder.data.importers import with_objects
from rejoinder.data.records import LENGTH, REPLY_ROLES, TURNS, FieldError, Fields, slice_text, values_in
from rejoinder.data.source import Source, survey
from rejoinder.errors import listed
from rejoinder.options import FIELDS_OPTION, REPLIES_OPTION, OnError, Quiet, UnitOption, verb
from rejoinder.registry import SHIPPED_EVALUATORS
from rejoinder.scoring.score import ALL, choose_metrics
from rejoinder.scoring.table import MOST_VALUES
from rejoinder.show.document import NOT_LATEX, Block, Document, Facts, Result, Say
from rejoinder.show.text import counted
from rejoinder.text.language import language, name_of
from rejoinder.types import Example, Unit

_SHOWN = 3
_LONGEST_SHOWN = 300
_MOST_SYSTEMS = 20
MOST_LANGUAGES = 20_000


@dataclass(frozen=True, repr=False)
class DataCheck(Result):
    """What was understood of a file, and what it contains."""

    name: str
    understood: Mapping[str, str]
    """File -> how its records were read."""
    examples: int
    systems: Mapping[str, int]
    """System -> its examples."""
    contexts: int
    """Different contexts."""
    dialogues: int
    """Different dialogue ids."""
    has: Mapping[str, int]
    """How many examples have a context, references."""
    empty: int
    """Empty replies."""
    duplicates: int
    """Examples with the same system, context and response as an earlier one."""
    scripts: Mapping[str, int]
    """Script of the first letter, such as Latin -> replies."""
    languages: Mapping[str, Mapping[str, int]]
    """System -> code of a language, or "unknown" -> replies, of the first MOST_LANGUAGES replies."""
    missing: Mapping[str, tuple[str, ...]]
    """What no example has -> the metrics that need it."""
    first: tuple[Example, ...]
    chats: int = 0
    """Chats whose assistant turns are, or could be, scored one by one."""
    turns: int = 0
    """Assistant turns of these chats."""
    unit: Unit = "reply"
    slices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Field that the results can be sliced by -> its values."""
    skipped: tuple[str, ...] = ()
    """Records that could not be read, each with the reason."""

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        return asdict(self)

    def without_texts(self) -> DataCheck:
        """The same without the first examples."""
        return replace(self, first=())

    def document(self) -> Document:
        """How the file was read, what it contains, what is missing, and the first examples."""
        different = dict.fromkeys(self.understood.values())
        read = [f"{file}: {how}" for file, how in self.understood.items()]
        if len(different) == 1:
            read = [f"{self.name}: {next(iter(different))}"]
        missing = [
            f"No example has {need}, which these metrics need: {', '.join(names)}."
            for need, names in self.missing.items()
        ]
        blocks: list[Block] = [
            Say(read, lines=True, fit=False),
            Facts({name: value for name, value in self._counts().items() if value}),
            Say(missing or ["All metrics have what they need."], lines=True),
            *(Say(_shown(example), lines=True, fit=False, only=NOT_LATEX) for example in self.first),
        ]
        return Document(f"Replies of {self.name}", blocks, question="What is in these replies?")

    def _counts(self) -> dict[str, str]:
        named = [f"{system or '(no name)'}: {count:,}" for system, count in self.systems.items()]
        more = f", and {len(named) - _MOST_SYSTEMS} more" if len(named) > _MOST_SYSTEMS else ""
        without = self.examples - self.has["context"]
        return {
            "examples": f"{self.examples:,}",
            "systems": f"{len(named):,} ({', '.join(named[:_MOST_SYSTEMS])}{more})",
            "contexts": f"{self.contexts:,} different" + (f"; {without:,} examples have none" if without else ""),
            "dialogues": f"{self.dialogues:,}" if self.dialogues else "",
            "references": f"{self.has['references']:,} examples have some" if self.has["references"] else "none",
            "scored": self._scored(),
            "slices": self._slices(),
            "empty replies": f"{self.empty:,}",
            "duplicates": f"{self.duplicates:,} (same system, context and reply as an earlier example)",
            "scripts": ", ".join(f"{script}: {count:,}" for script, count in self.scripts.items()),
            "languages": "; ".join(_languages(system, found) for system, found in self.languages.items()),
            "left out": f"{len(self.skipped):,} unreadable records" if self.skipped else "",
        }

    def _scored(self) -> str:
        """Which turns of the chats are scored, and how to score every one."""
        if not self.chats:
            return ""
        if self.unit == "turn":
            return f"each of the {self.turns:,} assistant turns of {counted(self.chats, 'chat')}"
        last = f"the last assistant turn of each chat: {self.chats:,} of {self.turns:,}"
        more = " (--unit turn, or unit='turn' in Python, scores every one)" if self.turns > self.chats else ""
        return last + more

    def _slices(self) -> str:
        """The fields to slice by, with their values."""
        named = [f"{name} ({listed(values)})" for name, values in self.slices.items()]
        return f"--by {', '.join([*named, LENGTH, TURNS])}"


class _SlicedSource(Source):
    """A source that also collects the values of the fields by which results could be shown separately."""

    def begin(self) -> None:
        """Forget what an earlier pass collected."""
        self._values: dict[str, Counter[str] | None] = {}

    def slices(self) -> dict[str, tuple[str, ...]]:
        """Field -> its values, the most frequent first; of those that divide the replies into some groups."""
        return {
            name: tuple(value for value, _ in counts.most_common())
            for name, counts in self._values.items()
            if counts is not None and 2 <= len(counts) <= counts.total() / 2
        }

    def _example(self, record: Any, number: int) -> Example:
        example = super()._example(record, number)
        if isinstance(record, Mapping):
            ours = self.readings[self.file].ours
            for name, value in values_in(with_objects(record)):
                if name not in ours and name.partition(".")[0] not in ours:
                    self._count(name, value)
        return example

    def _count(self, name: str, value: Any) -> None:
        counts = self._values.setdefault(name, Counter())
        if counts is not None:
            with suppress(FieldError):  # a value that is no text: `--by` would say so
                found = slice_text(value, name)
                counts.update([found] if found else [])
            if len(counts) > MOST_VALUES:
                self._values[name] = None


@verb
def check(
    replies: Annotated[Any, REPLIES_OPTION],
    *,
    unit: UnitOption = "reply",
    fields: Annotated[Fields | None, FIELDS_OPTION] = None,
    on_error: OnError = "raise",
    quiet: Quiet = True,
) -> DataCheck:
    """Read a file, a folder, a data frame or a list of replies, and report what was understood and what is missing.

    `unit` is what would be scored of a conversation, as in `score`.
    """
    with closing(_SlicedSource(replies, fields, on_error, unit=unit, by_file=True)) as source:
        source.begin()
        seen = survey(source, quiet=quiet, digest=False)
        source.begin()
        systems, scripts, languages = Counter[str](), Counter[str](), dict[str, Counter[str]]()
        contexts, dialogues, replies = set[int](), set[str](), set[bytes]()
        chats = set[tuple[str, str]]()
        empty = turns = 0
        first: list[Example] = []
        for example in source:
            systems[example.system] += 1
            scripts[_script(example.response)] += 1
            if systems.total() <= MOST_LANGUAGES:
                languages.setdefault(example.system, Counter())[language(example.response)] += 1
            empty += not example.response.strip()
            replies.add(duplicate_key(example))
            if example.context:
                contexts.add(hash(example.context))
            if example.dialogue_id:
                dialogues.add(example.dialogue_id)
            if source.readings[source.file].chats:
                chats.add((example.system, example.dialogue_id if unit == "turn" else example.id))
                turns += 1 if unit == "turn" else 1 + sum(speaker in REPLY_ROLES for speaker in example.speakers)
            if len(first) < _SHOWN:
                first.append(example)
        del scripts[""]
        return DataCheck(
            source.name,
            {file: str(reading) for file, reading in source.readings.items()},
            seen.count,
            dict(systems),
            len(contexts),
            len(dialogues),
            seen.has,
            empty,
            seen.count - len(replies),
            dict(scripts.most_common()),
            {system: dict(found.most_common()) for system, found in languages.items()},
            _missing(seen.has),
            tuple(first),
            len(chats),
            turns,
            unit,
            source.slices(),
            tuple(map(str, source.skipped.values())),
        )


def _languages(system: str, found: Mapping[str, int]) -> str:
    """'bot-v2: English 58, unknown 2'."""
    told = ", ".join(f"{name_of(code)} {count:,}" for code, count in found.items())
    return f"{system}: {told}" if system else told


def _missing(has: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """What no example has -> the metrics that need it."""
    needs = dict.fromkeys(SHIPPED_EVALUATORS, frozenset({"context"}))
    needs |= {label: frozenset(metric.needs) for label, metric in choose_metrics([ALL]).metrics.items()}
    absent = [need for need, count in has.items() if not count]
    return {need: tuple(label for label, wanted in needs.items() if need in wanted) for need in absent}


def _script(text: str) -> str:
    """The script of the first letter: Latin, Cyrillic, Cjk; "" without letters."""
    letter = next((character for character in text if character.isalpha()), "")
    return unicodedata.name(letter, "other").split()[0].split("-")[0].capitalize() if letter else ""


def _shown(example: Example) -> list[str]:
    """An example in a few lines."""
    speakers = example.speakers or [""] * len(example.context)
    lines = [f"example {example.id}" + (f", system {example.system}" if example.system else "")]
    lines += [_line(speaker or "context", turn) for speaker, turn in zip(speakers, example.context, strict=True)]
    lines.append(_line("response", example.response))
    lines += [_line("reference", reference) for reference in example.references]
    return lines


def _line(label: str, text: str) -> str:
    short = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
    return f"    {label}: {' '.join(short.split())}"

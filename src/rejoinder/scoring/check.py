"""What a file of replies contains, and which metrics can score it, before anything is scored."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import Any

from rejoinder.data.convert import duplicate_key
from rejoinder.data.records import Fields
from rejoinder.data.source import OnError, Source, survey
from rejoinder.options import checked
from rejoinder.registry import SHIPPED
from rejoinder.scoring.score import ALL, choose
from rejoinder.show.document import NOT_LATEX, Block, Document, Facts, Result, Say
from rejoinder.types import Example

_SHOWN = 3
_LONGEST_SHOWN = 300
_MOST_SYSTEMS = 20


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
    missing: Mapping[str, tuple[str, ...]]
    """What no example has -> the metrics that need it."""
    first: tuple[Example, ...]
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
            "empty replies": f"{self.empty:,}",
            "duplicates": f"{self.duplicates:,} (same system, context and reply as an earlier example)",
            "scripts": ", ".join(f"{script}: {count:,}" for script, count in self.scripts.items()),
            "left out": f"{len(self.skipped):,} unreadable records" if self.skipped else "",
        }


@checked()
def check(origin: Any, *, fields: Fields | None = None, on_error: OnError = "raise", quiet: bool = True) -> DataCheck:
    """Read a file, a folder, a frame or a list of replies, and report what was understood and what is missing."""
    with closing(Source(origin, fields, on_error)) as source:
        seen = survey(source, quiet=quiet, digest=False)
        systems, scripts = Counter[str](), Counter[str]()
        contexts, dialogues, replies = set[int](), set[str](), set[bytes]()
        empty = 0
        first: list[Example] = []
        for example in source:
            systems[example.system] += 1
            scripts[_script(example.response)] += 1
            empty += not example.response.strip()
            replies.add(duplicate_key(example))
            if example.context:
                contexts.add(hash(example.context))
            if example.dialogue_id:
                dialogues.add(example.dialogue_id)
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
            _missing(seen.has),
            tuple(first),
            tuple(map(str, source.skipped.values())),
        )


def _missing(has: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """What no example has -> the metrics that need it."""
    needs = dict.fromkeys(SHIPPED, frozenset({"context"}))
    needs |= {label: frozenset(metric.needs) for label, metric in choose([ALL]).metrics.items()}
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

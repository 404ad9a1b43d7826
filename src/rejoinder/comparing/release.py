"""The scores of one release: a score file with metadata, whose rows also say which context they belong to.

No text is stored. A context is a hash of its `context_id`, else of context and references, as `compare` pairs replies;
a dialogue is a hash too. So the replies of a later release can be paired with these scores.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rejoinder.data.contexts import GroupFinder, pairing_key
from rejoinder.data.files import rows_of_file
from rejoinder.data.source import Source
from rejoinder.errors import CallError, DataError
from rejoinder.folders.outputs import temporary_beside
from rejoinder.scoring.run import LocalRun, judges_limited
from rejoinder.scoring.score import MetricChoice
from rejoinder.scoring.score_file import metadata_of, publish_scores, read_score_file
from rejoinder.scoring.table import ScoreTable
from rejoinder.types import Example


@dataclass(frozen=True)
class Release:
    """The scores of one release."""

    name: str
    recorded: str
    """When it was recorded: date and time in UTC, in ISO format."""
    table: ScoreTable
    contexts: Sequence[str]
    """A hash of each reply's context."""
    dialogues: Sequence[str]
    """A hash of each reply's dialogue; "" where it belongs to none."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()
    """Messages about records that could not be read and were skipped."""


def scored_release(
    source: Source, name: str, chosen: MetricChoice, *, max_cost: float | None = None, **settings: Any
) -> Release:
    """The release whose replies a source has, scored now; `settings` are those of a LocalRun."""
    keys = _KeyFinder()
    run = LocalRun.of(source, chosen, groups=lambda: keys, keep_ids=True, **settings)
    if len(run.seen.systems) > 1:
        found = ", ".join(run.seen.systems)
        raise CallError(f"{source.name} has the replies of several systems ({found}): a release is one system")
    with judges_limited(run.metrics.values(), max_cost, quiet=run.quiet):
        table = _named(run.score(), name)
    moment = datetime.now(UTC).isoformat(timespec="milliseconds")
    metadata = {**run.metadata(table), "release": name, "recorded": moment}
    skipped = tuple(map(str, source.skipped.values()))
    return Release(name, moment, table, keys.contexts, keys.labelled(), metadata, skipped)


def _named(table: ScoreTable, name: str) -> ScoreTable:
    """The table of one system under another name."""
    corpus = {label: {name: next(iter(systems.values()))} for label, systems in table.corpus.items()}
    doubts = {label: {name: next(iter(systems.values()))} for label, systems in table.doubts.items()}
    languages = dict.fromkeys([name], next(iter(table.languages.values()), {}))
    return replace(table, system_names=(name,), corpus=corpus, doubts=doubts, languages=languages)


class _KeyFinder(GroupFinder):
    """Finds groups as always, and keeps a hash of each example's context and dialogue."""

    def __init__(self) -> None:
        super().__init__()
        self.contexts: list[str] = []
        self._named: list[str] = []

    def add(self, examples: Iterable[Example]) -> None:
        """Take examples into account."""
        kept = list(examples)
        super().add(kept)
        self.contexts += [_hash(pairing_key(example)) for example in kept]
        self._named += [_hash(example.dialogue_id) if example.dialogue_id else "" for example in kept]

    def labelled(self) -> list[str]:
        """A label for each example's dialogue: that of its id, or where contexts continue each other the lowest hash
        among them, which is the same in every release that has the same contexts."""
        grouping = self.found()
        if any(self._named) or not grouping.found_by:
            return self._named
        lowest: dict[int, str] = {}
        for cluster, context in zip(grouping.clusters.tolist(), self.contexts, strict=True):
            lowest[cluster] = min(lowest.get(cluster, context), context)
        return [lowest[cluster] for cluster in grouping.clusters.tolist()]


def _hash(key: object) -> str:
    text = json.dumps(key, ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def write_release(release: Release, path: Path) -> None:
    """Write the scores and, next to them, their metadata."""
    columns = {label: column.tolist() for label, column in release.table.columns.items()}
    with temporary_beside(path) as rows:
        with rows.open("w", encoding="utf-8", newline="\n") as file:
            for place, (identifier, context, dialogue) in enumerate(
                zip(release.table.ids, release.contexts, release.dialogues, strict=True)
            ):
                scores = {
                    label: None if (value := column[place]) != value else value for label, column in columns.items()
                }
                keys = {"context_id": context, **({"dialogue_id": dialogue} if dialogue else {})}
                row = {"id": identifier, "system": release.name, **keys, "scores": scores}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        publish_scores(rows, path, release.metadata, tuple(columns))


def is_release(path: Path) -> bool:
    """Whether a score file is that of a release."""
    return isinstance(metadata_of(path)[0].get("release"), str)


def read_release(path: Path) -> Release:
    """The release that a file holds."""
    metadata = metadata_of(path)[0]
    name, recorded = metadata.get("release"), metadata.get("recorded")
    if not isinstance(name, str) or not isinstance(recorded, str):
        raise DataError("is not a release: expected a file that `rejoinder history --add` wrote", file=str(path))
    table = read_score_file(path)
    contexts: list[str] = []
    dialogues: list[str] = []
    for line, record in rows_of_file(path, str(path)):
        context, dialogue = _keys_of(record)
        if not isinstance(context, str) or not isinstance(dialogue, str):
            raise DataError("expected the hash of a context", file=str(path), line=line, field="context_id")
        contexts.append(context)
        dialogues.append(dialogue)
    if table.system_names != (name,):
        raise DataError(f"has other systems than {name!r}: expected the scores of one release", file=str(path))
    return Release(name, recorded, table, contexts, dialogues, metadata)


def _keys_of(record: Any) -> tuple[Any, Any]:
    """The context and the dialogue of a row; None where it has none."""
    return (record.get("context_id"), record.get("dialogue_id", "")) if isinstance(record, dict) else (None, None)

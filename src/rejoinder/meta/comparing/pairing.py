"""The examples of several sources as one, with system names that are unique."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rejoinder.data.source import Source
from rejoinder.data.survey import Survey, survey
from rejoinder.errors import CallError
from rejoinder.types import Example

FORMATS = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".pq")
"""Suffixes that are dropped from a file's name to get the system's."""


@dataclass(frozen=True)
class JoinedSources:
    """The examples of several sources one after the other, with system names that are unique over all sources."""

    sources: tuple[Source, ...]
    names: tuple[dict[str, str], ...]
    """One mapping per source: its name for a system -> the unique one."""

    def __iter__(self) -> Iterator[Example]:
        for source, names in zip(self.sources, self.names, strict=True):
            for example in source:
                yield replace(example, system=names[example.system])


def join_systems(
    origins: Sequence[Any], opened: Callable[[Sequence[Any]], Sequence[Source]], *, quiet: bool = True
) -> tuple[JoinedSources, Survey]:
    """The replies of at least two systems, from files, folders or collections.

    A folder or pattern of several files that name no system has one system per file.
    """
    joined, seen = join(opened(origins), labels_of(origins), quiet=quiet)
    files = [file for source in joined.sources for file in source.files]
    if len(origins) == 1 and len(files) > 1 and joined.names[0].keys() == {""}:
        names = list(map(str, files))
        joined, seen = join(opened(names), labels_of(names), quiet=quiet)
    check_several_systems(seen)
    return joined, seen


def join(sources: Sequence[Source], labels: Sequence[str], *, quiet: bool = True) -> tuple[JoinedSources, Survey]:
    """Several sources as one, checked, and a survey of them. A system keeps its name unless another source has it."""
    seen = [survey(source, quiet=quiet) for source in sources]
    names = unique_names([one.systems for one in seen], labels)
    systems = tuple(name for mapping in names for name in mapping.values())
    joined = Survey(
        count=sum(s.count for s in seen),
        digest=hashlib.blake2b("".join(s.digest for s in seen).encode(), digest_size=16).hexdigest(),
        has={need: sum(s.has[need] for s in seen) for need in seen[0].has},
        systems=systems,
    )
    return JoinedSources(tuple(sources), names), joined


def check_several_systems(seen: Survey) -> None:
    """Raise a CallError unless there are two systems or more."""
    if len(seen.systems) < 2:
        raise CallError(
            f"compare needs at least two systems, found only {seen.systems[0]!r}: expected one file per system, or a "
            "field such as `system` or `model` that names the system of each reply"
        )


def unique_names(systems: Sequence[Sequence[str]], labels: Sequence[str]) -> tuple[dict[str, str], ...]:
    """For each source, its name for a system -> a name that no other source has; the same one where possible."""
    names: list[dict[str, str]] = []
    for place, (own, label) in enumerate(zip(systems, labels, strict=True)):
        others = {system for other, each in enumerate(systems) if other != place for system in each}
        names.append({system: _free_name(system, label, system in others) for system in own})
    everything = [name for mapping in names for name in mapping.values()]
    if len(set(everything)) < len(everything):
        raise CallError(f"two systems would have the same name ({', '.join(everything)}): give them different names")
    return tuple(names)


def labels_of(origins: Sequence[object]) -> list[str]:
    """A name for each source: the file's without its suffix, else A, B, C ...; the whole path where two are equal."""
    labels = [
        _stem(str(origin)) if isinstance(origin, str | Path) else chr(ord("A") + place % 26)
        for place, origin in enumerate(origins)
    ]
    if len(set(labels)) < len(labels):
        labels = [
            str(origin) if isinstance(origin, str | Path) else label
            for origin, label in zip(origins, labels, strict=True)
        ]
    return labels


def _stem(path: str) -> str:
    """'runs/gpt-4.1.jsonl.gz' -> 'gpt-4.1'."""
    name = path if path == "-" else Path(path).name
    for suffix in (".gz", *FORMATS):
        name = name.removesuffix(suffix)
    return name or path


def _free_name(system: str, label: str, taken: bool) -> str:
    if not system:
        return label
    return f"{label}:{system}" if taken else system

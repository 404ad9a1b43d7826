"""Which replies belong to which system, and which are paired: from examples, or from scores of other tools."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.arrays import Texts
from rejoinder.data.contexts import GroupFinder, Grouping
from rejoinder.data.records import FIELDS, FieldError, FieldMap, as_list, is_missing, label_of
from rejoinder.data.results import result_rows
from rejoinder.data.source import Source, Survey, labels_of, refuse_lacking, survey
from rejoinder.errors import CallError, DataError, UnknownNameError, listed, shortened
from rejoinder.folders.outputs import paths_of
from rejoinder.options import OnError, fitting, one_or_more
from rejoinder.scoring.parts import PartsFolder, joined_parts
from rejoinder.scoring.reliability import Doubts
from rejoinder.scoring.score import MetricChoice, Metrics
from rejoinder.scoring.score_file import doubts_of, metadata_of, range_of
from rejoinder.scoring.table import ScoreTable, interval_columns
from rejoinder.types import Example

# Which replies belong to which system, and which are paired: from sources of examples, or from other tools' scores.


# The examples of several sources as one, with system names that are unique.


@dataclass(frozen=True)
class JoinedSources:
    """The examples of several sources one after the other, with system names that are unique over all sources."""

    sources: tuple[Source, ...]
    names: tuple[dict[str, str], ...]
    """One mapping per source: its name for a system -> the unique one."""

    @property
    def name(self) -> str:
        """The names of all sources."""
        return ", ".join(source.name for source in self.sources)

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are read; none for objects in memory."""
        return tuple(file for source in self.sources for file in source.files)

    @property
    def messages(self) -> tuple[str, ...]:
        """About the records that could not be read and were skipped."""
        return tuple(str(error) for source in self.sources for error in source.skipped.values())

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
    joined, seen = named_systems(origins, opened, quiet=quiet)
    if len(seen.systems) < 2:
        raise CallError(
            f"compare needs at least two systems, found only {seen.systems[0]!r}: expected one file per system, or a "
            "field such as `system` or `model` that names the system of each reply"
        )
    return joined, seen


def named_systems(
    origins: Sequence[Any], opened: Callable[[Sequence[Any]], Sequence[Source]], *, quiet: bool = True
) -> tuple[JoinedSources, Survey]:
    """The replies of some files, folders or collections, with the names that their systems have in a comparison."""
    joined, seen = join(opened(origins), labels_of(origins), quiet=quiet)
    if len(origins) == 1 and len(joined.files) > 1 and joined.names[0].keys() == {""}:
        names = list(map(str, joined.files))
        joined, seen = join(opened(names), labels_of(names), quiet=quiet)
    return joined, seen


def join(sources: Sequence[Source], labels: Sequence[str], *, quiet: bool = True) -> tuple[JoinedSources, Survey]:
    """Several sources as one, checked, and a survey of them. A system keeps its name unless another source has it."""
    seen = [survey(source, quiet=quiet, digest=False, others=True) for source in sources]
    lacking = set.intersection(*(set(one.lacking) for one in seen))
    refuse_lacking(sources[0].given.by, lacking, sources)
    names = unique_names([one.systems for one in seen], labels)
    count, earlier, has = 0, 0, Counter[str]()
    for one in seen:
        count, earlier = count + one.count, earlier + one.earlier
        has.update(one.has)
    systems = tuple(chain.from_iterable(map(dict.values, names)))
    joined = Survey(count, "", dict(has), systems, earlier=earlier)
    return JoinedSources(tuple(sources), names), joined


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


def _free_name(system: str, label: str, taken: bool) -> str:
    if not system:
        return label
    return f"{label}:{system}" if taken else system


# Numbers that exist already, such as human ratings, thumbs or another tool's results, as a table to compare.
#
# A table has one row per reply, or per rating of a reply: `id`, `system`, and columns of numbers. Rows of several
# systems with the same `context_id`, or without one the same id, are paired; another field may be named instead.
# Score files are such tables, and their metadata say which columns are better when lower.


_WORDS = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "up": 1.0, "down": 0.0}
"""Answers that count as numbers."""

_NOT_SCORES = {*FIELDS, "reference", "rater", "annotator"} - {"scores", "score"}


@dataclass(frozen=True, slots=True)
class _Row:
    """One row of a table: whose reply it is about, and what the other columns hold."""

    example: Example
    values: Mapping[str, Any]


class _TableSource(Source):
    """A source whose records need no texts; `columns` collects the numbers of their other fields."""

    def __init__(self, origin: Any, fields: FieldMap, on_error: OnError) -> None:
        super().__init__(origin, fields, on_error)
        self.columns: dict[str, array[float]] = {}
        self.not_numbers: set[str] = set()
        """Columns that hold something else somewhere."""
        self.count = 0

    def _example(self, record: Any, number: int) -> Example:
        if not isinstance(record, dict):
            raise FieldError("", "expected a row with id, system and numbers")
        row = _row_of(record, number, self.fields)
        for name in row.values:
            if name not in self.columns:
                self.columns[name] = array("d", [math.nan]) * self.count
        for name, column in self.columns.items():
            found = _number(as_list(row.values.get(name)))
            if found is None:
                self.not_numbers.add(name)
            column.append(math.nan if found is None else found)
        self.count += 1
        return row.example


def read_score_table(
    origin: Any,
    metrics: Metrics | MetricChoice | None,
    fields: FieldMap,
    pair_by: str | None,
    cluster: str | None,
    on_error: OnError,
    *,
    seed: int,
    resamples: int,
) -> tuple[ScoreTable, tuple[str, ...]]:
    """The table of a file, of other tools' result files or of a data frame, and messages about rows that were skipped.

    `metrics` may name the columns; without it, all that hold only numbers are taken.
    """
    folders = [path for path in paths_of(origin) if PartsFolder(path).exists]
    if folders:
        if len(folders) < len(paths_of(origin)) or pair_by is not None or cluster is not None:
            raise CallError("scores in parts are compared with each other, paired by context: expected only folders")
        return _parts_table(folders, metrics, seed=seed, resamples=resamples), ()
    results = result_rows(origin)
    finder, systems, codes, ids = GroupFinder(pair_by, cluster=cluster), dict[str, int](), array("i"), Texts()
    by_context = False
    with closing(_TableSource(origin if results is None else results, fields, on_error)) as source:
        if results is not None:
            source.name = listed([origin] if isinstance(origin, str | Path) else origin)
        for example in source:
            finder.add([example])
            by_context = by_context or bool(example.context_id)
            ids.append(example.id)
            codes.append(systems.setdefault(example.system, len(systems)))
    if len(systems) < 2:
        raise DataError("has only one system: expected at least two to compare", file=source.name)
    columns, notes = _numbers(source, _named(metrics))
    ours = results is None and str(origin) != "-"
    metadata = _metadata(source.files if ours else (), columns)
    known = {label: values for label, values in metadata["ranges"].items() if label in columns}
    table = ScoreTable(
        scores=columns,
        signatures={label: metadata["signatures"].get(label, label) for label in columns},
        system_names=tuple(systems),
        system_of=np.frombuffer(codes, np.int32),
        ids=ids,
        ranges={label: range_of(ends) for label, ends in known.items()},
        higher_is_better=metadata["higher_is_better"],
        notes=notes,
        doubts={label: systems for label, systems in metadata["doubts"].items() if label in columns},
        grouping=_of_items(finder.found()) if not by_context else finder.found(),
        seed=seed,
        resamples=resamples,
    )
    return table, tuple(map(str, source.skipped.values()))


def _metadata(files: Iterable[Path], columns: Collection[str]) -> dict[str, dict[str, Any]]:
    """What the metadata of the files say of their columns; CallError if a column was not computed in the same way."""
    found: dict[str, dict[str, Any]] = {"signatures": {}, "ranges": {}, "higher_is_better": {}}
    doubts: dict[str, Doubts] = {}
    said_by: dict[str, Path] = {}
    for file in files:
        metadata, _ = metadata_of(file)
        for label, signature in metadata.get("signatures", {}).items():
            if label in columns and label in said_by:
                check_equal_signatures(label, {said_by[label]: found["signatures"][label], file: signature})
            said_by.setdefault(label, file)
        for key, known in found.items():
            known |= metadata.get(key, {})
        for label, systems in doubts_of(metadata):
            doubts[label] = {**doubts.get(label, {}), **systems}
    return {**found, "doubts": doubts}


def check_equal_signatures(label: str, signatures: Mapping[Any, str]) -> None:
    """Raise a CallError unless two places (a file, a release) have the same signature of a metric."""
    (first, before), (second, after) = signatures.items()
    if before != after:
        raise CallError(
            f"{label} was not computed in the same way: {_difference(before, after)} in {first}, "
            f"{_difference(after, before)} in {second}; expected equal signatures, so score one of them again"
        )


def _difference(signature: str, other: str) -> str:
    """The first part of a signature that another does not have: "n:2"."""
    parts = [part for part in signature.split("|") if part not in other.split("|")]
    return shortened(parts[0] if parts else signature, 60)


def _parts_table(
    folders: Sequence[Path], metrics: Metrics | MetricChoice | None, *, seed: int, resamples: int
) -> ScoreTable:
    """The table of folders that `score --engine ray` wrote."""
    opened = [PartsFolder(path) for path in folders]
    names = unique_names([folder.complete().systems for folder in opened], labels_of(folders))
    table = joined_parts(opened, names)
    if len(table.system_names) < 2:
        raise DataError("has only one system: expected at least two to compare", file=str(folders[0]))
    named = _named(metrics)
    for name in named or ():
        if name not in table.scores:
            raise UnknownNameError(f"column of {folders[0]}:", name, table.scores)
    scores = table.scores if named is None else {name: table.scores[name] for name in named}
    return replace(table, scores=scores, known_bounds={}, seed=seed, resamples=resamples)


def _of_items(found: Grouping) -> Grouping:
    """The same groups, where rows are paired by their ids: what was rated may be anything."""
    return replace(found, paired_by="item", unit="item" if found.unit == "context" else found.unit)


def _named(metrics: Metrics | MetricChoice | None) -> list[str] | None:
    """The names of the columns that were asked for."""
    if metrics is None:
        return None
    names: list[str] = fitting("metrics", metrics, one_or_more("the names of columns of the scores"))
    if not names or len(set(names)) < len(names):
        raise CallError("metrics must name one or more different columns of the scores")
    return names


def _row_of(record: dict[str, Any], number: int, fields: FieldMap) -> _Row:
    """Whose reply a record is about, and what its other columns hold; `scores` may hold several names with numbers."""
    identifier, system, context, dialogue = (
        label_of(_present(record.get(fields.of(name))), fields.of(name))
        for name in ("id", "system", "context_id", "dialogue_id")
    )
    if not system:
        found = listed(record) or "no fields"
        raise FieldError(fields.of("system"), f"is missing: expected the system's name, found {found}")
    if not identifier and not context:
        raise FieldError(fields.of("id"), "is missing: rows of several systems are paired by id")
    taken = _NOT_SCORES | {fields.of(name) for name in _NOT_SCORES & set(fields.names)}
    values = {str(name): value for name, value in record.items() if name not in taken}
    several = values.get(fields.of("scores"))
    if isinstance(several, dict):
        del values[fields.of("scores")]
        values |= {str(name): value for name, value in several.items()}
    return _Row(
        Example(identifier or str(number), (), "", system=system, context_id=context, dialogue_id=dialogue), values
    )


def _present(value: Any) -> Any:
    return None if is_missing(value) else value


def _numbers(source: _TableSource, named: list[str] | None) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The columns to compare, and which those are and which were left out."""
    found = {name: np.frombuffer(values) for name, values in source.columns.items()}
    bounds = {bound for name in found for bound in interval_columns(name)}
    usable = {
        name: column
        for name, column in found.items()
        if name not in source.not_numbers and name not in bounds and not np.isnan(column).all()
    }
    if named is not None:
        for name in named:
            if name not in source.columns:
                raise UnknownNameError(f"column of {source.name}:", name, source.columns)
            if name not in usable:
                raise DataError("expected only numbers", file=source.name, field=name)
        return {name: usable[name] for name in named}, ()
    if not usable:
        raise DataError(f"has no column of numbers: found {listed(source.columns)}", file=source.name)
    left_out = [name for name in found if name not in usable and name not in bounds]
    notes = [f"compared columns of {source.name}: {', '.join(usable)}; higher is taken as better"]
    if left_out:
        notes.append(f"left out {', '.join(left_out)}: not only numbers")
    return usable, tuple(notes)


def _number(value: Any) -> float | None:
    """The number in a cell (of several ratings, their mean); NaN where it is empty, None where it holds text."""
    if value is None or value == "" or is_missing(value):
        return math.nan
    if isinstance(value, list | tuple):
        ratings = [_number(item) for item in value]
        known = [rating for rating in ratings if rating is not None and not math.isnan(rating)]
        return None if None in ratings else float(np.mean(known)) if known else math.nan
    if isinstance(value, str) and value.strip().lower() in _WORDS:
        return _WORDS[value.strip().lower()]
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None

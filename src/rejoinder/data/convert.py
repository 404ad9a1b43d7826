"""A file of any tool to a file in our own format."""

from __future__ import annotations

import csv
import glob
import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from rejoinder.data.records import Fields
from rejoinder.data.source import Source, survey
from rejoinder.data.tables import write_sheet
from rejoinder.folders.outputs import Output, output_path, replacing, replacing_file, reserved, temporary_beside
from rejoinder.options import FIELDS_OPTION, REPLIES_OPTION, OnError, Option, Quiet, Seed, UnitOption, path, verb, whole
from rejoinder.show.document import Block, Document, Facts, Result, Say
from rejoinder.types import Example

# A file of any tool to a file in our own format, from Python.


@dataclass(frozen=True, repr=False)
class Conversion(Result):
    """What was written."""

    output: str
    read: int
    """Examples in the input."""
    written: int
    duplicates: int
    """Examples left out because an earlier one had the same system, context and response."""
    skipped: tuple[str, ...] = ()
    """Records that could not be read, each with the reason."""

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        names = ("output", "read", "written", "duplicates")
        return {**{name: getattr(self, name) for name in names}, "skipped": list(self.skipped)}

    def document(self) -> Document:
        """How many examples were written, and why others were not."""
        sampled = self.read - self.duplicates - self.written
        reasons = [f"{self.duplicates:,} duplicates"] * bool(self.duplicates)
        reasons += [f"{sampled:,} not in the sample"] * bool(sampled)
        left_out = f" (left out: {', '.join(reasons)})" if reasons else ""
        said = f"{self.output}: {self.written:,} of {self.read:,} examples{left_out}"
        counts = {
            "read": self.read,
            "written": self.written,
            "duplicates": self.duplicates,
            "not in the sample": sampled,
        }
        blocks: list[Block] = [Say([said], fit=False), Facts(counts, only=("latex", "html"))]
        return Document(f"Conversion into {Path(self.output).name}", blocks)


class _RatedSource(Source):
    """A source that also remembers the ratings and the split of the example that was read last."""

    extra: Mapping[str, Any]

    def _example(self, record: Any, number: int) -> Example:
        names = {name: self.fields.of(name) for name in ("scores", "split")}
        found = record if isinstance(record, dict) else {}
        self.extra = {name: found[theirs] for name, theirs in names.items() if found.get(theirs) is not None}
        return super()._example(record, number)


@verb
def convert(
    replies: Annotated[Any, REPLIES_OPTION],
    output: Annotated[
        str | Path,
        Option("the file to write: .jsonl, .csv, .parquet or .xlsx", path, short="-o", name="--output", metavar="FILE"),
    ],
    *,
    unit: UnitOption = "reply",
    every_turn: Annotated[bool, Option("the same as unit='turn'", shown=False)] = False,
    drop_duplicates: Annotated[
        bool, Option("keep one of all examples with the same system, context and reply")
    ] = False,
    sample: Annotated[
        int | None,
        Option(
            "keep N dialogues, chosen at random; the examples of a dialogue (or of one context) stay together",
            whole(1),
            metavar="N",
        ),
    ] = None,
    fields: Annotated[Fields | None, FIELDS_OPTION] = None,
    on_error: OnError = "raise",
    seed: Seed = 0,
    quiet: Quiet = True,
) -> Conversion:
    """Write the examples of a file, a folder, a data frame or a list to `output`: .jsonl, .csv, .parquet or .xlsx.

    With `unit="turn"` (or `every_turn`) each assistant message of a chat is an example, instead of the last one.
    `drop_duplicates` keeps one of all examples with the same system, context and response. `sample` is a number of
    dialogues to choose at random; all examples of a dialogue (with one `dialogue_id`, else with one context) are kept
    together.
    """
    target = output_path(output)
    unit = "turn" if every_turn else unit
    with ExitStack() as stack:
        source = stack.enter_context(closing(_RatedSource(replies, fields, on_error, unit=unit)))
        stack.enter_context(reserved(Output(target, SUFFIXES), reads=source.files))
        count = survey(source, quiet=quiet, digest=False).count

        def kept() -> Iterator[Example]:
            return without_duplicates(source) if drop_duplicates else iter(source)

        chosen = None if sample is None else sampled_dialogues(kept(), sample, seed)
        tally = {"kept": 0, "written": 0}

        def records() -> Iterator[dict[str, Any]]:
            for example in kept():
                tally["kept"] += 1
                if chosen is None or dialogue_rank(example, seed) in chosen:
                    tally["written"] += 1
                    yield example_record(example, source.extra)

        write_records(target, records())
        skipped = tuple(map(str, source.skipped.values()))
    return Conversion(str(target), count, tally["written"], count - tally["kept"], skipped)


# Fewer examples: repeated replies left out, and whole dialogues chosen at random.
#
# A dialogue is in the sample if the hash of its name and the seed is one of the lowest. So the choice depends neither
# on the order of the examples nor on how many there are of each dialogue, and takes eight bytes of memory per
# example.


def without_duplicates(examples: Iterable[Example]) -> Iterator[Example]:
    """The first of all examples with the same system, context and response."""
    seen: set[bytes] = set()
    for example in examples:
        key = duplicate_key(example)
        if key not in seen:
            seen.add(key)
            yield example


def duplicate_key(example: Example) -> bytes:
    """A hash of system, context and response."""
    return _hash(example.system, *example.context, example.response, size=16)


def sampled_dialogues(examples: Iterable[Example], count: int, seed: int) -> set[int]:
    """The ranks of the dialogues that are in the sample."""
    ranks = array("Q", (dialogue_rank(example, seed) for example in examples))
    different = np.unique(np.frombuffer(ranks, np.uint64)) if ranks else np.empty(0, np.uint64)
    return set(different[:count].tolist())


def dialogue_rank(example: Example, seed: int) -> int:
    """A random number that all examples of a dialogue share: those with one `dialogue_id`, else one context."""
    key: tuple[str, ...]
    if example.dialogue_id or example.context_id:
        key = ("id", example.dialogue_id or example.context_id)
    elif example.context:
        key = ("context", *example.context)
    else:
        key = ("example", example.id)
    return int.from_bytes(_hash(str(seed), *key, size=8), "big")


def _hash(*texts: str, size: int) -> bytes:
    joined = "\0".join(texts)  # no text contains a NUL character
    return blake2b(joined.encode(), digest_size=size).digest()


# Examples to files that can be read again. Texts are written as they are, also to .csv.
#
# Lists and ratings are JSON in the formats that have none. The file appears when it is complete.


SUFFIXES = (".jsonl", ".csv", ".parquet", ".xlsx")

ConvertedRecord = Mapping[str, Any]

_LISTS = ("context", "speakers", "references")
_COLUMNS = ("id", "system", "dialogue_id", "context_id", *_LISTS, "response", "scores", "split")


def example_record(example: Example, extra: ConvertedRecord | None = None) -> dict[str, Any]:
    """The fields that the example has, in the order of the columns, then those of `extra`."""
    values = {name: getattr(example, name, None) for name in _COLUMNS}
    found = {name: list(value) if name in _LISTS else value for name, value in values.items() if value}
    return {**found, "response": example.response, **(extra or {})}


def write_records(path: Path, records: Iterable[ConvertedRecord]) -> None:
    """Write records in the format of the file's suffix."""
    if path.suffix == ".jsonl":
        with replacing(path) as file:
            file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    elif path.suffix == ".csv":
        with replacing(path) as file:
            csv.writer(file, lineterminator="\n").writerows(chain([_COLUMNS], _cells(records)))
    else:
        write = _write_parquet if path.suffix == ".parquet" else _write_xlsx
        with replacing_file(path) as temporary:
            write(temporary, records)


def _cells(records: Iterable[ConvertedRecord]) -> Iterator[list[str]]:
    for record in records:
        values = (record.get(name, "") for name in _COLUMNS)
        yield [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in values]


def write_sheet_of(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, str]]) -> None:
    """Write rows for people to read in a spreadsheet: .xlsx, or .csv with the mark by which Excel knows UTF-8."""
    cells = ([row[name] for name in columns] for row in rows)
    if path.suffix == ".csv":
        with replacing(path) as file:
            file.write("\ufeff")
            csv.writer(file, lineterminator="\n").writerows(chain([columns], cells))
    else:
        with replacing_file(path) as temporary:
            write_sheet(temporary, columns, cells)


def _write_xlsx(path: Path, records: Iterable[ConvertedRecord]) -> None:
    write_sheet(path, _COLUMNS, _cells(records))


def _write_parquet(path: Path, records: Iterable[ConvertedRecord]) -> None:
    import polars as pl

    schema: dict[str, Any] = {name: pl.List(pl.String) if name in _LISTS else pl.String for name in _COLUMNS}
    with temporary_beside(path) as lines:
        with lines.open("w", encoding="utf-8", newline="\n") as file:
            for record in records:
                scores = {"scores": json.dumps(record["scores"])} if "scores" in record else {}
                file.write(json.dumps({**record, **scores}, ensure_ascii=False) + "\n")
        # A file name is not a pattern, even if it contains a bracket.
        pl.scan_ndjson(glob.escape(str(lines)), schema=schema).sink_parquet(path)

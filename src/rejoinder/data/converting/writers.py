"""Examples to files that can be read again. Texts are written as they are, also to .csv.

Lists and human scores are JSON in the formats that have none. The file appears when it is complete.
"""

from __future__ import annotations

import csv
import glob
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from rejoinder.data.formats.workbooks import write_sheet
from rejoinder.output.writing import replacing, replacing_file, temporary_beside
from rejoinder.types import Example

SUFFIXES = (".jsonl", ".csv", ".parquet", ".xlsx")

Record = Mapping[str, Any]

_LISTS = ("context", "speakers", "references")
_COLUMNS = ("id", "system", "dialogue_id", "context_id", *_LISTS, "response", "scores", "split")


def example_record(example: Example, extra: Record | None = None) -> dict[str, Any]:
    """The fields that the example has, in the order of the columns, then those of `extra`."""
    values = {name: getattr(example, name, None) for name in _COLUMNS}
    found = {name: list(value) if name in _LISTS else value for name, value in values.items() if value}
    return {**found, "response": example.response, **(extra or {})}


def write_records(path: Path, records: Iterable[Record]) -> None:
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


def _cells(records: Iterable[Record]) -> Iterator[list[str]]:
    for record in records:
        values = (record.get(name, "") for name in _COLUMNS)
        yield [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in values]


def _write_xlsx(path: Path, records: Iterable[Record]) -> None:
    write_sheet(path, _COLUMNS, _cells(records))


def _write_parquet(path: Path, records: Iterable[Record]) -> None:
    import polars as pl

    schema: dict[str, Any] = {name: pl.List(pl.String) if name in _LISTS else pl.String for name in _COLUMNS}
    with temporary_beside(path) as lines:
        with lines.open("w", encoding="utf-8", newline="\n") as file:
            for record in records:
                scores = {"scores": json.dumps(record["scores"])} if "scores" in record else {}
                file.write(json.dumps({**record, **scores}, ensure_ascii=False) + "\n")
        # A file name is not a pattern, even if it contains a bracket.
        pl.scan_ndjson(glob.escape(str(lines)), schema=schema).sink_parquet(path)

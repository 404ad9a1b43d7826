"""Parts of files that are read from the middle: the same examples as in one pass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rejoinder.data.source import Source, survey
from rejoinder.data.spans import SpanFinder, SpanReader
from rejoinder.errors import CallError, DataError
from rejoinder.options import OnError
from rejoinder.types import Example

ROWS = [{"response": f"reply {n} öß 好", "context": ["hi"], "system": "AB"[n % 2]} for n in range(25)]


def in_spans(source: Source, size: int) -> list[Example]:
    """All examples, read span by span; each span must equal its part of the source."""
    finder = SpanFinder(source, size // 2 or 1)
    seen = survey(source, visitor=finder)
    spans, reader = finder.found(size), SpanReader.of(source)
    assert [span.first for span in spans] == list(range(0, seen.count, size))
    assert sum(span.count for span in spans) == seen.count
    found = [example for span in reversed(spans) for example in reversed(reader.read(span))]
    found.reverse()
    rows = [0, seen.count // 2, seen.count - 1]
    assert reader.take(spans, rows) == {row: found[row] for row in rows}
    return found


def lines(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def json_lines(folder: Path) -> Path:
    return lines(folder / "replies.jsonl", ROWS)


def parquet(folder: Path) -> Path:
    pl.DataFrame(ROWS).write_parquet(folder / "replies.parquet", row_group_size=7)
    return folder / "replies.parquet"


def parts_of_both_kinds(folder: Path) -> Path:
    parts = folder / "parts"
    parts.mkdir()
    lines(parts / "a.jsonl", ROWS[:9])
    pl.DataFrame(ROWS[9:12]).write_parquet(parts / "b.parquet")
    lines(parts / "c.jsonl", ROWS[12:])
    return parts


def blank_lines_and_a_byte_order_mark(folder: Path) -> Path:
    return lines(folder / "replies.jsonl", ["\ufeff", *(item for row in ROWS for item in (row, "\n"))])


def pages_of_an_export(folder: Path) -> Path:
    """Several records on each line."""
    traces = [{"id": str(n), "input": f"question {n}", "output": f"answer {n}", "traceId": "t"} for n in range(24)]
    pages = [{"data": traces[start : start + 5], "meta": {"page": 1}} for start in range(0, 24, 5)]
    return lines(folder / "export.jsonl", pages)


SOURCES = [json_lines, parquet, parts_of_both_kinds, blank_lines_and_a_byte_order_mark, pages_of_an_export]


@pytest.mark.parametrize("size", [1, 4, 10, 100])
@pytest.mark.parametrize("make", SOURCES, ids=lambda make: make.__name__)
def test_spans_are_the_whole(make: Any, size: int, tmp_path: Path) -> None:
    source = Source(make(tmp_path))
    assert in_spans(source, size) == list(source)


BAD = ["{not json\n", {"context": ["no reply"]}, {"response": 5, "context": [1]}]


@pytest.mark.parametrize("size", [1, 4, 8])
def test_records_that_were_left_out_stay_out(size: int, tmp_path: Path) -> None:
    repeated = {"id": "seven", "system": "B", "response": "twice"}
    rows = [
        *BAD[:1],
        *ROWS[:8],
        *BAD[1:],
        {"id": "seven", "system": "B", "response": "once"},
        *ROWS[8:],
        repeated,
        *BAD,
    ]
    skip: OnError = "skip"
    source = Source(lines(tmp_path / "replies.jsonl", rows), on_error=skip)
    found = in_spans(source, size)
    assert found == list(source)
    assert len(found) == len(ROWS) + 1


def test_a_file_that_changed_is_noticed(tmp_path: Path) -> None:
    path = json_lines(tmp_path)
    source = Source(path)
    finder = SpanFinder(source, 10)
    survey(source, visitor=finder)
    reader, spans = SpanReader.of(source), finder.found(10)
    lines(path, [*ROWS[:12], {**ROWS[12], "response": "reply 99 öß 好"}, *ROWS[13:]])
    assert len(reader.read(spans[0])) == 10
    with pytest.raises(DataError, match="changed while it was read"):
        reader.read(spans[1])
    lines(path, ROWS[:22])
    with pytest.raises(DataError, match="changed while it was read"):
        reader.read(spans[2])


def test_files_that_cannot_be_read_from_the_middle(tmp_path: Path) -> None:
    for name in ("replies.csv", "replies.json", "replies.jsonl.gz"):
        (tmp_path / name).write_text("response\nhi\n")
        with pytest.raises(CallError, match=rf"{name} cannot be read in parts: expected .parquet, .pq, .jsonl"):
            SpanFinder(Source(tmp_path / name), 10)
    (tmp_path / "array.jsonl").write_text('[{"response": "hi"}]')
    with pytest.raises(CallError, match=r"array.jsonl cannot be read in parts"):
        SpanFinder(Source(tmp_path / "array.jsonl"), 10)
    with pytest.raises(CallError, match="<list> cannot be read in parts"):
        SpanFinder(Source([{"response": "hi"}]), 10)


def test_named_fields_may_be_missing_in_a_span(tmp_path: Path) -> None:
    rows = [{"answer": f"reply {n}", **({"note": {"bot": "A"}} if n < 3 else {})} for n in range(9)]
    source = Source(lines(tmp_path / "replies.jsonl", rows), {"response": "answer", "system": "note.bot"})
    assert in_spans(source, 4) == list(source)

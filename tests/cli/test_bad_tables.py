"""A bad row or header of a CSV file gets one line with file, line and what was expected, and exit code 2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from running import Run

CSV_LINES = {
    "too many cells": ("b,x,y", "has 3 cells: expected 2, as in the header"),
    "too few cells": ("b", "has 1 cells: expected 2, as in the header"),
    "text after a quote": ('b,"x"y', "is not valid CSV (',' expected after '\"'): expected quotes in pairs"),
    "a NUL": ("b,x\x00y", "contains a NUL byte: expected UTF-8 text"),
    "a Latin-1 letter": ("b,caf\udce9", "is not valid UTF-8 (byte 0xe9 at position 6): expected UTF-8 text"),
}


def ids_in(path: Path) -> list[str]:
    return [json.loads(line)["id"] for line in path.read_text().splitlines()]


@pytest.mark.parametrize(("row", "problem"), CSV_LINES.values(), ids=CSV_LINES)
def test_a_bad_row_of_a_table(row: str, problem: str, run: Run, tmp_path: Path) -> None:
    text = f"id,response\na,hi\n{row}\nc,yo\nd,hey\n"
    (tmp_path / "bad.csv").write_bytes(text.encode("utf-8", "surrogateescape"))
    ran = run("score", "bad.csv")
    assert (ran.code, ran.err) == (2, f"rejoinder: bad.csv:3: {problem}\n")
    ran = run("score", "bad.csv", "-m", "length", "--on-error", "skip", "--json", "-o", "scores.jsonl")
    assert ran.json["skipped"] == [f"bad.csv:3: {problem}"]
    assert ids_in(tmp_path / "scores.jsonl") == ["a", "c", "d"]


def test_a_quote_that_is_never_closed_is_named_where_it_opens(run: Run, tmp_path: Path) -> None:
    (tmp_path / "open.csv").write_text('id,response\na,hi\nb,"yo\nc,hey\nd,ho\n')
    problem = "is not valid CSV (unexpected end of data): expected quotes in pairs"
    for more in ([], ["--on-error", "skip"]):  # how many rows are inside the cell is unknown
        ran = run("score", "open.csv", *more)
        assert (ran.code, ran.err) == (2, f"rejoinder: open.csv:3: {problem}\n")


# A record that spans lines 3 to 6, with lines inside a quoted cell that would be rows of their own.
CELL_WITH_ROWS = b'id,response\na,hi\nb,"one %s\nx,two\ny,three %s\nz,four"\nc,yo\n'
NOT_UTF8 = "is not valid UTF-8 (byte 0xe9 at position {}): expected UTF-8 text"


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (CELL_WITH_ROWS % (b"caf\xe9", b""), 3, NOT_UTF8.format(11)),
        (CELL_WITH_ROWS % (b"", b"caf\xe9"), 5, NOT_UTF8.format(12)),
        (CELL_WITH_ROWS % (b"caf\xe9", b"caf\xe9"), 3, NOT_UTF8.format(11)),
        (CELL_WITH_ROWS % (b"a \x00", b""), 3, "contains a NUL byte: expected UTF-8 text"),
        (CELL_WITH_ROWS % (b'""quoted"" caf\xe9', b'"" \xe9""'), 3, NOT_UTF8.format(22)),
        (CELL_WITH_ROWS.replace(b'four"', b'four"!') % (b"", b""), 3, CSV_LINES["text after a quote"][1]),
        (CELL_WITH_ROWS.replace(b'four"', b'four",more') % (b"", b""), 3, CSV_LINES["too many cells"][1]),
    ],
)
def test_no_row_is_made_from_the_text_of_a_bad_one(
    content: bytes, line: int, problem: str, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "cell.csv").write_bytes(content)
    ran = run("score", "cell.csv", "-m", "length", "--on-error", "skip", "--json", "-o", "scores.jsonl")
    assert ran.json["skipped"] == [f"cell.csv:{line}: {problem}"]
    assert ids_in(tmp_path / "scores.jsonl") == ["a", "c"]


@pytest.mark.parametrize(
    "row",
    [
        b'b,"x"y,"one\nz,two"',
        b'b,"x" "one\nz,two\ny,three"',
        b'b,"caf\xe9"y,"one\nz,two"',
    ],
)
def test_a_bad_row_without_a_clear_end_cannot_be_skipped(row: bytes, run: Run, tmp_path: Path) -> None:
    (tmp_path / "unclear.csv").write_bytes(b"id,response\na,hi\n" + row + b"\nc,yo\n")
    for more in ([], ["--on-error", "skip"]):
        ran = run("score", "unclear.csv", "-m", "length", *more)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith("rejoinder: unclear.csv:3: is not valid ")


def test_a_line_that_is_too_long_cannot_be_skipped_in_a_table(run: Run, tmp_path: Path) -> None:
    # Whether a quoted cell opens or closes in it is not known.
    (tmp_path / "long.csv").write_text("id,response\na,hi\nb," + "x" * 5_000_000 + "\nc,yo\n")
    for more in ([], ["--on-error", "skip"]):
        ran = run("score", "long.csv", "-m", "length", *more)
        problem = "is longer than 4 MiB: expected one example per line"
        assert (ran.code, ran.err) == (2, f"rejoinder: long.csv:3: {problem}\n")


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        (b"id,response,id", "names the column 'id' twice: expected unique names"),
        (b'id,"resp"onse', "is not valid CSV (',' expected after '\"'): expected quotes in pairs"),
        (b"id,r\xe9ponse", "is not valid UTF-8 (byte 0xe9 at position 5): expected UTF-8 text"),
    ],
)
def test_a_bad_header_cannot_be_skipped(header: bytes, problem: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_bytes(header + b"\n1,hi,1\n2,yo,2\n")
    for more in ([], ["--on-error", "skip"]):
        ran = run("score", "bad.csv", *more)
        assert (ran.code, ran.err) == (2, f"rejoinder: bad.csv:1: {problem}\n")


@pytest.mark.parametrize("length", [200_000, 4_000_000])
def test_a_long_cell_is_read(length: int, run: Run, tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text(f"id,response\na,{'x' * length}\n")
    ran = run("score", "long.csv", "-m", "length", "--json")
    assert (ran.code, ran.json["examples"]) == (0, 1), ran.err


def test_a_cell_that_is_too_long_is_named_where_it_opens_and_cannot_be_skipped(run: Run, tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text('id,response\na,hi\nb,"' + ("x" * 1000 + "\n") * 5000 + '"\nc,yo\n')
    problem = "has a cell longer than 4 MiB: expected one row per example, paired quotes"
    for more in ([], ["--on-error", "skip"]):
        ran = run("score", "long.csv", "-m", "length", *more)
        assert (ran.code, ran.err) == (2, f"rejoinder: long.csv:3: {problem}\n")


def test_a_table_with_another_delimiter_shows_what_was_found(run: Run, tmp_path: Path) -> None:
    (tmp_path / "european.csv").write_text("id;response\n1;hi\n")
    problem = "field 'response': is missing: expected the reply as a string, found id;response"
    assert run("score", "european.csv").err == f"rejoinder: european.csv:2: {problem}\n"

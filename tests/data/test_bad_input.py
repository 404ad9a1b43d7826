"""Every kind of bad input gets one line with file, line, field and what was expected, and exit code 2."""

from __future__ import annotations

import errno
import gzip
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

if TYPE_CHECKING:
    from conftest import Run

GOOD = b'{"id": "good", "response": "Hello there."}\n'

# Lines of JSON that hold no example -> what is said of each, after the file's name and the line's number.
BAD_LINES: dict[str, tuple[bytes, str]] = {
    "broken JSON": (
        b'{"response": "hi"',
        "is not valid JSON (Expecting ',' delimiter at column 18): expected one object per line",
    ),
    "not JSON": (b"hello", "is not valid JSON (Expecting value at column 1): expected one object per line"),
    "two objects": (
        b'{"response": "a"}{"response": "b"}',
        "is not valid JSON (Extra data at column 18): expected one object per line",
    ),
    "a list": (b'["hi"]', "expected an object with fields, found a list"),
    "a string": (b'"hi"', "expected an object with fields, found a string"),
    "a number": (b"3", "expected an object with fields, found a number"),
    "null": (b"null", "expected an object with fields, found null"),
    "no response": (
        b'{"id": "1", "reply": "hi"}',
        "field 'response': is missing: expected the reply as a string, found id, reply",
    ),
    "an empty object": (b"{}", "field 'response': is missing: expected the reply as a string, found no fields"),
    "null response": (
        b'{"response": null}',
        "field 'response': is missing: expected the reply as a string, found response",
    ),
    "response a number": (b'{"response": 5}', "field 'response': expected a string, found a number"),
    "response a list": (b'{"response": ["hi"]}', "field 'response': expected a string, found a list"),
    "response an object": (b'{"response": {"text": "hi"}}', "field 'response': expected a string, found an object"),
    "response true": (b'{"response": true}', "field 'response': expected a string, found true or false"),
    "context a number": (
        b'{"response": "hi", "context": 5}',
        "field 'context': expected a list of strings, found a number",
    ),
    "context an object": (
        b'{"response": "hi", "context": {"a": "b"}}',
        "field 'context': expected a list of strings, found an object",
    ),
    "context of objects": (
        b'{"response": "hi", "context": ["a", {"text": "b"}]}',
        "field 'context[1]': expected a string, found an object",
    ),
    "context with null": (
        b'{"response": "hi", "context": [null]}',
        "field 'context[0]': expected a string, found null",
    ),
    "references of numbers": (
        b'{"response": "hi", "references": ["a", 2]}',
        "field 'references[1]': expected a string, found a number",
    ),
    "references a number": (
        b'{"response": "hi", "references": 2}',
        "field 'references': expected a list of strings, found a number",
    ),
    "reference an object": (
        b'{"response": "hi", "reference": {}}',
        "field 'reference': expected a list of strings, found an object",
    ),
    "id a list": (
        b'{"response": "hi", "id": ["1"]}',
        "field 'id': expected a string or a whole number, found a list",
    ),
    "id a fraction": (
        b'{"response": "hi", "id": 1.5}',
        "field 'id': expected a string or a whole number, found a number",
    ),
    "id true": (
        b'{"response": "hi", "id": true}',
        "field 'id': expected a string or a whole number, found true or false",
    ),
    "system an object": (
        b'{"response": "hi", "system": {}}',
        "field 'system': expected a string or a whole number, found an object",
    ),
    "context_id a list": (
        b'{"response": "hi", "context_id": []}',
        "field 'context_id': expected a string or a whole number, found a list",
    ),
    "speakers a number": (
        b'{"response": "hi", "context": ["a"], "speakers": 1}',
        "field 'speakers': expected a list of strings, found a number",
    ),
    "too few speakers": (
        b'{"response": "hi", "context": ["a", "b"], "speakers": ["A"]}',
        "field 'speakers': expected one label per context turn (2), found 1",
    ),
    "messages a string": (b'{"messages": "hi"}', "field 'messages': expected a list of messages, found a string"),
    "a message a string": (
        b'{"messages": ["hi"]}',
        "field 'messages[0]': expected an object with 'role' and 'content'",
    ),
    "a message without content": (
        b'{"messages": [{"role": "user", "text": "hi"}]}',
        "field 'messages[0]': expected an object with 'role' and 'content'",
    ),
    "a message of a number": (
        b'{"messages": [{"role": "user", "content": 1}]}',
        "field 'messages[0].content': expected a string, found a number",
    ),
    "a message of odd parts": (
        b'{"messages": [{"role": "assistant", "content": [{"type": "text", "text": 7}]}]}',
        "field 'messages[0].content[0]': expected a string, found a number",
    ),
    "messages without a reply": (
        b'{"messages": [{"role": "user", "content": "hi"}]}',
        "field 'messages': has no assistant message: expected the last one to be the reply",
    ),
    "invalid UTF-8": (
        b'{"response": "caf\xe9"}',
        "is not valid UTF-8 (byte 0xe9 at position 18): expected UTF-8 text",
    ),
    "a lone surrogate": (
        b'{"response": "hi", "context": ["ok \\ud83d"]}',
        "field 'context[0]': contains a lone surrogate at character 3: expected text",
    ),
    "a surrogate in the id": (
        b'{"response": "hi", "id": "\\udc00"}',
        "field 'id': contains a lone surrogate at character 0: expected text",
    ),
    "a raw NUL": (b'{"response": "a\x00b"}', "contains a NUL byte: expected UTF-8 text"),
    "an escaped NUL": (b'{"response": "a\\u0000b"}', "field 'response': contains a NUL character: expected text"),
    "10 MB": (
        b'{"response": "' + b"a" * 10_000_000 + b'"}',
        "is longer than 4 MiB: expected one example per line",
    ),
}


def ids_in(path: Path) -> list[str]:
    return [json.loads(line)["id"] for line in path.read_text().splitlines()]


@pytest.mark.parametrize(("line", "problem"), BAD_LINES.values(), ids=BAD_LINES)
def test_a_bad_line_is_told_on_one_line_and_nothing_is_written(
    line: bytes, problem: str, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "bad.jsonl").write_bytes(GOOD + line + b"\n" + GOOD.replace(b"good", b"last"))
    ran = run("score", "bad.jsonl", "-o", "scores.jsonl", "-m", "length")
    assert (ran.code, ran.out, ran.err) == (2, "", f"rejoinder: bad.jsonl:2: {problem}\n")
    assert os.listdir(tmp_path) == ["bad.jsonl"]


@pytest.mark.parametrize(("line", "problem"), BAD_LINES.values(), ids=BAD_LINES)
def test_a_bad_line_is_skipped_counted_and_listed(line: bytes, problem: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_bytes(GOOD + line + b"\n" + GOOD.replace(b"good", b"last"))
    ran = run("score", "bad.jsonl", "-m", "length", "--on-error", "skip", "-o", "scores.jsonl", "--json")
    assert ran.code == 0
    assert f"left out 1 unreadable example:\n  bad.jsonl:2: {problem}\n" in ran.err
    assert ran.json["skipped"] == [f"bad.jsonl:2: {problem}"]
    assert ids_in(tmp_path / "scores.jsonl") == ["good", "last"]


def test_deep_nesting_is_not_followed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "deep.jsonl").write_bytes(b'{"response": "hi", "extra": ' + b"[" * 200_000 + b"]" * 200_000 + b"}\n")
    ran = run("score", "deep.jsonl")
    assert ran.code == 2
    assert ran.err.startswith("rejoinder: deep.jsonl:1: is not usable JSON (")  # Python's own words for it follow
    assert ran.err.endswith("): expected one object per line\n")
    assert ran.err.count("\n") == 1


def test_deep_nesting_within_a_string_is_text(run: Run, tmp_path: Path) -> None:
    (tmp_path / "deep.jsonl").write_text(json.dumps({"response": "hi", "references": "[" * 200_000}))
    assert run("score", "deep.jsonl", "-m", "rouge-l").code == 0


def test_an_id_may_come_once_within_a_system(run: Run, tmp_path: Path) -> None:
    rows = [{"id": "7", "system": system, "response": "hi"} for system in ("A", "B", "A", "A")]
    (tmp_path / "twice.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = run("score", "twice.jsonl", "-o", "scores.jsonl")
    problem = "field 'id': '7' of system 'A' was already used on line 1: expected ids unique within a system"
    assert (ran.code, ran.err) == (2, f"rejoinder: twice.jsonl:3: {problem}\n")
    assert os.listdir(tmp_path) == ["twice.jsonl"]

    ran = run("score", "twice.jsonl", "-m", "length", "--on-error", "skip", "--json")
    assert ran.code == 0
    assert ran.json["skipped"] == [f"twice.jsonl:3: {problem}", f"twice.jsonl:4: {problem}"]
    assert {system: cell["n"] for system, cell in ran.json["summary"]["length"].items()} == {"A": 1, "B": 1}


def test_an_id_twice_is_named_by_the_data_s_own_field_and_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "twice.csv").write_text('key,response\n1,"two\nlines"\n\n1,b\n')
    ran = run("score", "twice.csv", "--field", "id=key")
    problem = "field 'key': '1' was already used on line 2: expected ids unique within a system"
    assert ran.err == f"rejoinder: twice.csv:5: {problem}\n"


@pytest.mark.parametrize("content", [b"", b"\n\n  \n", b"\xef\xbb\xbf"], ids=["empty", "blank lines", "a BOM"])
def test_a_file_without_examples(content: bytes, run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_bytes(content)
    for more in ([], ["--on-error", "skip"]):
        ran = run("score", "empty.jsonl", *more)
        assert (ran.code, ran.err) == (2, "rejoinder: empty.jsonl: contains no examples: expected at least one\n")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf16_is_named(encoding: str, run: Run, tmp_path: Path) -> None:
    text = GOOD.decode() if encoding == "utf-16" else "\ufeff" + GOOD.decode()
    (tmp_path / "windows.jsonl").write_bytes(text.encode(encoding))
    assert run("score", "windows.jsonl").err == "rejoinder: windows.jsonl:1: is UTF-16: expected UTF-8 text\n"


def test_nothing_left_after_skipping_is_an_error(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("1\n2\n")
    ran = run("score", "bad.jsonl", "--on-error", "skip")
    first = "bad.jsonl:1: expected an object with fields, found a number"
    left_out = f"2 unreadable records were skipped; the first: {first}"
    assert ran.code == 2
    assert ran.err == f"rejoinder: bad.jsonl: contains no examples ({left_out}): expected at least one\n"


def test_no_such_file_and_a_folder(run: Run, tmp_path: Path) -> None:
    for name in ("folder", "folder.parquet", "folder.csv"):
        (tmp_path / name).mkdir()
        assert run("score", name).err == f"rejoinder: {name}: is a folder: expected a file\n"
    for name in ("absent.jsonl", "absent.parquet", "absent/file.csv"):
        ran = run("score", name)
        assert (ran.code, ran.err) == (2, f"rejoinder: {name}: no such file\n")
    ran = run("score", "a" * 5000)
    assert ran.code == 2
    assert ran.err.endswith("cannot be read (File name too long)\n")


def test_a_file_that_may_not_be_read(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret.jsonl").write_bytes(GOOD)
    real = Path.open

    def closed(path: Path, *arguments: Any, **more: Any) -> Any:
        # Root may read everything, so that chmod would prove nothing.
        if path.name == "secret.jsonl":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, *arguments, **more)

    monkeypatch.setattr(Path, "open", closed)
    ran = run("score", "secret.jsonl")
    assert (ran.code, ran.err) == (2, "rejoinder: secret.jsonl: may not be read: permission denied\n")


def test_a_gzip_file_that_breaks_off(run: Run, tmp_path: Path) -> None:
    packed = gzip.compress(b"".join(GOOD.replace(b"good", str(i).encode()) for i in range(5000)))
    (tmp_path / "cut.jsonl.gz").write_bytes(packed[:-40])
    (tmp_path / "damaged.jsonl.gz").write_bytes(packed[:200] + b"????" + packed[204:])
    for more in ([], ["--on-error", "skip"]):  # how much is missing cannot be told, so it cannot be skipped
        ran = run("score", "cut.jsonl.gz", "-o", "scores.jsonl", *more)
        reason = "Compressed file ended before the end-of-stream marker was reached"
        assert (ran.code, ran.err) == (2, f"rejoinder: cut.jsonl.gz: is not a complete gzip file ({reason})\n")
    ran = run("score", "damaged.jsonl.gz")
    assert ran.code == 2
    assert ran.err.startswith("rejoinder: damaged.jsonl.gz: is not a complete gzip file (")
    assert not (tmp_path / "scores.jsonl").exists()


def test_what_is_no_parquet_file(run: Run, tmp_path: Path) -> None:
    pl.DataFrame({"response": ["hi"] * 100}).write_parquet(tmp_path / "good.parquet")
    whole = (tmp_path / "good.parquet").read_bytes()
    (tmp_path / "text.parquet").write_bytes(GOOD * 10)
    (tmp_path / "empty.parquet").write_bytes(b"")
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    for name in ("text", "empty", "cut"):
        ran = run("score", f"{name}.parquet")
        assert ran.code == 2
        assert ran.err.startswith(f"rejoinder: {name}.parquet: is not a readable Parquet file (")
        assert ran.err.count("\n") == 1


def test_a_missing_value_in_a_parquet_file(run: Run, tmp_path: Path) -> None:
    pl.DataFrame({"response": ["hi", None], "n": [1, 2]}).write_parquet(tmp_path / "gap.parquet")
    problem = "field 'response': is missing: expected the reply as a string, found response, n"
    assert run("score", "gap.parquet").err == f"rejoinder: gap.parquet:2: {problem}\n"


def test_formats_that_are_not_read(run: Run, tmp_path: Path) -> None:
    (tmp_path / "replies.xlsx").write_bytes(b"PK")
    expected = "expected .jsonl, .jsonl.gz, .csv, .tsv or .parquet"
    ran = run("score", "replies.xlsx")
    assert (ran.code, ran.err) == (2, f"rejoinder: replies.xlsx: cannot read .xlsx files; {expected}\n")


CSV_LINES = {
    "too many cells": ("b,x,y", "has 3 cells: expected 2, as in the header"),
    "too few cells": ("b", "has 1 cells: expected 2, as in the header"),
    "text after a quote": ('b,"x"y', "is not valid CSV (',' expected after '\"'): expected quotes in pairs"),
    "a NUL": ("b,x\x00y", "contains a NUL byte: expected UTF-8 text"),
    "a Latin-1 letter": ("b,caf\udce9", "is not valid UTF-8 (byte 0xe9 at position 6): expected UTF-8 text"),
}


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


def test_long_lists_of_what_was_left_out_are_cut(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_bytes(GOOD + b"0\n" * 25)
    ran = run("score", "bad.jsonl", "-m", "length", "--on-error", "skip")
    assert "left out 25 unreadable examples:\n" in ran.err
    assert ran.err.count("expected an object with fields") == 20
    assert "  ... and 5 more\n" in ran.err

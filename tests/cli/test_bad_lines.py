"""A bad line of JSON gets one line with file, line, field and what was expected, and exit code 2."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from running import Run

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


def test_long_lists_of_what_was_left_out_are_cut(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_bytes(GOOD + b"0\n" * 25)
    ran = run("score", "bad.jsonl", "-m", "length", "--on-error", "skip")
    assert "left out 25 unreadable examples:\n" in ran.err
    assert ran.err.count("expected an object with fields") == 20
    assert "  ... and 5 more\n" in ran.err

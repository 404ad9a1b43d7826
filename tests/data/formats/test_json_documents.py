"""JSON arrays and objects over several lines, parsed as they are read."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import rejoinder
from rejoinder.data import files
from rejoinder.data.files import document_rows, is_document
from rejoinder.errors import DataError

RECORDS = [{"id": str(n), "response": f'a "quoted" \\ reply\n{n} ü 🙂 ]}},', "n": [n, {"x": None}]} for n in range(40)]


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("chunk", [1, 7, 1 << 16])
@pytest.mark.parametrize("indent", [None, 2])
def test_every_element_whatever_the_pieces_read(
    chunk: int, indent: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_CHUNK", chunk)
    path = written(tmp_path / "a.json", json.dumps(RECORDS, indent=indent, ensure_ascii=False))
    assert [record for _, record in document_rows(path, "a.json")] == RECORDS


def test_the_line_of_each_element(tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", '[\n  {"a": 1},\n\n  {"b":\n 2}\n, {"c": 3}]\n')
    assert list(document_rows(path, "a.json")) == [(2, {"a": 1}), (4, {"b": 2}), (6, {"c": 3})]


def test_objects_one_after_another(tmp_path: Path) -> None:
    content = "".join(json.dumps(record, indent=2) + "\n" for record in RECORDS[:3])
    path = written(tmp_path / "a.json", content)
    assert [example.id for example in rejoinder.read(path)] == ["0", "1", "2"]


def test_a_compressed_array(tmp_path: Path) -> None:
    path = written(tmp_path / "a.json.gz", gzip.compress(json.dumps(RECORDS).encode(), mtime=0))
    assert len(list(rejoinder.read(path))) == len(RECORDS)


@pytest.mark.parametrize(
    ("content", "suffix", "expected"),
    [
        ("[]", ".jsonl", True),
        ("\ufeff \n[1]", ".json", True),
        ('{"a": 1}\n{"a": 2}\n', ".json", False),
        ('{\n"a": 1}', ".json", True),
        ('{\n"a": 1}', ".jsonl", False),
        ("", ".json", False),
        ("text", ".json", False),
    ],
)
def test_what_is_parsed_as_a_whole(content: str, suffix: str, expected: bool, tmp_path: Path) -> None:
    assert is_document(written(tmp_path / "a", content), suffix) is expected


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('[{"response": "a"}', "a.json:1: is not valid JSON: expected ',', found the end of the file"),
        ('[{"response": "a"},\n {"response": ]', "a.json:2: is not valid JSON (Expecting value)"),
        ('[{"response": "a"} {"response": "b"}]', "a.json:1: is not valid JSON: expected ',', found '{'"),
        ('[{"response": "a"}]\nmore', "a.json:2: has text after the end of the array: expected nothing there"),
        ('[{"response": "a', "a.json:1: is not valid JSON (Unterminated string starting at)"),
        ("[" * 100_000, "a.json:1: is not usable JSON"),
        ("[]", "a.json: contains no examples: expected at least one"),
        ("[1, 2]", "a.json:1: expected an object with fields, found a number"),
        (b'[{"response": "\xff"}]', "a.json: is not valid UTF-8: expected UTF-8 text"),
        (gzip.compress(b'[{"response": "a"}]', mtime=0)[:-6], "a.json: is not a complete gzip file"),
    ],
)
def test_a_broken_document_is_refused_even_where_records_are_skipped(
    content: Any, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "a.json", content)
    with pytest.raises(DataError) as caught:
        rejoinder.score("a.json", "length")
    assert str(caught.value).startswith(problem)
    with pytest.raises(DataError):
        rejoinder.score("a.json", "length", on_error="skip")


def test_a_record_that_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LONGEST_LINE", 1 << 20)
    monkeypatch.setattr(files, "_CHUNK", 1 << 14)
    path = written(tmp_path / "a.json", json.dumps([{"response": "a" * (8 << 20)}]))
    with pytest.raises(DataError, match="has a record longer than 1 MiB"):
        list(document_rows(path, "a.json"))

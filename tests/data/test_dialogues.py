"""Dialogues from files: what is read, and what is said of the rest."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from places import DIALOGUES
from rejoinder.data.dialogues import DialogueSource, dialogue_of
from rejoinder.data.records import FieldError
from rejoinder.errors import CallError, DataError
from rejoinder.types import Dialogue


def test_what_a_file_holds(tmp_path: Path) -> None:
    records = [
        {"id": "a", "turns": ["hi", "hello"], "speakers": ["x", "y"]},
        {"turns": ["one", "two", "three"], "topic": "passed over"},
        {"id": 7, "turns": ["é", "ü"], "speakers": None},
    ]
    text = "".join(json.dumps(record) + "\n\n" for record in records)
    (tmp_path / "d.jsonl").write_text(text)
    (tmp_path / "d.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    expected = [
        Dialogue("a", ("hi", "hello"), ("x", "y")),
        Dialogue("2", ("one", "two", "three")),
        Dialogue("7", ("é", "ü")),
    ]
    for name in ("d.jsonl", "d.jsonl.gz"):
        source = DialogueSource(tmp_path / name)
        assert list(source) == expected
        assert list(source) == expected, "a second time"


@pytest.mark.parametrize(
    ("record", "field", "problem"),
    [
        (3, "", "expected an object with fields, found a number"),
        ({}, "turns", "is missing: expected a list of utterances, found no fields"),
        ({"text": "hi"}, "turns", "is missing: expected a list of utterances, found text"),
        ({"turns": "hi"}, "turns", "expected a list of strings, found a string"),
        ({"turns": {"a": "b"}}, "turns", "expected a list of strings, found an object"),
        ({"turns": ["hi"]}, "turns", "expected at least two utterances, found 1"),
        ({"turns": ["hi", 2]}, "turns[1]", "expected a string, found a number"),
        ({"turns": ["hi", "a\x00"]}, "turns[1]", "contains a NUL character: expected text"),
        ({"turns": ["hi", "ho"], "speakers": ["x"]}, "speakers", "expected one label per turn (2), found 1"),
        ({"turns": ["hi", "ho"], "id": True}, "id", "expected a string or a whole number, found true or false"),
    ],
)
def test_records_that_hold_no_dialogue(record: Any, field: str, problem: str) -> None:
    with pytest.raises(FieldError) as caught:
        dialogue_of(record, 1)
    assert (caught.value.name, str(caught.value)) == (field, problem)


def test_a_bad_line_stops_or_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"turns": ["a", "b"]}\n{"turns": []}\nnot json\n{"turns": ["c", "d"]}\n')
    with pytest.raises(DataError) as caught:
        list(DialogueSource(path))
    assert str(caught.value) == f"{path}:2: field 'turns': expected at least two utterances, found 0"
    source = DialogueSource(path, "skip")
    assert [dialogue.id for dialogue in source] == ["1", "4"]
    assert list(source.skipped) == [2, 3]
    with pytest.raises(CallError, match="on_error must be"):
        DialogueSource(path, "ignore")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="no such file"):
        list(DialogueSource(tmp_path / "absent.jsonl"))


@pytest.mark.shared_data
def test_real_dialogues() -> None:
    path = DIALOGUES / "chitchat.valid.jsonl.gz"
    if not path.exists():
        pytest.skip("needs dialogues of ../shared/data")
    assert len(list(DialogueSource(path))) == 201  # the count of ../shared/data/README.md

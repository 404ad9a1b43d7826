"""Records of pairwise preferences: names, sides, ties, and what is wrong with bad ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rejoinder.data.judged import Preference, PreferenceSource
from rejoinder.data.records import FieldMap
from rejoinder.errors import DataError


def read(origin: Any, **fields: str) -> list[Preference]:
    return list(PreferenceSource(origin, FieldMap(fields)).preferences())


@pytest.mark.parametrize(
    ("winner", "outcome"),
    [
        ("new", "a"),
        ("old", "b"),
        ("a", "a"),
        ("B", "b"),
        ("model_a", "a"),
        ("tie", "tie"),
        ("Both good", "tie"),
        ("draw", "tie"),
        ("both bad", "both bad"),
        ("both_bad", "both bad"),
        ("tie (bothbad)", "both bad"),
        ("neither", "both bad"),
    ],
)
def test_winners(winner: str, outcome: str) -> None:
    (found,) = read([{"a": "new", "b": "old", "winner": winner}])
    assert (found.a, found.b, found.outcome) == ("new", "old", outcome)


def test_a_name_comes_before_a_side_or_a_tie() -> None:
    (found,) = read([{"a": "tie", "b": "a", "winner": "a"}])
    assert found.outcome == "b"
    (found,) = read([{"a": "tie", "b": "a", "winner": "tie"}])
    assert found.outcome == "a"


def test_all_fields() -> None:
    record = {
        "id": 7,
        "context": ["Hi.", "Hello."],
        "context_id": "c1",
        "a": 1,
        "b": 2,
        "winner": 2,
        "rater": "r",
        "response_a": "Yes.",
        "response_b": "",
    }
    (found,) = read([record])
    assert (found.example.id, found.example.context, found.example.context_id) == ("7", ("Hi.", "Hello."), "c1")
    assert (found.a, found.b, found.outcome, found.rater, found.responses) == ("1", "2", "b", "r", ("Yes.", ""))
    assert read([found]) == [found]
    with pytest.raises(DataError, match="expected two systems and one of a, b, tie, both bad"):
        read([replace(found, outcome="c")])


def test_tables_and_frames(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text('model_a,model_b,winner,context\nx,y,model_a,"[""Hi.""]"\nx,y,tie,Hi.\n')
    found = read(tmp_path / "p.csv", a="model_a", b="model_b")
    assert [(one.outcome, one.example.context) for one in found] == [("a", ("Hi.",)), ("tie", ("Hi.",))]
    frame = pl.DataFrame({"a": ["x"], "b": ["y"], "winner": ["y"], "rater": [None]})
    frame.write_parquet(tmp_path / "p.parquet")
    assert read(frame) == read(tmp_path / "p.parquet")
    assert read(frame)[0].outcome == "b"


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"b": "y", "winner": "y"}, "field 'a': is missing: expected the name of a system"),
        ({"a": "x", "b": "", "winner": "x"}, "field 'b': is missing: expected the name of a system"),
        ({"a": "x", "b": "x", "winner": "x"}, "field 'b': is the same system as a: 'x'"),
        ({"a": "x", "b": "y"}, "field 'winner': expected 'x', 'y', 'tie' or 'both bad', found nothing"),
        ({"a": "x", "b": "y", "winner": "z"}, "field 'winner': expected 'x', 'y', 'tie' or 'both bad', found 'z'"),
        ({"a": "x", "b": "y", "winner": 0.5}, "field 'winner': expected a string or a whole number, found a number"),
        (
            {"a": "x", "b": "y", "winner": "x", "response_a": 3, "response_b": ""},
            "field 'response_a': expected a string",
        ),
        (["x", "y"], "expected an object with fields, found a list"),
    ],
)
def test_bad_records_say_where_and_what(record: Any, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read([{"a": "x", "b": "y", "winner": "x"}, record])
    assert str(caught.value).startswith(f"<list>:2: {message}")

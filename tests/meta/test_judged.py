from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rejoinder.data.judged import JudgedSet, chosen_dimensions, read_judged
from rejoinder.errors import DataError, UnknownNameError
from rejoinder.types import Example, JudgedExample


def write(path: Path, *records: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_raters_means_and_missing_ratings(tmp_path: Path) -> None:
    path = write(
        tmp_path / "judged.jsonl",
        {"id": "1", "response": "a", "scores": {"overall": [1, 2, None], "style": 4}, "split": "train"},
        {"id": "2", "response": "b", "scores": {"overall": [5]}},
    )
    judged = read_judged(path)
    np.testing.assert_array_equal(judged.ratings["overall"], [[1, 2, np.nan], [5, np.nan, np.nan]])
    np.testing.assert_array_equal(judged.human("overall"), [1.5, 5])
    np.testing.assert_array_equal(judged.human("style"), [4, np.nan])
    assert judged.splits == ("train", "")
    assert judged.dimensions == ("overall", "style")


def test_data_with_one_dimension(tmp_path: Path) -> None:
    plain = write(tmp_path / "a.jsonl", {"response": "a", "scores": 3}, {"response": "b", "scores": [4, 5]})
    np.testing.assert_array_equal(read_judged(plain).human("score"), [3, 4.5])
    table = tmp_path / "b.csv"
    table.write_text('response,scores\na,3\nb,"[4, 5]"\n', encoding="utf-8")
    np.testing.assert_array_equal(read_judged(table).human("score"), [3, 4.5])


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (None, "field 'scores': is missing: expected ratings"),
        ({}, "field 'scores': is empty: expected at least one dimension"),
        ({"overall": "good"}, "field 'scores.overall': expected a number, a list of numbers or null, found a string"),
        (
            {"overall": [True]},
            "field 'scores.overall': expected a number, a list of numbers or null, found true or false",
        ),
        ("fine", "field 'scores': expected a number or JSON, found 'fine'"),
    ],
)
def test_scores_that_are_none(tmp_path: Path, scores: object, message: str) -> None:
    path = write(tmp_path / "judged.jsonl", {"response": "a", "scores": scores})
    with pytest.raises(DataError, match=r"judged\.jsonl:1: ") as caught:
        read_judged(path)
    assert message in str(caught.value)


def test_replies_to_one_context_share_its_number() -> None:
    def judged(
        identifier: str, context: tuple[str, ...], references: tuple[str, ...], context_id: str = ""
    ) -> JudgedExample:
        return JudgedExample(Example(identifier, context, "x", references, context_id=context_id), {"overall": (1.0,)})

    items = [
        judged("1", ("hi",), ("a",)),
        judged("2", ("hi",), ("b",)),  # other references, same context
        judged("3", (), ("a",)),
        judged("4", (), ("a",)),
        judged("5", (), ()),
        judged("6", ("hi",), ("a",), "c9"),
    ]
    assert JudgedSet.of(items).contexts.tolist() == [0, 0, 1, 1, 2, 3]


def test_the_overall_dimension_is_the_default() -> None:
    items = [JudgedExample(Example("1", (), "x"), {"style": (1.0,), "Overall": (2.0,)})]
    judged = JudgedSet.of(items)
    assert chosen_dimensions(judged, None) == ("Overall",)
    assert chosen_dimensions(judged, "all") == ("style", "Overall")
    with pytest.raises(UnknownNameError, match="did you mean style"):
        chosen_dimensions(judged, "stile")


def test_there_and_back() -> None:
    items = [JudgedExample(Example("1", (), "x"), {"overall": (1.0, 3.0)}, "test")]
    assert JudgedSet.of(items).judged_examples() == items


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "judged.jsonl").write_text("")
    with pytest.raises(DataError, match="has no judged examples"):
        read_judged(tmp_path / "judged.jsonl")

"""Ratings of any size and shape: numbers, or one line that says what was found."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from rejoinder.data.judged import JudgedSource, scores_of
from rejoinder.data.records import FieldError

TOO_LARGE = "expected a number, found one that is infinite or too large"
NO_NUMBER = "expected a number or JSON, found "
NO_RATING = "expected a number, a list of numbers or null, found "

GOOD = {
    "a number": (3, {"score": (3.0,)}),
    "a list": ([1, 2.5], {"score": (1.0, 2.5)}),
    "dimensions": ({"fluency": 3, "relevance": [1, 2]}, {"fluency": (3.0,), "relevance": (1.0, 2.0)}),
    "a cell": ("4", {"score": (4.0,)}),
    "a cell with JSON": ('{"fluency": [1, 5]}', {"fluency": (1.0, 5.0)}),
    "a data frame's array": (np.array([1, 2]), {"score": (1.0, 2.0)}),
    "200 digits": (10**200, {"score": (1e200,)}),
}
BAD = {
    "10 to the 400th": (10**400, TOO_LARGE),
    "10 to the 400th of a dimension": ({"fluency": [1, 10**400]}, TOO_LARGE),
    "minus 10 to the 400th": (-(10**400), TOO_LARGE),
    "infinite": (math.inf, TOO_LARGE),
    "401 digits in a cell": ("1" + "0" * 400, TOO_LARGE),
    "5,000 digits in a cell": ("1" * 5000, NO_NUMBER + f"'{'1' * 39}..."),
    "nested brackets in a cell": ("[" * 100_000, NO_NUMBER + f"'{'[' * 39}..."),
    "nested lists": ([[1]], NO_RATING + "a list"),
    "words": ("good", NO_NUMBER + "'good'"),
    "text": ({"fluency": "good"}, NO_RATING + "a string"),
    "true": (True, NO_RATING + "true or false"),
    "nothing": (None, "is missing: expected ratings"),
    "not a number": (math.nan, "is missing: expected ratings"),
    "no dimension": ({}, "is empty: expected at least one dimension"),
    "half a character": ({"\ud83d": 1}, "contains a lone surrogate at character 0: expected text"),
}


@pytest.mark.parametrize(("value", "expected"), GOOD.values(), ids=GOOD)
def test_scores(value: object, expected: dict[str, tuple[float, ...]]) -> None:
    assert scores_of(value, "scores") == expected


@pytest.mark.parametrize(("value", "problem"), BAD.values(), ids=BAD)
def test_what_is_no_score(value: object, problem: str) -> None:
    with pytest.raises(FieldError) as caught:
        scores_of(value, "scores")
    assert str(caught.value) == problem


def test_unrated_is_not_a_number() -> None:
    assert str(scores_of([1, None, math.nan], "scores")) == "{'score': (1.0, nan, nan)}"


def test_an_id_of_too_many_digits() -> None:
    source = JudgedSource([{"id": 10**5000, "response": "hi", "scores": 1}], on_error="skip")
    assert list(source) == []
    problem = "expected a string or a whole number, found one of too many digits"
    assert str(source.skipped[1]) == f"<list>:1: field 'id': {problem}"


def test_a_file_of_judged_examples(tmp_path: Path) -> None:
    record = {"response": "hi", "scores": {"fluency": [1, None]}, "split": "test"}
    (tmp_path / "judged.jsonl").write_text(json.dumps(record))
    (judged,) = JudgedSource(tmp_path / "judged.jsonl").judged()
    assert (judged.example.response, judged.split, judged.scores["fluency"][0]) == ("hi", "test", 1.0)

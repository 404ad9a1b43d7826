"""Lists of examples are checked once, whoever reads them how often."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

import rejoinder
from rejoinder.data.records import all_plain
from rejoinder.data.source import Source, survey
from rejoinder.errors import DataError
from rejoinder.types import Example


def test_a_repeated_id_is_left_out_of_later_passes_too() -> None:
    examples = [Example("1", (), "a"), Example("2", (), "b"), Example("1", (), "c")]
    source = Source(examples, on_error="skip")
    assert survey(source).count == 2
    assert [example.response for example in source] == ["a", "b"]
    with pytest.raises(DataError, match="'1' was already used on line 1"):
        rejoinder.score(examples, "length")


def test_a_second_pass_gives_the_same_examples() -> None:
    examples = [Example(str(number), ("hi",), "a b", ("é",)) for number in range(5)]
    source = Source(examples)
    assert list(source) == list(source) == examples


GOOD = Example("1", ("hi", "ho"), "é", ("a",), speakers=("x", "y"))


@pytest.mark.parametrize(
    "wrong",
    [
        replace(GOOD, id=""),
        replace(GOOD, id=cast("Any", 3)),
        replace(GOOD, response="a\0b"),
        replace(GOOD, response="\ud800"),
        replace(GOOD, context=cast("Any", ["hi", "ho"])),
        replace(GOOD, references=cast("Any", ("a", None))),
        replace(GOOD, speakers=("x",)),
        {"response": "é"},
    ],
    ids=str,
)
def test_examples_are_taken_as_they_are_only_if_all_are_right(wrong: object) -> None:
    good = [replace(GOOD, id=str(number)) for number in range(600)]
    assert all_plain(good)
    assert not all_plain([*good, wrong])

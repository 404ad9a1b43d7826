"""Lists of examples are checked once, whoever reads them how often."""

from __future__ import annotations

import pytest

import rejoinder
from rejoinder.data.source import Source
from rejoinder.data.survey import survey
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

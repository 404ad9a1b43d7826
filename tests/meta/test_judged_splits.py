"""The splits of a judged set."""

from __future__ import annotations

import numpy as np
import pytest

from rejoinder.data.judged import JudgedSet
from rejoinder.types import Example, JudgedExample


def judged(*splits: str) -> JudgedSet:
    items = [
        JudgedExample(Example(str(row), ("hi",), "x"), {"overall": (float(row),)}, split)
        for row, split in enumerate(splits)
    ]
    return JudgedSet.of(items)


def test_a_split_is_a_mask_and_a_set() -> None:
    whole = judged("train", "test", "", "test", "valid")
    np.testing.assert_array_equal(whole.in_split("test"), [False, True, False, True, False])
    part = whole.part("test")
    assert [example.id for example in part.examples] == ["1", "3"]
    assert part.splits == ("test", "test")
    np.testing.assert_array_equal(part.human("overall"), [1, 3])


@pytest.mark.parametrize("name", ["test", "tset"])
def test_a_split_without_examples_is_empty(name: str) -> None:
    assert len(judged("train", "").part(name)) == 0


def test_data_without_splits() -> None:
    whole = judged("", "")
    unsplit = JudgedSet(whole.name, whole.examples, whole.ratings)
    np.testing.assert_array_equal(unsplit.in_split("test"), [False, False])
    assert len(unsplit.part("test")) == 0

"""Arrays that stand for sequences of Python objects give back what was put in."""

from __future__ import annotations

import numpy as np
import pytest

from rejoinder.arrays import Texts, run_starts


def test_texts_are_those_that_were_added() -> None:
    texts = ["a", "", "ü-1", "👩‍👩‍👧", "\ud800", "a"]
    kept = Texts(texts[:2])
    for text in texts[2:]:
        kept.append(text)
    assert (list(kept), len(kept), kept[-1], kept[1:4]) == (texts, 6, "a", texts[1:4])
    assert "ü-1" in kept
    with pytest.raises(IndexError):
        kept[6]


def test_runs_of_equal_values() -> None:
    assert run_starts(np.array([1, 1, 2, 5, 5, 5])).tolist() == [True, False, True, True, False, False]
    assert run_starts(np.zeros(0)).tolist() == []


def test_texts_equal_a_list_of_the_same() -> None:
    assert Texts(["a", "bc"]) == ["a", "bc"]
    assert Texts(["a", "bc"]) == Texts(["a", "bc"])
    assert Texts(["a", "bc"]) != Texts(["ab", "c"])
    assert Texts(["a"]) != ["a", "b"]
    assert Texts(["a"]) != "a"

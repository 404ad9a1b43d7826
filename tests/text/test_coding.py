from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rejoinder.text import tokens
from rejoinder.text.tokens import coded, coded_lists, place_of_equal


@settings(max_examples=50, deadline=None)
@given(strings=st.lists(st.text(alphabet="ab\0é ", max_size=3), max_size=200))
def test_each_different_string_has_one_code(strings: list[str]) -> None:
    words, codes = coded(pl.Series(strings, dtype=pl.String))
    assert [words[int(code)] for code in codes] == strings
    assert sorted(words) == sorted(set(strings))


def test_lists_keep_their_places() -> None:
    words, rows = coded_lists(pl.Series([["b", "a"], [], ["a"]], dtype=pl.List(pl.String)))
    assert [[words[int(code)] for code in row] for row in rows] == [["b", "a"], [], ["a"]]


def test_strings_that_share_a_hash_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_alike(hashes: NDArray[np.uint64]) -> NDArray[np.int32]:
        return np.zeros(len(hashes), np.int32)

    monkeypatch.setattr(tokens, "place_of_equal", all_alike)
    words, codes = coded(pl.Series(["x", "y", "x"]))
    assert [words[int(code)] for code in codes] == ["x", "y", "x"]


@pytest.mark.parametrize("bits", [2, 8, 64])
def test_equal_hashes_find_each_other(bits: int) -> None:
    hashes = np.random.default_rng(0).integers(0, 1 << min(bits, 63), 3000).astype(np.uint64)
    found = place_of_equal(hashes)
    np.testing.assert_array_equal(hashes[found], hashes)
    for value in np.unique(hashes)[:50]:
        assert len(np.unique(found[hashes == value])) == 1
    assert len(np.unique(found)) == len(np.unique(hashes))


def test_nothing() -> None:
    words, codes = coded(pl.Series([], dtype=pl.String))
    assert len(words) == len(codes) == 0

"""Counts of n-grams in tables, against counts in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from rejoinder.arrays import Ragged
from rejoinder.metrics.ngrams import narrowed, occurrences, occurrences_before, padded_columns

ORDERS = 4


def texts(rng: np.random.Generator, words: int, first: int) -> list[list[int]]:
    """Forty texts of up to 12 words, some of them empty."""
    return [rng.integers(first, first + words, size=rng.integers(0, 13)).tolist() for _ in range(40)]


def ngrams(text: list[int], n: int) -> list[tuple[int, ...]]:
    return [tuple(text[start : start + n]) for start in range(len(text) - n + 1)]


@pytest.mark.parametrize("first", [0, 30_000, 70_000])  # codes of two bytes, near their limit, of four bytes
@pytest.mark.parametrize("words", [1, 2, 7])
def test_occurrences_are_those_of_a_plain_count(words: int, first: int) -> None:
    rng = np.random.default_rng(words)
    own, others = texts(rng, words, first), texts(rng, words, first)
    rows = np.arange(len(own))
    text, other = (
        padded_columns(narrowed(Ragged.of(given)), rows, filler) for given, filler in ((own, -1), (others, -2))
    )
    for n, (within, before) in enumerate(
        zip(occurrences(text, other, ORDERS), occurrences_before(text, ORDERS), strict=True), 1
    ):
        for column in rows.tolist():
            mine = ngrams(own[column], n)
            assert within[: len(mine), column].tolist() == [ngrams(others[column], n).count(each) for each in mine]
            assert before[: len(mine), column].tolist() == [mine[:at].count(each) for at, each in enumerate(mine)]


def test_a_text_is_longer_or_shorter_than_the_other() -> None:
    long, short = np.array([[1], [2], [1], [2], [1]], np.int16), np.array([[1], [2]], np.int16)
    one, two = occurrences(long, short, 2)
    assert one.ravel().tolist() == [1, 1, 1, 1, 1]
    assert two.ravel().tolist() == [1, 0, 1, 0]  # the other text is read in a circle, but no n-gram runs over its end
    one, two = occurrences(short, long, 2)
    assert (one.ravel().tolist(), two.ravel().tolist()) == ([3, 2], [2])

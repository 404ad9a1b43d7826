"""Batches of like length: every row once, little padding, whatever the order."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from rejoinder.learning.data import BATCH_COST, EncodedPair, buckets, by_length, padded


def rows(count: int = 300) -> list[EncodedPair]:
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 60, count)
    return [EncodedPair(tuple(rng.integers(1, 99, length).tolist()), (0,) * int(length)) for length in lengths]


def test_every_row_once_within_the_limit() -> None:
    encoded = rows()
    batches = by_length(encoded, 500)
    assert sorted(row for batch in batches for row in batch) == list(range(300))
    sizes = [len(batch) * max(len(encoded[row].ids) for row in batch) for batch in batches]
    assert max(sizes) <= 500
    assert sum(sizes) < 1.1 * sum(len(row.ids) for row in encoded), "a tenth of padding at most"
    assert by_length([], 500) == []


def test_a_row_longer_than_the_limit_runs_alone() -> None:
    assert by_length([EncodedPair((1,) * 9, (0,) * 9), EncodedPair((1,), (0,))], 5) == [[0], [1]]


def test_no_other_cut_takes_less_time() -> None:
    def time(batches: list[list[int]], lengths: list[int]) -> int:
        return sum(BATCH_COST + len(batch) * max(lengths[row] for row in batch) for batch in batches)

    rng = np.random.default_rng(0)
    for _ in range(20):
        lengths = sorted(rng.integers(1, 40, 8).tolist(), reverse=True)
        encoded = [EncodedPair((1,) * length, (0,) * length) for length in lengths]
        cuts = [[place for place in range(1, 8) if number >> place & 1] for number in range(0, 256, 2)]
        ways = [[[*range(start, end)] for start, end in pairwise([0, *cut, 8])] for cut in cuts]
        allowed = [way for way in ways if all(len(batch) * lengths[batch[0]] <= 120 for batch in way)]
        assert time(by_length(encoded, 120), lengths) == min(time(way, lengths) for way in allowed)


def test_order_does_not_matter() -> None:
    encoded = rows()
    turned = encoded[::-1]
    ours = [[encoded[row].ids for row in batch] for batch in by_length(encoded, 500)]
    assert ours == [[turned[row].ids for row in batch] for batch in by_length(turned, 500)]


@pytest.mark.parametrize("count", [1, 15, 16, 17, 2000])
def test_buckets_hold_every_row_once(count: int) -> None:
    lengths = np.random.default_rng(1).integers(1, 100, count).tolist()
    found = buckets(lengths, 16, np.random.default_rng(2))
    assert sorted(row for batch in found for row in batch) == list(range(count))
    assert len(found) == -(-count // 16)
    assert found == buckets(lengths, 16, np.random.default_rng(2))
    if count == 2000:
        assert found != buckets(lengths, 16, np.random.default_rng(3))
        spread = np.mean([np.ptp([lengths[row] for row in batch]) for batch in found])
        assert spread < 10, "of 100, were they drawn at random"


def test_a_batch_that_is_too_small_gets_the_rows_of_another() -> None:
    found = buckets([1] * 17, 16, np.random.default_rng(2), fewest=2)
    assert sorted(map(len, found)) == [16, 17]
    assert {row for batch in found for row in batch} == set(range(17))


def test_padding() -> None:
    arrays = padded([EncodedPair((5, 6, 7), (0, 0, 1)), EncodedPair((8,), (1,))], pad=9)
    assert arrays["input_ids"].tolist() == [[5, 6, 7], [8, 9, 9]]
    assert arrays["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0]]
    assert arrays["token_type_ids"].tolist() == [[0, 0, 1], [1, 0, 0]]

"""N-grams counted by their hashes, in memory and on disk."""

from __future__ import annotations

import tempfile
from collections import Counter
from typing import IO, Any

import numpy as np
import pytest

from rejoinder.metrics import hashes as ngram_hashes
from rejoinder.metrics.hashes import FrequencyCounter, HashIndex


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[IO[bytes]]:
    """The temporary files that were opened, with room for 100 hashes in memory."""
    files: list[IO[bytes]] = []

    def temporary_file() -> Any:
        files.append(real())
        return files[-1]

    real = tempfile.TemporaryFile
    monkeypatch.setattr(ngram_hashes, "_IN_MEMORY", 100)
    monkeypatch.setattr(tempfile, "TemporaryFile", temporary_file)
    return files


def test_counts_on_disk_equal_a_dictionary_s(opened: list[IO[bytes]]) -> None:
    rng = np.random.default_rng(0)
    some = rng.integers(0, 1 << 64, 300, dtype=np.uint64)
    some[:2] = 0, (1 << 64) - 1
    drawn = [rng.choice(some, size) for size in (0, 7, 250, 99, 1, 40, 0, 300)]
    counter = FrequencyCounter()
    for hashes in drawn:
        counter.add(hashes)
    expected = Counter(np.concatenate(drawn).tolist())
    for _ in range(2):
        table = counter.table()
        assert len(table) == len(expected)
        assert table.lookup(some).tolist() == [expected[number] for number in some.tolist()]
        counter.add(some[:50])
        expected.update(some[:50].tolist())


def test_a_counter_holds_one_file_and_lets_it_go(opened: list[IO[bytes]]) -> None:
    counters = [FrequencyCounter() for _ in range(5)]
    for start in range(10):
        for counter in counters:
            counter.add(np.arange(start, start + 150, dtype=np.uint64) << np.uint64(55))
    del counter
    assert len(opened) == 5
    assert len(counters.pop().table()) == 159
    assert sum(not file.closed for file in opened) == 4, "what a table is made with is closed"
    del counters
    assert all(file.closed for file in opened)


def test_what_is_not_in_the_index_has_no_place() -> None:
    wanted = np.array([2, 5, 2**63], np.uint64)
    assert HashIndex(np.array([], np.uint64)).find(wanted).tolist() == [-1, -1, -1]
    assert HashIndex(np.array([1, 5, 9], np.uint64)).find(wanted).tolist() == [-1, 1, -1]

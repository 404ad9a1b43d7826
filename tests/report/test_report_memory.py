"""Comparisons and reports of many replies keep arrays of numbers, some bytes per reply, and no Python objects."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from rejoinder.comparing.compare import compare_table
from rejoinder.data.contexts import GroupFinder
from rejoinder.scoring.chosen_rows import rows_to_show
from rejoinder.scoring.table import ScoreTable

REPLIES = 200_000


def many_scores() -> ScoreTable:
    """Two metrics, two systems, the same contexts."""
    rows, chosen = np.arange(REPLIES), np.random.default_rng(0)
    return ScoreTable(
        scores={"share": chosen.random(REPLIES), "stars": chosen.integers(1, 6, REPLIES).astype(np.float64)},
        signatures={"share": "share|v:0", "stars": "stars|v:0"},
        system_names=("A", "B"),
        system_of=(rows % 2).astype(np.int32),
        ranges={"share": (0.0, 1.0), "stars": (1.0, 5.0)},
        grouping=GroupFinder().of_keys(rows // 2, np.zeros(REPLIES, np.int64)),
    )


# Beyond the table itself, which has 28 bytes per reply. Measured: 57, 49 and 76.
@pytest.mark.parametrize(
    ("work", "most"),
    [(compare_table, 65), (ScoreTable.summary, 60), (rows_to_show, 85)],
    ids=["compare", "summary", "report"],
)
def test_bytes_per_reply(work: Callable[[ScoreTable], object], most: int) -> None:
    table = many_scores()
    work(many_scores())  # what is imported and cached is no memory of the data
    tracemalloc.start()
    try:
        work(table)
        assert tracemalloc.get_traced_memory()[1] < most * REPLIES
    finally:
        tracemalloc.stop()

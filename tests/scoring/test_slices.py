"""Slices: one row per value of a field, with the same numbers as the replies of that value alone."""

from __future__ import annotations

import numpy as np
import pytest

import rejoinder
from rejoinder.errors import CallError
from rejoinder.scoring.table import MOST_VALUES, SliceFinder
from rejoinder.types import Example

RECORDS = [
    {
        "id": f"{number}-{system}",
        "context_id": str(number),
        "context": ["hello"] * (1 + number % 2),
        "response": " ".join(["word"] * (number + 1 + 3 * (system == "b"))),
        "system": system,
        "topic": ["sport", None, "weather"][number % 3],
        "urgent": number % 2 == 0,
    }
    for number in range(12)
    for system in ("a", "b")
]


def test_values_are_in_order_with_the_missing_one_last() -> None:
    table = rejoinder.score(RECORDS, ["length"], by=["topic", "urgent", "turns", "length"])
    topic, urgent, turns, length = table.slices
    assert topic.values == ("sport", "weather", "(none)")
    assert urgent.values == ("false", "true")
    assert turns.values == ("1", "2")
    assert length.values == ("1-5 words", "6-10 words", "11-20 words")
    for part in table.sliced(topic).values():
        assert len(part) == 8


def test_numbers_are_those_of_the_slice_alone() -> None:
    table = rejoinder.score(RECORDS, ["length"], by="topic")
    sport = [record for record in RECORDS if record["topic"] == "sport"]
    alone = rejoinder.score(sport, ["length"])
    part = table.sliced(table.slices[0])["sport"]
    assert part.summary()["length"]["a"].mean == alone.summary()["length"]["a"].mean
    assert part.to_dict()["summary"]["length"]["b"]["n"] == 4
    assert table.to_dict()["slices"]["topic"]["sport"] == part.to_dict()["summary"]
    text = str(table)
    assert "sport" in text
    assert "6 rows: among many, some stand out by chance" in text


def test_compare_corrects_over_all_slices() -> None:
    compared = rejoinder.compare(RECORDS, metrics=["length"], by="topic")
    slices = compared.slices["topic"]
    assert list(slices) == ["sport", "weather", "(none)"]
    for verdicts in slices.values():
        (verdict,) = verdicts
        assert verdict.difference == pytest.approx(3)
        assert verdict.n == 4
        assert verdict.p_adjusted >= verdict.result.p_value
    assert compared.to_dict()["slices"]["topic"]["sport"][0]["n"] == 4
    assert "p is corrected for all rows (Holm)" in str(compared)


def test_fields_that_cannot_be_slices_are_refused() -> None:
    with pytest.raises(CallError, match="unknown field to slice by: 'colour'; known: "):
        rejoinder.score(RECORDS, ["length"], by="colour")
    finder = SliceFinder(("name",))
    with pytest.raises(CallError, match=f"more than {MOST_VALUES} different values"):
        finder.add(Example(str(number), (), "reply", slices=(str(number),)) for number in range(100))
    with pytest.raises(CallError, match="slices need replies"):
        rejoinder.compare(scores=[{"id": "1", "system": "a", "x": 1.0}], by="topic")


def test_a_part_of_a_table_keeps_its_pairs() -> None:
    table = rejoinder.score(RECORDS, ["length"])
    part = table.where(np.arange(6, 12))
    assert part.grouping is not None
    assert part.grouping.contexts.tolist() == [0, 0, 1, 1, 2, 2]
    assert list(part.ids) == list(table.ids)[6:12]

"""How many replies of each system a metric cannot be relied on for, counted in one process or several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from rejoinder.arrays import Bools
from rejoinder.metrics.batch import Batch
from rejoinder.metrics.overlap import Length
from rejoinder.scoring.reliability import Doubt, DoubtCounter, reason
from rejoinder.types import Example


@dataclass(frozen=True, kw_only=True)
class Prose(Length):
    """Cannot judge verse, nor replies that shout."""

    name: ClassVar[str] = "prose"

    def doubts(self, batch: Batch) -> Mapping[str, Bools]:
        patterns = {"in verse": "\n", "in capitals": "^[A-Z]+$"}
        return {kind: batch.responses.str.contains(pattern).to_numpy() for kind, pattern in patterns.items()}


REPLIES = ("a\nb", "plain", "LOUD", "A\nB", "plain", "plain", "a\nb")
EXAMPLES = [Example(str(row), (), text, system="ab"[row % 2]) for row, text in enumerate(REPLIES)]


def counted(*parts: slice) -> DoubtCounter:
    counter = DoubtCounter(Prose(), ("a", "b", "c"))
    for part in parts:
        some = EXAMPLES[part]
        counter.add(Batch(some), np.array(["ab".index(example.system) for example in some], np.int32))
    return counter


WHOLE = {"a": Doubt(4, 3, {"in verse": 2, "in capitals": 1}), "b": Doubt(3, 1, {"in verse": 1})}


def test_counts_per_system() -> None:
    assert counted(slice(0, 7)).found() == WHOLE == counted(slice(0, 3), slice(3, 7)).found()


def test_counts_of_several_processes_are_those_of_one() -> None:
    first, second = counted(slice(0, 3)), counted(slice(3, 7))
    merged = DoubtCounter(Prose(), ("a", "b", "c"))
    for part in (first, second, DoubtCounter(Prose(), ("a", "b", "c"))):
        merged.merge(part.state())
    assert merged.found() == WHOLE


@pytest.mark.parametrize(("doubtful", "large"), [(0, False), (10, False), (11, True), (100, True)])
def test_more_than_a_tenth_is_too_many(doubtful: int, large: bool) -> None:
    assert Doubt(100, doubtful, {}).is_large is large


def test_the_reason_names_systems_and_kinds() -> None:
    fine = Doubt(100, 10, {"in verse": 10})
    assert not reason("prose", {"a": fine}, ("a", "b"))
    told = reason("prose", {**WHOLE, "c": fine}, ("a", "b", "c"))
    assert told.startswith("prose cannot judge 3 of 4 replies of a (2 in verse, 1 in capitals) and 1 of 3 replies of b")
    assert " of c" not in told
    assert "of b" not in reason("prose", WHOLE, ("a",))
    many = {f"s{number}": WHOLE["b"] for number in range(9)}
    assert "and many replies of 6 other systems: " in reason("prose", many, tuple(many))

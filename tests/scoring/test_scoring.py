"""Several metrics over examples: names to metrics, needs, tables, warnings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import rejoinder
from rejoinder import registry
from rejoinder.arrays import Ints
from rejoinder.errors import CallError, NeedsError, UnknownNameError
from rejoinder.metrics.base import NUMBERS, Metric, ScoreWarning
from rejoinder.metrics.batch import Batch
from rejoinder.metrics.bleu import Bleu
from rejoinder.metrics.overlap import Length
from rejoinder.scoring import run
from rejoinder.scoring.score import DEFAULT_METRICS
from rejoinder.types import Example, Scores

EXAMPLES = [
    Example("1", ("hi",), "one two three", ("one two",), "A"),
    Example("2", ("hi",), "one two", ("one two",), "B"),
    Example("3", ("ho",), "two", ("one two", "two"), "A"),
]


def test_labels_of_one_s_own() -> None:
    table = rejoinder.score(EXAMPLES, {"mine": Length(), "theirs": Bleu(n=1)})
    assert table.metrics == ("mine", "theirs")


@pytest.mark.parametrize("metrics", ["length", ["length"], Length(), [Length()], {"length": Length()}])
def test_one_metric_in_many_ways(metrics: Any) -> None:
    assert rejoinder.score(EXAMPLES, metrics)["length"].tolist() == [3.0, 2.0, 1.0]


def test_without_metrics_the_defaults_run() -> None:
    table = rejoinder.score(EXAMPLES[:2], None)
    assert set(table.metrics) <= set(DEFAULT_METRICS)
    assert {"bleu-2", "length"} <= set(table.metrics)


def test_a_need_that_no_example_meets_is_an_error_one_that_some_meet_a_warning() -> None:
    without = [replace(example, references=()) for example in EXAMPLES]
    with pytest.raises(NeedsError, match=r"^bleu needs references, but none of the 3 examples of <list> has any$"):
        rejoinder.score(without, ["length", "bleu"])
    with pytest.warns(
        ScoreWarning, match=r"^bleu could not score 2 of 3 replies \(no references, or no token to compare\)$"
    ):
        scores = rejoinder.score([EXAMPLES[0], *without[1:]], "bleu")["bleu"]
    assert np.isnan(scores).tolist() == [False, True, True]


def test_empty_replies_are_warned_of() -> None:
    with pytest.warns(ScoreWarning, match=r"^2 replies are empty and scored the worst value of each metric$"):
        table = rejoinder.score([*EXAMPLES, Example("4", (), ""), Example("5", (), " \n")], "length")
    assert table["length"].tolist() == [3.0, 2.0, 1.0, 0.0, 0.0]


def test_scores_keep_the_order_and_do_not_depend_on_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [replace(EXAMPLES[n % 3], id=str(n)) for n in range(20)]
    in_one = rejoinder.score(many, ["bleu-2", "distinct-1"])
    monkeypatch.setattr(run, "BATCH", 3)
    in_many = rejoinder.score(many, ["bleu-2", "distinct-1"])
    assert in_many.ids == [str(n) for n in range(20)]
    for label in in_one.metrics:
        np.testing.assert_array_equal(in_one[label], in_many[label])
    assert in_one.to_dict() == in_many.to_dict()


@dataclass(frozen=True, kw_only=True)
class Rareness(Metric):
    """How rare a reply is among all: it must see all of them first, and counts them for a corpus."""

    name: ClassVar[str] = "rareness"
    measures: ClassVar[str] = "a test"
    citation: ClassVar[str] = "-"

    power: float = 1.0

    def score_batch(self, batch: Batch) -> Scores:
        raise ValueError("nobody looked through the examples")

    def observer(self) -> Seen:
        return Seen(self, {})

    def counter(self) -> Rows:
        return Rows()


@dataclass(frozen=True, kw_only=True)
class ReadyRareness(Rareness):
    times: Any = None

    def score_batch(self, batch: Batch) -> Scores:
        return np.array([1 / self.times[example.response] ** self.power for example in batch.examples])


@dataclass
class Seen:
    metric: Rareness
    times: dict[str, int]

    def add(self, batch: Batch) -> None:
        for example in batch.examples:
            self.times[example.response] = self.times.get(example.response, 0) + 1

    def finish(self) -> Metric:
        return ReadyRareness(power=self.metric.power, times=self.times)


@dataclass
class Rows:
    count: int = 0

    def add(self, batch: Batch, rows: Ints) -> None:
        self.count += len(rows)

    def value(self) -> float:
        return float(self.count)


@dataclass(frozen=True)
class Point:
    """An installed package's entry point."""

    name: str
    module: str
    attr: str


@pytest.fixture
def plugged(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    points = [Point("rareness", __name__, "Rareness"), Point("bleu", __name__, "Rareness")]
    points += [Point("gone", "no_such_module", "X"), Point("odd", "json", "dumps")]
    monkeypatch.setattr(registry, "entry_points", lambda group: points if group == "rejoinder.metrics" else [])
    registry.metric_names.cache_clear()
    yield
    registry.metric_names.cache_clear()


@pytest.mark.usefixtures("plugged")
def test_a_plug_in_is_used_like_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "BATCH", 2)
    said = [("x", "A"), ("y", "B"), ("x", "B"), ("x", "A")]
    examples = [Example(str(n), (), text, system=name) for n, (text, name) in enumerate(said)]
    table = rejoinder.score(examples, ["rareness(power=2)", "length"])
    np.testing.assert_allclose(table["rareness(power=2)"], [1 / 9, 1, 1 / 9, 1 / 9])
    assert {name: cell.corpus for name, cell in table.summary()["rareness(power=2)"].items()} == {"A": 2.0, "B": 2.0}
    assert table.signatures["rareness(power=2)"] == f"rareness|power:2|v:{NUMBERS}"
    with pytest.raises(UnknownNameError, match=r"^unknown metric 'rarness'; did you mean rareness"):
        rejoinder.load("rarness")


@pytest.mark.usefixtures("plugged")
def test_our_own_names_win_and_broken_plug_ins_are_named() -> None:
    assert isinstance(rejoinder.load("bleu"), Bleu)
    with pytest.raises(CallError, match=r"^no_such_module:X cannot be imported \(No module named 'no_such_module'\)$"):
        rejoinder.load("gone")
    with pytest.raises(CallError, match=r"^odd is not a metric: <function dumps at .*> is not a dataclass$"):
        rejoinder.load("odd")

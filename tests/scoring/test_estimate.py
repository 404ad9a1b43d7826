"""Long work says before it starts how long it will take and what would be faster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import Batch
from rejoinder.scoring.run import TimeEstimate, announced, estimate
from rejoinder.types import Example, Scores


class Clock:
    """Time that passes only while a metric scores."""

    now = 0.0


@dataclass(frozen=True, kw_only=True)
class Slow(Metric):
    """Takes a fixed time per reply, and loads for a minute."""

    name: ClassVar[str] = "slow"
    measures: ClassVar[str] = "nothing"
    citation: ClassVar[str] = "-"

    seconds: float = 0.1

    def score_batch(self, batch: Batch) -> Scores:
        Clock.now += 60.0 if len(batch) == 1 else self.seconds * len(batch)
        return np.zeros(len(batch))


@dataclass(frozen=True, kw_only=True)
class Asked(Slow):
    """Stands for a language model, which must not be asked in order to measure it."""

    name: ClassVar[str] = "judge"

    def score_batch(self, batch: Batch) -> Scores:
        raise AssertionError("asked")


@pytest.fixture
def batch(monkeypatch: pytest.MonkeyPatch) -> Batch:
    monkeypatch.setattr("rejoinder.scoring.run.time.perf_counter", lambda: Clock.now)
    return Batch([Example(str(n), ("Hello?",), f"reply {n}") for n in range(600)])


def test_time_is_measured_without_loading(batch: Batch) -> None:
    found = estimate({"slow": Slow(), "fast": Slow(seconds=0.0001), "judge": Asked()}, batch, 10_000)
    assert found.seconds == pytest.approx({"slow": 1000.0, "fast": 1.0})
    assert estimate({"slow": Slow()}, batch, 10_000, processes=4).total == pytest.approx(250.0)


def test_short_work_is_not_announced(batch: Batch, capsys: pytest.CaptureFixture[str]) -> None:
    assert list(announced(iter([batch]), {"slow": Slow(seconds=0.001)}, 600)) == [batch]
    assert list(announced(iter([batch]), {"slow": Slow(seconds=5)}, 499)) == [batch]
    assert list(announced(iter([]), {"slow": Slow()}, 600)) == []
    assert capsys.readouterr().err == ""


def test_long_work_is_announced_before_the_first_batch(batch: Batch, capsys: pytest.CaptureFixture[str]) -> None:
    batches = announced(iter([batch, batch]), {"slow": Slow(), "fast": Slow(seconds=0.01)}, 1200)
    assert capsys.readouterr().err.splitlines() == [
        "note: Scoring 1,200 replies will take about 2 min (measured on a few of them); slow takes 91% of that.",
        "note: Faster: without slow, about 12 s.",
    ]
    assert list(batches) == [batch, batch]


def test_default_has_a_faster_one_with_its_own_measured_time(batch: Batch) -> None:
    found = estimate({"default": Slow()}, batch, 10_000)
    assert list(found.faster) == ["default"]
    name, seconds = found.faster["default"]
    assert (name, seconds < found.total) == ("default-fast", True)
    assert estimate({"default": Slow(), "default-fast": Slow()}, batch, 10_000).faster == {}


def test_sentences() -> None:
    found = TimeEstimate(20_000, {"default": 600.0, "bleu": 10.0}, {"default": ("default-fast", 2.0)})
    assert found.sentences() == [
        "Scoring 20,000 replies will take about 10 min (measured on a few of them); default takes 98% of that.",
        "Faster: -m default-fast in place of default, about 12 s (`rejoinder metrics default-fast` says what is lost); "
        "without default, about 10 s; a random sample (`rejoinder convert --sample`), about 61 s for 2,000 replies.",
    ]
    assert TimeEstimate(1000, {"only": 30.0}, {}).sentences() == [
        "Scoring 1,000 replies will take about 30 s (measured on a few of them)."
    ]

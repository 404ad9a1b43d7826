"""Progress inside a batch."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from rejoinder.data.source import Source, survey
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import Batch
from rejoinder.scoring.run import LocalRun
from rejoinder.threads import in_threads
from rejoinder.types import Example, Scores


@dataclass(frozen=True, kw_only=True)
class InParts(Metric):
    """A slow metric that works on four replies at a time."""

    name: ClassVar[str] = "in-parts"
    measures: ClassVar[str] = "a test"
    citation: ClassVar[str] = "-"
    is_slow: ClassVar[bool] = True

    def score_batch(self, batch: Batch) -> Scores:
        parts = range(0, len(batch), 4)
        return np.concatenate([np.zeros(len(batch.examples[start : start + 4])) for start in in_threads(int, parts)])


def test_the_bar_moves_while_a_batch_is_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of several systems are one batch up to 8,192 replies."""
    moved: list[int] = []
    bar = SimpleNamespace(update=moved.append)
    monkeypatch.setattr(LocalRun, "bar", lambda *_: nullcontext(bar))
    examples = [Example(str(n), (f"context {n // 2}",), f"reply {n}", (), "AB"[n % 2]) for n in range(16)]
    run = LocalRun(
        examples, survey(Source(examples), quiet=True), {"slow": InParts(), "other": InParts()}, quiet=True, jobs=1
    )
    run.score()
    assert moved == [2] * 8 + [0], "two metrics, each with four parts of four replies"

"""`rejoinder metrics`: what each one needs, measures and comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pytest

from rejoinder import registry
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import Batch
from rejoinder.types import Scores

if TYPE_CHECKING:
    from running import Run


def test_every_metric_is_listed_with_all_that_a_chooser_needs(run: Run) -> None:
    listed = run("metrics", "--json").json["metrics"]
    assert listed.keys() == registry.metric_names().keys()
    for name, about in listed.items():
        assert about["measures"], name
        assert about["citation"], name
        assert set(about["needs"]) <= {"references", "context"}
        assert len(about["range"]) == 2
        assert isinstance(about["higher_is_better"], bool)
    assert listed["bleu"]["needs"] == ["references"]
    assert listed["bleu"]["parameters"]["n"] == 4
    assert "bleu-2" in listed["bleu"]["presets"]
    assert listed["length"]["range"] == [0.0, None]


def test_the_text_says_the_same(run: Run) -> None:
    ran = run("metrics")
    assert (ran.code, ran.err) == (0, "")
    for name, about in run("metrics", "--json").json["metrics"].items():
        assert f"\n{name}" in f"\n{ran.out}"
        assert about["measures"].split()[0] in ran.out


@dataclass(frozen=True, kw_only=True)
class NeedsAValue(Metric):
    """A plug-in with a parameter that has no default."""

    name: ClassVar[str] = "needs-a-value"
    measures: ClassVar[str] = "nothing"
    citation: ClassVar[str] = "-"

    factor: float

    def score_batch(self, batch: Batch) -> Scores:
        return np.full(len(batch), self.factor)


def test_a_metric_with_a_required_parameter_is_listed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.METRICS, "needs-a-value", f"{__name__}:NeedsAValue")
    registry.metric_names.cache_clear()
    try:
        assert run("metrics", "--json").json["metrics"]["needs-a-value"]["parameters"] == {"factor": None}
        assert "parameters: factor\n" in run("metrics").out
    finally:
        registry.metric_names.cache_clear()

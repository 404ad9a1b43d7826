"""`rejoinder metrics`: what each one needs, measures and comes from."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pytest

from places import DOCS
from rejoinder import registry
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import Batch
from rejoinder.registry import TRAINABLE
from rejoinder.scoring.advice import measured_trust
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
    shown = " ".join(ran.out.split())
    for name, about in run("metrics", "--json").json["metrics"].items():
        assert f" {name} {about['measures']} " in shown


def test_what_can_be_trained_is_listed_in_groups(run: Run) -> None:
    shown = " ".join(run("metrics").out.split())
    assert run("metrics", "--json").json["trainable"] == TRAINABLE
    for group, purposes in TRAINABLE.items():
        assert f"{group}:" in shown
        for name, purpose in purposes.items():
            assert f" {name} {purpose} " in shown


def test_one_metric_is_explained_with_weaknesses_and_agreement(run: Run) -> None:
    ran = run("metrics", "bleu-2")
    assert (ran.code, ran.err) == (0, "")
    assert "parameters  n=2, " in ran.out
    assert "weaknesses  A good reply in other words" in ran.out
    figure = measured_trust("bleu")[0]
    assert f"{figure.judged}, {figure.dimension}" in ran.out
    assert f"{figure.spearman[0]:.2f} [{figure.spearman[1]:.2f}, {figure.spearman[2]:.2f}]" in ran.out
    about = run("metrics", "bleu-2", "--json").json
    assert about["agreement"][0]["replies"] == figure.replies
    assert about["parameters_set"] == {"n": 2}


@pytest.mark.parametrize(
    "name",
    [
        *registry.METRICS,
        *registry.JUDGES,
        *registry.SHIPPED_EVALUATORS,
        *registry.TEMPLATES,
        *registry.ALIASES,
        *registry.trainable_names(),
    ],
)
def test_every_name_is_explained(run: Run, name: str) -> None:
    ran = run("metrics", name)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"{name}\n")
    assert "\n  use " in ran.out
    is_metric = name not in registry.REPLY_MODELS.keys() | {"tweet2vec"}
    assert ("\n  weaknesses  " in ran.out) == ("\nMeasure it on ratings of your own" in ran.out) == is_metric


def test_an_unknown_name_gets_near_ones(run: Run) -> None:
    ran = run("metrics", "blue")
    assert ran.code == 2
    assert ran.err.startswith("rejoinder: unknown metric or model 'blue'; did you mean ")


def test_the_shipped_agreement_is_that_of_the_results() -> None:
    spec = importlib.util.spec_from_file_location("make_agreement", DOCS / "make_agreement.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert json.loads(module.RESOURCE.read_text(encoding="utf-8")) == module.agreement()
    for page in module.TABLES:
        text = page.read_text(encoding="utf-8")
        assert module.table() in text
        assert module.with_table(text) == text


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
        assert "parameters  factor\n" in run("metrics", "needs-a-value").out
    finally:
        registry.metric_names.cache_clear()

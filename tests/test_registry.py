"""Names to metrics, with parameters; what is wrong is named with what is near."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import rejoinder
from places import DOCS
from rejoinder import registry
from rejoinder.errors import CallError, UnknownNameError
from rejoinder.metrics.bleu import Bleu
from rejoinder.registered import REGISTERED
from rejoinder.registry import ALIASES, METRICS, build, load, metric_class


def test_load_takes_parameters_both_ways() -> None:
    assert load("bleu", n=2) == load("bleu(n=2)") == load("bleu-2") == Bleu(n=2)
    assert load("bleu(n=2)", n=3) == Bleu(n=3), "a keyword wins"
    assert load("bleu-2", smooth="none") == Bleu(n=2, smooth="none")


def test_every_registered_name_loads() -> None:
    for name in (*METRICS, *ALIASES):
        metric = load(name)
        assert isinstance(metric, rejoinder.Metric)
        assert metric.name == ALIASES.get(name, (name, {}))[0]


@pytest.mark.parametrize("name", REGISTERED)
def test_a_name_has_all_that_its_kind_needs(name: str) -> None:
    known = REGISTERED[name]
    scores = known.kind in {"metric", "judge", "evaluator", "shipped", "template"}
    is_trained = name in registry.trainable_names()
    assert bool(known.weakness) == scores
    assert bool(known.group) == is_trained
    assert bool(known.purpose) == (is_trained or known.kind in {"shipped", "template"})
    assert bool(known.models) == (known.kind == "template")
    assert known.place.startswith("rejoinder.") or registry.template_folder(known.place).is_dir()
    if known.page:
        assert (DOCS / known.page).is_file()


REFERENCE = "".join(path.read_text(encoding="utf-8") for path in sorted((DOCS / "reference").glob("*.md")))


@pytest.mark.parametrize("name", REGISTERED)
def test_a_name_has_a_line_in_the_reference(name: str) -> None:
    assert f"`{name}`" in REFERENCE


def test_an_alias_only_presets_parameters_that_exist() -> None:
    for name, preset in ALIASES.values():
        assert preset.items() <= build(name, preset).parameters.items()


def test_numbers_of_numpy_and_whole_numbers_for_fractions_will_do() -> None:
    assert build("bleu", {"n": np.int64(2)}).n == 2
    assert build("rouge-l", {"beta": 1}).beta == 1
    assert build("bleu", {"smooth_value": None}).smooth_value is None


def test_unknown_names_come_with_the_near_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"^unknown metric 'rouge'; did you mean rouge-l"):
        metric_class("rouge")
    with pytest.raises(UnknownNameError, match=r"^unknown metric 'BLEU'; did you mean bleu or "):
        load("BLEU")
    with pytest.raises(UnknownNameError, match=r"^unknown parameter of bleu: 'smoothing'; did you mean smooth"):
        load("bleu", smoothing="exp")


def test_a_folder_is_no_metric_but_a_folder_s_name_may_be_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("bleu", "my evaluator"):
        (tmp_path / name).mkdir()
    assert load("bleu") == Bleu()
    with pytest.raises(CallError, match=r"^my evaluator "):
        load("my evaluator")
    with pytest.raises(CallError, match=r"^cannot read ''"):
        load("")


@dataclass(frozen=True, kw_only=True)
class Demanding(Bleu):
    path: str
    weights: tuple[float, ...] = ()


@pytest.fixture
def demanding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "metric_names", lambda: {"demanding": f"{__name__}:Demanding"})


@pytest.mark.usefixtures("demanding")
def test_required_and_structured_parameters() -> None:
    with pytest.raises(CallError, match=r"^demanding needs a value for path: demanding\(path=\.\.\.\)$"):
        load("demanding(n=2)")
    assert load("demanding(path=x)").path == "x"
    assert load("demanding(path=none)").path == "none", "where text is expected, none is text"
    assert load("demanding(path=x, smooth_value=none)").smooth_value is None
    with pytest.raises(CallError, match=r"^demanding: path must be text, not 3$"):
        load("demanding(path=3)")
    assert load("demanding(path='3')").path == "3"


@pytest.mark.usefixtures("demanding")
@pytest.mark.parametrize("given", [(0.5, 1), [0.5, 1]])
def test_lists_become_tuples_whose_items_are_checked(given: object) -> None:
    assert load("demanding", path="x", weights=given).weights == (0.5, 1)
    assert load("demanding(path=x, weights=[0.5, 1])") == load("demanding(path=x, weights=(0.5, 1))")
    assert hash(load("demanding(path=x, weights=[0.5, 1])"))
    with pytest.raises(CallError, match=r"^demanding: weights\[1\] must be a number, not 'b'$"):
        load("demanding(path=x, weights=[1, b])")
    with pytest.raises(CallError, match=r"^demanding: weights must be a list, not 1$"):
        load("demanding(path=x, weights=1)")
    with pytest.raises(CallError, match=r"^demanding: weights must be a list \(in brackets: \[a, b\]\), not '1\+2'$"):
        load("demanding(path=x, weights=1+2)")


def test_a_metric_within_a_metric_in_all_ways() -> None:
    ensemble = load("ensemble(members=[default, 'bleu(n=2)', bleu( n=2 ), 'my models/x'])")
    assert ensemble.members == ("default", "bleu(n=2)", "bleu(n=2)", "my models/x")
    same = ["default", {"metric": "bleu", "n": 2}, "bleu(n=2)", "my models/x"]
    assert load("ensemble", members=same) == ensemble
    assert load(ensemble.spec) == ensemble
    assert load("ensemble", members=["length", Bleu(n=2)]).spec == "ensemble(members=[length, bleu(n=2)])"
    with pytest.raises(CallError, match=r"^ensemble: members\[1\] must be text or a Metric, not 2$"):
        load("ensemble(members=[length, 2])")
    with pytest.raises(CallError, match=r"^ensemble is not fitted: call fit\(\), or load one that was saved$"):
        ensemble.score([])


def test_evaluators_and_reply_models_load_by_name_and_from_their_folders(tmp_path: Path) -> None:
    model = load("bm25", turns=2)
    dialogues = [rejoinder.Dialogue(str(n), ("tea or coffee", f"tea number {n}", "why")) for n in range(3)]
    model.fit(dialogues).save(tmp_path / "replies")
    ensemble = load("ensemble", members=["length"]).fit(dialogues)
    ensemble.save(tmp_path / "evaluator")
    assert type(load(tmp_path / "replies")) is type(model)
    assert load(tmp_path / "evaluator") == ensemble
    with pytest.raises(UnknownNameError, match=r"^unknown evaluator in .*replies: 'bm25'; "):
        registry.load_evaluator(tmp_path / "replies", {})
    with pytest.raises(UnknownNameError, match=r"^unknown reply model in .*evaluator: 'ensemble'; "):
        registry.load_reply_model(tmp_path / "evaluator")
    with pytest.raises(UnknownNameError, match=r"^unknown parameter of .*evaluator: 'n'; there are none"):
        load(tmp_path / "evaluator", n=2)

"""Names to metrics, with parameters; what is wrong is named with what is near."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rejoinder
from rejoinder import registry
from rejoinder.errors import CallError, UnknownNameError
from rejoinder.metrics.bleu import Bleu
from rejoinder.registry import ALIASES, METRICS, build, load, metric_class, parse_spec


@pytest.mark.parametrize(
    ("spec", "parsed"),
    [
        ("bleu", ("bleu", {})),
        (" bleu ", ("bleu", {})),
        ("bleu()", ("bleu", {})),
        ("bleu(n=2)", ("bleu", {"n": 2})),
        ("bleu( n = 2 , smooth = exp )", ("bleu", {"n": 2, "smooth": "exp"})),
        ("bleu(n=2,)", ("bleu", {"n": 2})),
        ("x(a=1.5, b=true, c=False, d=-3, e=1e3)", ("x", {"a": 1.5, "b": True, "c": False, "d": -3, "e": 1000.0})),
        ("x(a='1, 2', b=\"(3)\")", ("x", {"a": "1, 2", "b": "(3)"})),
        ("x(path=some/where-else.txt)", ("x", {"path": "some/where-else.txt"})),
        ("x(tokenise=13a)", ("x", {"tokenise": "13a"})),
        ("x(a=)", ("x", {"a": ""})),
    ],
)
def test_specs(spec: str, parsed: tuple[str, dict[str, Any]]) -> None:
    name, parameters = parse_spec(spec)
    assert (name, parameters) == parsed
    assert [type(value) for value in parameters.values()] == [type(value) for value in parsed[1].values()]


@pytest.mark.parametrize("spec", ["", "  ", "a b", "bleu(n=2", "bleu)", "bleu(2)", "bleu(n=2 m=3)x", "bleu(,)", "=2"])
def test_specs_that_cannot_be_read(spec: str) -> None:
    with pytest.raises(CallError, match=r"^cannot read "):
        parse_spec(spec)


def test_load_takes_parameters_both_ways() -> None:
    assert load("bleu", n=2) == load("bleu(n=2)") == load("bleu-2") == Bleu(n=2)
    assert load("bleu(n=2)", n=3) == Bleu(n=3), "a keyword wins"
    assert load("bleu-2", smooth="none") == Bleu(n=2, smooth="none")


def test_every_registered_name_loads() -> None:
    for name in (*METRICS, *ALIASES):
        metric = load(name)
        assert isinstance(metric, rejoinder.Metric)
        assert metric.name == ALIASES.get(name, (name, {}))[0]


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


def test_required_and_structured_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "metric_names", lambda: {"demanding": f"{__name__}:Demanding"})
    with pytest.raises(CallError, match=r"^demanding needs a value for path: demanding\(path=\.\.\.\)$"):
        load("demanding(n=2)")
    assert load("demanding(path=x)").path == "x"
    assert load("demanding", path="x", weights=(0.5,)).weights == (0.5,), "only plain types are checked"
    with pytest.raises(CallError, match=r"^demanding: path must be text, not 3$"):
        load("demanding(path=3)")
    assert load("demanding(path='3')").path == "3"

"""Metrics from a TOML file."""

from __future__ import annotations

from pathlib import Path

import pytest

from rejoinder.errors import RejoinderError
from rejoinder.evaluators.ensemble import Ensemble
from rejoinder.metrics.bleu import Bleu
from rejoinder.metrics.overlap import Length
from rejoinder.registry import load, metrics_of_file
from rejoinder.types import Dialogue


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path("m.toml")


def test_labels_names_and_parameters(config: Path) -> None:
    config.write_text(
        '[metrics.bleu]\nn = 2\n\n[metrics.strict-bleu]\nmetric = "bleu"\nsmooth = "none"\n\n'
        '[metrics.bleu-3]\n[metrics."my length"]\nmetric = "length"\nlowercase = false\n'
    )
    assert metrics_of_file("m.toml") == {
        "bleu": Bleu(n=2),
        "strict-bleu": Bleu(smooth="none"),
        "bleu-3": Bleu(n=3),
        "my length": Length(lowercase=False),
    }


def test_evaluators_that_ship_folders_and_metrics_within_metrics(config: Path) -> None:
    Ensemble(members=("length",)).fit([Dialogue("1", ("a", "b b", "c")), Dialogue("2", ("d d d", "e"))]).save("saved")
    config.write_text(
        '[metrics.default]\n[metrics.fast]\nmetric = "default-fast"\n[metrics.mine]\nmetric = "saved"\n'
        '[metrics.pm]\nby = { metric = "bleu", n = 2 }\n'
        '[metrics.ensemble]\nmembers = ["default", { metric = "bleu", n = 2 }, "rouge-l"]\nweights = [2, 1, 0.5]\n'
    )
    found = metrics_of_file("m.toml")
    assert found["default"] == load("default")
    assert found["fast"] == load("default-fast")
    assert found["mine"] == load("saved")
    assert found["pm"] == load("pm(by=bleu(n=2))")
    assert found["ensemble"] == load("ensemble(members=[default, bleu(n=2), rouge-l], weights=(2, 1, 0.5))")


BAD = {
    "[metrics.bleu]\nn = \n": "m.toml: is not valid TOML (Invalid value (at line 2, column 5))",
    "[metric.bleu]\n": "unknown table in m.toml: 'metric'; did you mean metrics?",
    "seed = 3\n[metrics.bleu]\n": "unknown table in m.toml: 'seed'; known: metrics",
    "metrics = 3\n": "m.toml: expected one table per metric, such as [metrics.bleu]",
    "[metrics]\nbleu = 2\n": "m.toml: expected one table per metric, such as [metrics.bleu]",
    "": "m.toml names no metric: expected one table per metric, such as [metrics.bleu]",
    "[metrics.rougel]\n": "m.toml: [metrics.rougel]: unknown metric 'rougel'; did you mean rouge-l",
    "[metrics.bleu]\nm = 2\n": "m.toml: [metrics.bleu]: unknown parameter of bleu: 'm'; known: effective_order, ",
    "[metrics.bleu]\nn = '2'\n": "m.toml: [metrics.bleu]: bleu: n must be a whole number, not '2'",
    "[metrics.bleu]\nn = 12\n": "m.toml: [metrics.bleu]: bleu: n must be from 1 to 9, not 12",
    "[metrics.x]\nmetric = 7\n": "m.toml: [metrics.x]: metric must be a name, not 7",
    "[metrics.pm]\nby = {n = 2}\n": "m.toml: [metrics.pm]: pm: by must be text or a Metric, not {'n': 2}",
    "[metrics.pm]\nby = {metric = 2}\n": "m.toml: [metrics.pm]: expected a table with the name of a metric, such as ",
    f"[metrics.bleu]\nn = {'9' * 5000}\n": "m.toml: is not valid TOML (Exceeds the limit",
    f"x = {'[' * 5000}": "m.toml: is not valid TOML (",
    "[metrics.id]\nmetric = 'bleu'\n": "m.toml: a metric cannot be labelled 'id'",
}


@pytest.mark.parametrize(("text", "message"), BAD.items(), ids=range(len(BAD)))
def test_what_is_wrong_is_told_with_the_file(text: str, message: str, config: Path) -> None:
    config.write_text(text)
    with pytest.raises(RejoinderError) as caught:
        metrics_of_file("m.toml")
    assert str(caught.value).startswith(message)
    assert caught.value.exit_code == 2


def test_files_that_cannot_be_read(config: Path) -> None:
    with pytest.raises(RejoinderError, match=r"^gone\.toml: cannot be read \(No such file or directory\)$"):
        metrics_of_file("gone.toml")
    config.write_bytes(b"\xff")
    with pytest.raises(RejoinderError, match=r"^m\.toml: is not valid TOML \('utf-8' codec can't decode"):
        metrics_of_file("m.toml")

"""Metrics from a TOML file."""

from __future__ import annotations

from pathlib import Path

import pytest

from rejoinder.config import metrics_of_file
from rejoinder.errors import RejoinderError
from rejoinder.metrics.bleu import Bleu
from rejoinder.metrics.length import Length


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


BAD = {
    "[metrics.bleu]\nn = \n": "m.toml: is not valid TOML (Invalid value (at line 2, column 5))",
    "[metric.bleu]\n": "unknown table in m.toml: 'metric'; did you mean metrics?",
    "seed = 3\n[metrics.bleu]\n": "unknown table in m.toml: 'seed'; known: metrics",
    "metrics = 3\n": "m.toml: expected a table a metric, such as [metrics.bleu]",
    "[metrics]\nbleu = 2\n": "m.toml: expected a table a metric, such as [metrics.bleu]",
    "": "m.toml names no metric: expected a table a metric, such as [metrics.bleu]",
    "[metrics.rougel]\n": "m.toml: [metrics.rougel]: unknown metric 'rougel'; did you mean rouge-l",
    "[metrics.bleu]\nm = 2\n": "m.toml: [metrics.bleu]: unknown parameter of bleu: 'm'; known: effective_order, ",
    "[metrics.bleu]\nn = '2'\n": "m.toml: [metrics.bleu]: bleu: n must be a whole number, not '2'",
    "[metrics.bleu]\nn = 12\n": "m.toml: [metrics.bleu]: bleu: n must be from 1 to 9, not 12",
    "[metrics.x]\nmetric = 7\n": "m.toml: [metrics.x]: metric must be a name, not 7",
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

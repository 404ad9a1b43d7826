"""The recipe of the reply models, with a few dialogues and tiny networks."""

from __future__ import annotations

import gzip
import json
import tomllib
from pathlib import Path

import pytest

from small_dialogues import DIALOGUES
from tiny_causal import tiny_causal

pytest.importorskip("torch", reason="needs what training needs")

from papers.liu2016 import train_reply_models
from rejoinder.registry import trainable_class

SMALL = [part for setting in ("vocabulary=320", "embedding=8", "hidden=12") for part in ("--set", f"*.{setting}")]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for split in ("train", "valid", "test"):
        with gzip.open(tmp_path / f"few.{split}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps({"id": one.id, "turns": one.turns}) + "\n" for one in DIALOGUES * 3)
    return tmp_path


@pytest.mark.slow
def test_every_model_of_the_recipe_gets_a_row(data: Path) -> None:
    tiny = [part for name in ("causal-lm", "causal-lm-speakers") for part in ("--set", f"{name}.model={tiny_causal()}")]
    given = [str(data), "--corpus", "few", "--minutes", "0.01", "-o", str(data / "out"), *SMALL, *tiny]
    train_reply_models.main(given)
    names = list(tomllib.loads(train_reply_models.RECIPE.read_text())["models"])
    written = (data / "out" / "table.md").read_text()
    rows = {line.split("|")[1].strip(" `"): line.split("|")[2:-1] for line in written.splitlines()[2 : 2 + len(names)]}
    assert list(rows) == names
    figures = {name: json.loads((data / "out" / f"{name}.json").read_text()) for name in names}
    assert [name for name, one in figures.items() if one["recall"] is not None] == ["dual-encoder-rnn"]
    assert [name for name, one in figures.items() if one["perplexity"] is None] == ["dual-encoder-rnn"]
    assert [name for name, one in figures.items() if not one["samples"]] == ["skip-thought"]
    assert figures["hred-two-layers"]["weights"] > figures["hred"]["weights"]
    assert figures["causal-lm-speakers"]["weights"] > figures["causal-lm"]["weights"]
    assert (data / "out" / "seq2seq-bahdanau" / "config.json").read_text().count('"attention": "bahdanau"') == 1


@pytest.mark.slow
def test_a_model_that_is_there_is_neither_trained_nor_measured_again(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [str(data), "--corpus", "few", "--minutes", "0.01", "-o", str(data / "out"), *SMALL]
    train_reply_models.main([*given, "--only", "hred"])
    monkeypatch.setattr(train_reply_models, "_likelihood", lambda *_: pytest.fail("measured again"), raising=True)
    train_reply_models.main([*given, "--only", "hred"])
    monkeypatch.undo()
    train_reply_models.main([*given, "--only", "lstm-lm,hred"])  # trains the one that is missing
    written = (data / "out" / "table.md").read_text()
    assert [line.split("`")[1] for line in written.splitlines()[2:4]] == ["lstm-lm", "hred"]


@pytest.mark.slow
def test_the_minutes_of_an_interrupted_run_count(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = [str(data), "--corpus", "few", "--minutes", "0.01", "-o", str(data / "out"), *SMALL, "--only", "lstm-lm"]
    clock = iter(range(0, 10_000, 60))  # each reading is a minute after the one before
    monkeypatch.setattr(train_reply_models, "process_time", lambda: next(clock))
    fit = trainable_class("lstm-lm").fit

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(trainable_class("lstm-lm"), "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train_reply_models.main(given)
    monkeypatch.setattr(trainable_class("lstm-lm"), "fit", fit)
    train_reply_models.main(given)
    assert json.loads((data / "out" / "lstm-lm.json").read_text())["minutes"] == 2

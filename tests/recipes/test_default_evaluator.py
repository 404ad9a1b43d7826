"""The recipe of the default evaluator, at its tiny size and with tiny models."""

from __future__ import annotations

import gzip
import json
import shutil
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from recipes.default_evaluator import __main__ as recipe
from recipes.default_evaluator.labels import Label

import rejoinder
from rejoinder.types import Example
from tiny_causal import tiny_causal
from tiny_encoder import TOPICS, dialogues, write_encoder

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "recipes/default_evaluator/settings.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of data and pretrained models, laid out as the recipe expects them."""
    home = tmp_path_factory.mktemp("recipe")
    for name in (SETTINGS["encoder"], *SETTINGS["anchors"]):
        write_encoder(home / "models" / name)
    shutil.copytree(tiny_causal(), home / "models" / SETTINGS["language_model"])
    for name in SETTINGS["corpora"]:
        spoken = [{"turns": [f"{turn} {name}" for turn in dialogue.turns]} for dialogue in dialogues()]
        write(home / "data/dialogues" / f"{name}.jsonl.gz", spoken)
    for name, table in SETTINGS["judged"].items():
        lowest, highest = table.get("scale", (1, 5))
        replies = [
            Example(f"{topic}-{fits}", (f"what of {name}", f"tell me about {topic} {name}"), f"i like {topic} so much")
            for topic in TOPICS
            for fits in (0, 1)
        ]
        rows = [
            asdict(reply) | {"scores": {table["dimension"]: [(lowest, highest)[reply.id.endswith("1")]]}}
            for reply in replies
        ]
        write(home / "data/judged" / f"{name}.jsonl.gz", rows)
    return home


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in rows)


@pytest.mark.slow
def test_all_steps(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [argument for name in ("data", "models", "work") for argument in (f"--{name}", str(home / name))]
    recipe.main(["--tiny", "-o", str(home / "default"), *folders])
    assert "int8: mean difference from torch" in capsys.readouterr().out
    assert {path.name for path in (home / "default").iterdir()} >= {"config.json", "model.int8.onnx", "tokenizer.json"}
    assert not (home / "default/model.onnx").exists()
    evaluator = rejoinder.load(home / "default")
    scores = evaluator.score([Example("", ("tell me about tea",), reply) for reply in ("i like tea", "chess")])
    assert ((scores >= 1) & (scores <= 5)).all()
    config = json.loads((home / "default/config.json").read_text())
    assert config["parameters"]["encoder"] == SETTINGS["published_as"]
    assert config["fit"]["judged"] > 0
    rows = [json.loads(line) for line in (home / "work/out_of_fold.jsonl").read_text().splitlines()]
    assert {row["judged"] for row in rows} == set(SETTINGS["labels"]["sets"])
    assert {row["fold"] for row in rows} == {0, 1}


@pytest.mark.slow
def test_steps_that_are_done_are_skipped(home: Path) -> None:
    again = recipe.Recipe(SETTINGS, home / "models", home / "work", ())  # without dialogues nothing can be trained
    towers = [again.towers(name) for name in (SETTINGS["encoder"], *SETTINGS["anchors"])]
    polished = again.polished(again.student(towers))
    assert (polished / "model.safetensors").exists()
    rows = [json.loads(line) for line in (home / "work/out_of_fold.jsonl").read_text().splitlines()]
    items = [Label(row["judged"], Example(row["id"], (row["id"],), ""), 3.0, True) for row in rows]
    one_fold = replace(again, settings={**SETTINGS, "labels": {**SETTINGS["labels"], "folds": 2}})
    assert one_fold.out_of_fold(polished, items).tolist() == [row["score"] for row in rows]

"""The recipes of `fluency` and of the blends, on a few sentences."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from recipes import default_blend, fluency
from rejoinder.metrics.fluency import fluency as scores_of
from rejoinder.metrics.fluency import full_precision

TURNS = [
    "Would you like a cup of tea with lemon?",
    "Yes, I would love some green tea, please.",
    "The train was late again because of the heavy snow.",
    "Then we should leave an hour earlier next time.",
    "My brother plays chess every Sunday with his neighbour.",
    "I never learned how to play it, but I would like to.",
]


@pytest.fixture
def dialogues(tmp_path: Path) -> str:
    path = tmp_path / "dialogues.jsonl"
    path.write_text(json.dumps({"id": "a", "turns": TURNS}) + "\n")
    return str(path)


def test_fluency_is_trained_and_read_by_the_metric(dialogues: str, tmp_path: Path) -> None:
    target = tmp_path / "fluency.safetensors"
    fluency.train(argparse.Namespace(dialogues=[dialogues], steps=40, seed=0, output=str(target)))
    arrays = full_precision(load_file(target))
    broken = [" ".join(sorted(turn.split())) for turn in TURNS]
    assert np.mean(scores_of(TURNS, arrays)) > np.mean(scores_of(broken, arrays))


@pytest.mark.parametrize("breaking", fluency.BREAKING, ids=lambda way: way.__name__)
def test_every_way_breaks_most_turns(breaking: fluency.Breaking) -> None:
    rng, words = np.random.default_rng(0), TURNS[2].lower().rstrip(".").split()
    made = [breaking(words, TURNS[4].split(), rng) for _ in range(20)]
    assert sum(each != words for each in made) >= 18


def test_corruptions_are_pairs(dialogues: str, tmp_path: Path) -> None:
    default_blend.main(["corruptions", "--dialogues", dialogues, "-o", str(tmp_path / "made.jsonl")])
    rows = [json.loads(line) for line in (tmp_path / "made.jsonl").read_text().splitlines()]
    assert len(rows) >= 6
    for intact, broken in zip(rows[::2], rows[1::2], strict=True):
        assert intact["context"] == broken["context"]
        assert intact["response"] in TURNS
        assert intact["response"] != broken["response"]
        assert (intact["scores"], broken["scores"]) == ({"intact": [1]}, {"intact": [0]})

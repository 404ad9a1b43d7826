"""The recipes of `fluency` and of the blends, on a few sentences."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from recipes import default_blend, fluency, usage
from rejoinder.metrics.fluency import fluency as scores_of
from rejoinder.metrics.fluency import full_precision
from rejoinder.text.usage import usage_of, words_of

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


def test_generic_replies_are_frequent_turns_in_the_place_of_others(dialogues: str, tmp_path: Path) -> None:
    usual = tmp_path / "usual.jsonl"
    usual.write_text(json.dumps({"id": "a", "turns": ["me too!", "Why is that", "Me too.", "!?", "I think so"]}) + "\n")
    target = str(tmp_path / "made.jsonl")
    default_blend.main(["generic", "--dialogues", dialogues, "--usual", str(usual), "-o", target])
    rows = [json.loads(line) for line in Path(target).read_text().splitlines()]
    assert len(rows) == 2 * (len(TURNS) - 1)
    assert {row["response"] for row in rows[1::2]} <= {"Me too.", "Why is that?", "I think so."}
    assert [row["scores"]["specific"] for row in rows[:2]] == [[1], [0]]


def test_usage_is_counted_and_read(dialogues: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "usage.safetensors"
    monkeypatch.setattr(usage, "FEWEST", {"words": 1, "pairs": 1, "turns": 1})
    usage.main(["--dialogues", dialogues, "-o", str(target)])
    counted = usage_of(load_file(target))
    assert counted.information("would") == pytest.approx(np.log(6 / 3), abs=0.05)  # in three of six turns
    assert counted.information("zebra") == pytest.approx(np.log(6 / 2), abs=0.05)
    words = words_of(TURNS[3])
    assert counted.usual_order(words) > counted.usual_order(words[::-1])
    assert counted.turn_count(words) == 1
    assert counted.turn_count(words[::-1]) == 0

"""The recipe of the network with several heads: its material can be learned from, and what measures is not in it."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recipes.contradiction_rules import MinimalPair

from places import ROOT
from recipes import default_heads
from rejoinder.data.negatives import places_of
from rejoinder.evaluators.encoder.heads import Head, HeadData
from tiny_encoder import dialogues

RNG = np.random.default_rng
SHARED = ROOT.parent / "shared" / "data"


def packed(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def read(tmp_path: Path, rows: Any, loss: str) -> HeadData:
    default_heads.write(tmp_path / "rows.jsonl", rows)
    return HeadData.read(Head("head", loss, str(tmp_path / "rows.jsonl")))


def test_the_correct_reply_is_the_one_that_wins(tmp_path: Path) -> None:
    pairs = [MinimalPair((f"context {n}",), f"right {n}", f"wrong {n}", "time") for n in range(20)]
    data = read(tmp_path, default_heads.pairs_of(pairs, RNG(0)), "pairs")
    firsts = 0
    for row in data.rows:
        assert row.replies[int(np.argmax(row.wanted))].startswith("right")
        firsts += row.wanted[0] == 1
    assert 4 < firsts < 16


def test_a_contradicted_premise_is_0(tmp_path: Path) -> None:
    rows = [
        {"premise": "p", "hypothesis": label, "label": label, "split": split}
        for label, split in (
            ("contradiction", "train"),
            ("neutral", "dev"),
            ("entailment", "train"),
            ("neutral", "test"),
        )
    ]
    data = read(tmp_path, default_heads.nli(packed(tmp_path / "nli.gz", rows)), "binary")
    assert dict(zip(data.rows[0].replies, data.rows[0].wanted, strict=True)) == {
        "contradiction": 0,
        "neutral": 1,
        "entailment": 1,
    }


def test_dialogues_that_measure_do_not_teach(tmp_path: Path) -> None:
    rows = [
        {"dialogue_id": f"d{n}", "context": [f"c{n}"], "response": "r", "scores": {"fits": [1, 0.5]}}
        for n in range(200)
    ]
    packed(tmp_path / "dbdc3_en_dev.jsonl.gz", rows)
    scores = {"overall impression (majority of 3)": [2, 1, 0]}
    packed(tmp_path / "conture_turn.jsonl.gz", [{"context": ["c"], "response": "r", "scores": scores}])
    data = read(tmp_path, default_heads.breakdowns(tmp_path), "votes")
    left_out = [n for n in range(200) if default_heads.left_out(f"d{n}")]
    assert 30 < len(left_out) < 70
    learned = {row.context[0] for row in data.rows}
    assert learned == {"c", *(f"c{n}" for n in range(200) if n not in left_out)}


def test_true_replies_stand_above_others(tmp_path: Path) -> None:
    places = places_of(dialogues())
    data = read(tmp_path, default_heads.true_and_random(places[:10], places, RNG(0)), "ranking")
    for place, row in zip(places[:10], data.rows, strict=True):
        assert row.context == place.context
        assert row.replies[int(np.argmax(row.wanted))] == place.response
        assert sorted(row.wanted) == [0, 0, 1]


def test_what_is_sensible_acceptable_or_informative(tmp_path: Path) -> None:
    places = places_of(dialogues())
    sense = [{"options": ["good", "bad"], "answer": 0, "split": split} for split in ("train", "test")]
    [row] = read(tmp_path, default_heads.sense(packed(tmp_path / "s.gz", sense), RNG(0)), "pairs").rows
    assert row.replies[int(np.argmax(row.wanted))] == "good"
    blimp = packed(tmp_path / "b.gz", [{"good": "fine", "bad": "finely"}])
    found = read(tmp_path, default_heads.acceptable(blimp, places[:20], places, RNG(0)), "pairs").rows
    assert len(found) > 5
    true = {"fine", *(place.response for place in places)}
    assert all(row.replies[int(np.argmax(row.wanted))] in true for row in found)
    found = read(tmp_path, default_heads.informative(places, dialogues(), 30, RNG(0)), "pairs").rows
    assert all(row.replies[int(np.argmin(row.wanted))] in default_heads.TRUISMS for row in found)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.shared_data
@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/data")
@pytest.mark.skipif(not os.environ.get("REJOINDER_RECIPES"), reason="takes three minutes: make recipes")
def test_all_steps_run(tmp_path: Path) -> None:
    given = ["--data", str(SHARED), "--work", str(tmp_path), "--tiny", "--threads", "1", "--mixed-precision", "no"]
    default_heads.main(given)
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    for word in ("written contradictions, all (200 pairs)", "mutual.train", "DBDC3", "PandaLM", "garbled", "speed"):
        assert word in page
    before = {path: path.stat().st_mtime for path in tmp_path.iterdir()}
    default_heads.main(given)
    assert {path: path.stat().st_mtime for path in tmp_path.iterdir()} == before

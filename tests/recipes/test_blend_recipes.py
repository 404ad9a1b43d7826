"""The recipes of `fluency` and of the blends, on a few sentences."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from recipes import blend_results, default_blend, fluency, usage
from rejoinder.metrics.fluency import fluency as scores_of
from rejoinder.metrics.fluency import full_precision
from rejoinder.text.words import word_usage, words_of

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
    counted = word_usage(load_file(target))
    assert counted.information("would") == pytest.approx(np.log(6 / 3), abs=0.05)  # in three of six turns
    assert counted.information("zebra") == pytest.approx(np.log(6 / 2), abs=0.05)
    words = words_of(TURNS[3])
    assert counted.usual_order(words) > counted.usual_order(words[::-1])
    assert counted.turn_count(words) == 1
    assert counted.turn_count(words[::-1]) == 0


def test_the_tables_of_the_blends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    paths = [tmp_path / f"{name}.jsonl" for name in ("gupta2019_dailydialog", "holistic_context", "humod")]
    for path in (*paths, tmp_path / "made.jsonl", tmp_path / "tested.jsonl"):
        rows = []
        for n in range(40):
            response = " ".join(TURNS[n % 6].split()[: 2 + n % 4])
            # The people of one set like short replies: that it counts changes what is predicted for the others.
            sign = -1 if path.name == "made.jsonl" else 1
            judged_as = {"overall": [sign * len(response) + 2 * rng.normal()]}
            rows.append({"id": f"{n}", "context": [f"{TURNS[n % 5]} {n}"], "response": response, "scores": judged_as})
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    judged, (made, tested) = (
        [str(path) for path in paths],
        (str(tmp_path / f"{name}.jsonl") for name in ("made", "tested")),
    )
    examples = tmp_path / "examples.jsonl"
    examples.write_text(
        "".join(
            json.dumps({"id": f"{n}", "context": [f"{turn} {n}"], "response": reply, "system": system}) + "\n"
            for n, turn in enumerate(TURNS * 4)
            for system, reply in (("good", f"{turn} {n}"), ("generic", "I don't know."))
        )
    )
    given = ["--member", "length", "specificity", "--models", "ridge", "--keep-scores", str(tmp_path / "scores")]
    assert table(capsys, "left-out", *judged, *given)[-1][:2] == ["mean of the seven", "80"]
    assert table(capsys, "within", *judged, *given)[-1][:2] == ["mean of the seven", "80"]
    weights = table(capsys, "trade-off", *judged, "--made", made, "--tested", tested, *given)
    assert [row[0] for row in weights[2:]] == ["0", "0.1", "0.2", "0.4", "1"]
    assert float(weights[-1][1]) != float(weights[2][1])
    penalties = table(capsys, "penalty", *judged, "--examples", str(examples), *given)
    apart = [float(row[3].split()[0]) for row in penalties[2:]]
    assert np.diff(apart) == pytest.approx([0.1, 0.1, 0.1, 0.3], abs=0.011), "each generic reply is a stock reply"


def table(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[list[str]]:
    """The cells of the table that the recipe prints."""
    blend_results.main(arguments)
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]

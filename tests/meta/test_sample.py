"""`rejoinder.sample`: replies to label with known probabilities, and what `compare --labels` makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from rejoinder.comparing.compare import compare
from rejoinder.errors import CallError
from rejoinder.people.sample import sample

if TYPE_CHECKING:
    from running import Run, WriteLines

N = 120


def replies() -> list[dict[str, Any]]:
    """Two systems on 120 contexts; the length of a reply is what its metric sees."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 30, (2, N))
    return [
        {"id": f"c{at}", "context": [f"question {at}"], "system": system, "response": " ".join(["w"] * int(length))}
        for system, row in zip("AB", lengths, strict=True)
        for at, length in enumerate(row)
    ]


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    """Scores with intervals that are long for long replies."""
    path = tmp_path / "scores.csv"
    lines = ["id,system,default,default.low,default.high"]
    for reply in replies():
        words = len(reply["response"].split())
        lines.append(f"{reply['id']},{reply['system']},{words / 10},{words / 10 - words},{words / 10 + words}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_long_intervals_make_a_reply_more_likely(scored: Path, tmp_path: Path) -> None:
    made = sample(replies(), 40, scores=scored, output=tmp_path / "to_label.jsonl")
    assert (made.design, made.predictor, len(made.examples)) == ("active", "default", 40)
    records = [json.loads(line) for line in (tmp_path / "to_label.jsonl").read_text().splitlines()]
    assert [record["system"] for record in records].count("A") == 20
    words = np.array([len(record["response"].split()) for record in records])
    p = np.array([record["probability"] for record in records])
    assert np.corrcoef(words, p)[0, 1] > 0.99
    assert sample(replies(), 40, scores=scored).examples == made.examples  # the same seed
    assert sample(replies(), 40, scores=scored, seed=1).examples != made.examples


def test_a_pilot_gives_labels_to_strata_that_are_predicted_badly(scored: Path) -> None:
    rng = np.random.default_rng(1)
    pilot = []
    for reply in replies()[::2]:
        length = len(reply["response"].split())
        pilot.append({**reply, "scores": length / 10 + rng.normal() * (3.0 if length > 20 else 0.1)})
    made = sample(replies(), 60, scores=scored, pilot=pilot)
    assert made.design == "stratified"
    words = np.array([len(example.response.split()) for example in made.examples])
    assert made.probabilities[words > 25].min() > 2 * made.probabilities[words < 10].max()


def test_without_scores_all_are_equally_likely() -> None:
    made = sample(replies(), 24)
    assert made.design == "random"
    assert set(made.probabilities.tolist()) == {12 / N}
    assert "24 replies to label, chosen with equal probabilities" in str(made)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"labels": 1}, "labels must be from 2 to 240, not 1"),
    ({"labels": 500}, "labels must be from 2 to 240, not 500"),
    ({"design": "active"}, "the design active needs scores"),
    ({"design": "clever"}, "design must be 'random', 'stratified' or 'active', not 'clever'"),
    ({"predictor": "bleu"}, "a predictor needs scores"),
    ({"pilot": [{"response": "a", "scores": 1}]}, "a pilot is for the design stratified, not random"),
]


@pytest.mark.parametrize(("settings", "message"), WRONG)
def test_wrong_calls_are_told(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(CallError, match=message):
        sample(replies(), **{"labels": 20, **settings})


def test_replies_without_scores_are_told(scored: Path) -> None:
    extra = [*replies(), {"id": "new", "system": "A", "response": "w"}]
    with pytest.raises(CallError, match=r"1 of 241 replies have no row in the scores \(new\)"):
        sample(extra, 20, scores=scored)
    with pytest.raises(CallError, match="the id 'c0' occurs twice"):
        sample([*replies(), replies()[0]], 20)
    with pytest.raises(CallError, match="unknown predictor 'bleu'"):
        sample(replies(), 20, scores=scored, predictor="bleu")


def labelled(made: Any) -> list[dict[str, Any]]:
    """People like long replies, and system B's a little more."""
    return [
        {**record, "scores": {"overall": len(record["response"].split()) / 5 + (record["system"] == "B")}}
        for record in made.records()
    ]


def test_compare_weights_labels_by_their_probabilities(scored: Path) -> None:
    made = sample(replies(), 80, scores=scored)
    human = compare(replies(), metrics="length", labels=labelled(made)).human
    assert human is not None
    assert human.weighted
    assert "weighted by the probabilities" in human.title
    words = [len(reply["response"].split()) for reply in replies()]
    truth = float(np.mean(words[:N])) / 5
    assert human.means["A"].interval.estimate == pytest.approx(truth, abs=1e-6)  # the metric predicts it perfectly
    assert human.means["A"].labels_only.covers(truth)
    plain_mean = np.mean([len(e.response.split()) / 5 for e in made.examples if e.system == "A"])
    assert plain_mean > truth + 0.3, "long replies were chosen more often, so that the plain mean is biased"


def test_missing_labels_and_probabilities_are_noted(scored: Path) -> None:
    made = sample(replies(), 80, scores=scored)
    records = labelled(made)
    fewer = [record for at, record in enumerate(records) if at % 4 == 0]
    human = compare(replies(), metrics="length", labels=fewer).human
    assert human is not None
    assert any("labels are missing or were not chosen with these probabilities" in note for note in human.notes)
    records[0].pop("probability")
    with pytest.raises(CallError, match="only some labels have a probability"):
        compare(replies(), metrics="length", labels=records)


def test_the_verbs(run: Run, write_lines: WriteLines, scored: Path) -> None:
    path = write_lines(replies())
    ran = run("sample", path, "--scores", scored, "--labels", 40, "-o", "to_label.jsonl")
    assert ran.code == 0, ran.err
    assert "40 replies to label, chosen in proportion to the uncertainty of default" in ran.out
    ran = run("sample", path, "--labels", 40, "-o", path)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "is an input: expected another file" in ran.err
    judged = write_lines(
        [
            {**json.loads(line), "scores": [1 + at % 3, 1 + at % 3, 2], "raters": ["ann", "bo", "\x1b[2Jcy"]}
            for at, line in enumerate(Path("to_label.jsonl").read_text().splitlines())
        ],
        "ratings.jsonl",
    )
    ran = run("agree", judged, "--least-kappa", 0.2, "--mad", "-o", "judged.jsonl", "--resamples", 50)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("score: single ratings are reliable")
    assert "\x1b" not in ran.out
    assert run("agree", judged, "--json", "--resamples", 20).json["dimensions"]["score"]["ratings"] == 120
    ran = run("agree", judged, "--aggregation", "mace")
    assert (ran.code, ran.err) == (2, "rejoinder: --aggregation needs -o, the file to write the scores to\n")

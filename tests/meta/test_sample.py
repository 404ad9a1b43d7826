"""`rejoinder.sample`: replies to label with known probabilities, and what `compare --labels` makes of them."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from rejoinder.comparing.compare import compare
from rejoinder.errors import CallError, DataError
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
    with pytest.raises(DataError, match="'c0' of system 'A' was already used on line 1"):
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


GOOD = ("Go to your page and ask for a new one.", "It is in Lyon.", "Yes, by any card.", "At nine, on Sunday at ten.")


def logs(write_lines: WriteLines, *, shared: bool = True) -> tuple[Path, Path]:
    """Two files with the same ids: evasive replies, and lists that a person likes better."""

    def lines(texts: list[str], first: int) -> list[dict[str, Any]]:
        return [
            {"id": str(row), "context": [f"Ticket {first + row}.", "What now?"], "response": texts[row % 4]}
            for row in range(40)
        ]

    lists = [f"Here is what to know:\n\n- {text}\n- Call us." for text in GOOD]
    old = write_lines(lines(["I don't know.", "Maybe.", "=1+1", "I am not sure."], 0), "old.jsonl")
    return old, write_lines(lines(lists, 0 if shared else 100), "new.jsonl")


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines(keepends=True)))


def rate(path: Path, rows: list[dict[str, str]], unrated: int = 0) -> None:
    """A person likes lists, more or less; the last rows stay empty."""
    for place, row in enumerate(rows):
        likes = (4 if "Here is" in row["response"] else 2) + (place % 5 == 0)
        row["rating"] = "" if place >= len(rows) - unrated else str(likes)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def test_the_remedy_can_be_walked_from_not_decided_to_a_verdict(run: Run, write_lines: WriteLines) -> None:
    logs(write_lines)
    undecided = run("compare", "old.jsonl", "new.jsonl", "-m", "default-fast")
    assert undecided.out.startswith("Not decided: default-fast cannot judge 40 of 40 replies of new")
    sample_call, compare_call = re.findall(r"`rejoinder (.*?)`", " ".join(undecided.out.split()))
    done = run(*shlex.split(sample_call))
    assert done.code == 0, done.err
    assert "fill in the column `rating`" in done.err
    sheet = Path("to_label.csv")
    rows = rows_of(sheet)
    assert len(rows) == 50
    assert {row["rating"] for row in rows} == {""}
    rate(sheet, rows, unrated=8)
    decided = run(*shlex.split(compare_call), "-m", "default-fast")
    assert decided.code == 0, decided.err
    assert decided.out.startswith("People would rate new above old by ")
    assert "8 of the 50 rows of to_label.csv have no rating: they are left out" in decided.err
    told = run(*shlex.split(compare_call), "-m", "default-fast", "--json", "--fail-if", "not-better").json
    assert (told["decided"], told["better"], told["check"]["passed"]) == (True, "new", True)


def test_a_sheet_does_not_show_the_system(run: Run, write_lines: WriteLines) -> None:
    old, new = logs(write_lines)
    assert run("sample", old, new, "--labels", 50, "-o", "to_label.csv").code == 0
    rows = rows_of(Path("to_label.csv"))
    assert list(rows[0]) == ["item", "conversation", "response", "rating"]
    assert not re.search(r"old|new\.jsonl", Path("to_label.csv").read_text(encoding="utf-8-sig"))
    assert len({row["item"] for row in rows}) == 50
    first = [("Here is" in row["response"], row["conversation"]) for row in rows]
    pairs = list(zip(first[::2], first[1::2], strict=True))
    assert all(one[1] == other[1] and one[0] != other[0] for one, other in pairs), "replies to one context together"
    assert 5 < sum(one[0] for one, _ in pairs) < 20, "in random order"
    assert not any(row["response"].startswith(("=", "-", "+", "@")) for row in rows), "no formula for a spreadsheet"
    made = sample([str(old), str(new)], 50)
    assert {example.system for example in made.examples} == {"old", "new"}


def test_systems_with_different_contexts_are_sampled_one_by_one(write_lines: WriteLines) -> None:
    made = sample(list(logs(write_lines, shared=False)), 20)
    assert made.contexts is None
    assert [example.system for example in made.examples].count("old") == 10
    paired = sample(list(logs(write_lines)), 20)
    contexts = [example.context for example in paired.examples]
    assert len(set(contexts)) == 10
    assert set(paired.probabilities.tolist()) == {20 / 80}


def test_sheets_of_a_workbook_and_with_probabilities(run: Run, write_lines: WriteLines) -> None:
    pytest.importorskip("xlsxwriter")
    old, new = logs(write_lines)
    assert run("sample", old, new, "--labels", 20, "-o", "to_label.xlsx").code == 0
    ran = run("compare", old, new, "-m", "length", "--labels", "to_label.xlsx")
    assert (ran.code, ran.err) == (
        2,
        "rejoinder: to_label.xlsx: has 20 replies to rate, but no rating: expected some\n",
    )
    both = write_lines(replies())
    assert run("score", both, "-m", "length", "-o", "scores.jsonl", "--quiet").code == 0
    assert run("sample", both, "--labels", 40, "--scores", "scores.jsonl", "-o", "strata.csv").code == 0
    rows = rows_of(Path("strata.csv"))
    assert list(rows[0])[-1] == "probability"
    rate(Path("strata.csv"), rows)
    told = run("compare", both, "-m", "length", "--labels", "strata.csv", "--json").json
    assert told["human"]["weighted"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rating": "good"}, "field 'rating': expected a number, found 'good'"),
        ({"item": ""}, "field 'item': is missing: expected what `rejoinder sample` wrote there"),
    ],
)
def test_wrong_sheets_are_told(change: dict[str, str], message: str, run: Run, write_lines: WriteLines) -> None:
    old, new = logs(write_lines)
    assert run("sample", old, new, "--labels", 20, "-o", "to_label.csv").code == 0
    rows = rows_of(Path("to_label.csv"))
    rate(Path("to_label.csv"), [rows[0] | {"rating": "1"}, *rows[1:]])
    good = rows_of(Path("to_label.csv"))
    with Path("to_label.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, good[0])
        writer.writeheader()
        writer.writerows([good[0] | change, *good[1:]])
    ran = run("compare", old, new, "-m", "length", "--labels", "to_label.csv")
    assert ran.code == 2
    assert message in ran.err
    others = [write_lines([{"id": "x", "context": ["c"], "response": "r"}], f"{name}.jsonl") for name in "ab"]
    rate(Path("to_label.csv"), good)
    assert "labels none of the replies" in run("compare", *others, "-m", "length", "--labels", "to_label.csv").err


def test_the_way_by_annotate(run: Run, write_lines: WriteLines) -> None:
    old, new = logs(write_lines)
    assert run("sample", old, new, "--labels", 20, "-o", "to_label.jsonl").code == 0
    assert run("annotate", "new", "to_label.jsonl", "-o", "study.toml").code == 0
    records = [json.loads(line) for line in Path("to_label.jsonl").read_text().splitlines()]
    liked = [4 if "Here" in each["response"] else 1 for each in records]
    rated = [{**each, "scores": [like + n % 2]} for n, (each, like) in enumerate(zip(records, liked, strict=True))]
    rated[3]["scores"] = None
    judged = write_lines(rated, "judged.jsonl")
    ran = run("compare", old, new, "-m", "default-fast", "--labels", judged)
    assert ran.out.startswith("People would rate new above old by ")
    assert "1 of the 20 rows of" in ran.err


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

"""The queue of a study at the real application: waves, stored probabilities, and estimates that stay right."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("starlette")

from starlette.testclient import TestClient

from annotation_server import SECRETS
from rejoinder.people import pages
from rejoinder.people.progress import state_of
from rejoinder.people.queue import Assigner
from rejoinder.people.sample import UncertainScores, wave_probabilities
from rejoinder.people.server import rating_app
from rejoinder.people.store import Store, open_store
from rejoinder.people.study import Study, read_study
from rejoinder.stats.labels import drawn_rows
from running import Run

N = 80
STUDY = """
title = "Queue"
examples = "replies.jsonl"
raters_per_item = 1
items_per_rater = 12
shared_items = 0
[checks]
garbled = 0.0
repeated = 0.0
[queue]
labels = 60
scores = "scores.csv"
waves = 2
[[questions]]
name = "overall"
text = "How good?"
"""


def quality(number: int, system: str) -> int:
    """What raters say of a reply: replies with high scores are judged badly by the metric."""
    return 1 + (number * 7 + (system == "b")) % 5 if number >= N // 2 else 2 + (system == "b")


def write_study(folder: Path, text: str = STUDY) -> Study:
    records, lines = [], ["id,system,metric"]
    for number in range(N):
        for system in "ab":
            identifier = f"{number}{system}"
            records.append({"id": identifier, "context": [f"Question {number}?"], "system": system})
            records[-1]["response"] = f"Reply {number} of {system}"
            lines.append(f"{identifier},{system},{number / N}")
    (folder / "replies.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (folder / "scores.csv").write_text("\n".join(lines) + "\n")
    (folder / "study.toml").write_text(text)
    return read_study(folder / "study.toml")


@pytest.fixture(autouse=True)
def numbered_raters(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ids of raters, and so the items that they get, are the same in every run."""
    numbers = count()
    monkeypatch.setattr(pages, "new_token", lambda: f"{next(numbers):016}")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(tmp_path / "study.db")) as opened:
        yield opened


def join_and_rate(client: TestClient, who: str, assigner: Assigner) -> int:
    """Answer everything that a rater gets; the number of answers."""
    page, answers = client.get(f"/join?workerId={who}").text, 0
    while 'name="item"' in page:
        found = dict(re.findall(r'name="(form|item|page|shown)" value="([^"]+)"', page))
        number, system = re.findall(r"Reply (\d+) of (\w)", assigner.items[found["item"]].replies[0])[0]
        page = client.post("/answer", data={**found, "overall": str(quality(int(number), system))}).text
        answers += 1
    return answers


def test_waves_learn_and_the_export_has_the_probabilities(tmp_path: Path, store: Store, run: Run) -> None:
    study = write_study(tmp_path)
    app, assigner = rating_app(study, store, SECRETS), Assigner(study, store)
    assert {one.wave for one in store.drawn()} == {0}, "the first wave is drawn when the server starts"
    counts = [join_and_rate(TestClient(app), f"r{number}", assigner) for number in range(6)]
    assert sum(counts) == 60
    assert join_and_rate(TestClient(app), "late", assigner) == 0
    chosen = store.drawn()
    assert {one.wave for one in chosen} == {0, 1}
    assert state_of(study, store, assigner).share == 1.0
    first, second = (
        [(one.probability, int(assigner.items[one.item].examples[0][0][:-1])) for one in chosen if one.wave == wave]
        for wave in (0, 1)
    )
    assert {round(p, 1) for p, _ in first} <= {0.4, 0.3}, "proportional to the strata: about 30 of 80"
    uncertain = np.mean([p for p, number in second if number >= N // 2])
    certain = np.mean([p for p, number in second if number < N // 2])
    assert uncertain > 1.2 * certain, "more labels where the ratings of the first wave differ from the line"
    assert run("annotate", "export", "study.toml", "-o", "judged.jsonl").code == 0
    records = [json.loads(line) for line in (tmp_path / "judged.jsonl").read_text().splitlines()]
    stored = {assigner.items[one.item].examples[0]: one.probability for one in chosen}
    assert {(one["id"], one["system"]): one["probability"] for one in records} == pytest.approx(stored)
    weights = sum(1 / one["probability"] for one in records if one["system"] == "a")
    assert weights == pytest.approx(N, rel=0.05), "the labels stand for all replies"
    compared = run("compare", "replies.jsonl", "--labels", "judged.jsonl", "-m", "length", "--json")
    assert compared.code == 0, compared.err
    [gap] = compared.json["human"]["differences"]
    every = [quality(number, "b") - quality(number, "a") for number in range(N)]
    assert gap["low"] <= np.mean(every) <= gap["high"]


def test_a_server_that_starts_again_keeps_what_was_drawn(tmp_path: Path, store: Store) -> None:
    study = write_study(tmp_path)
    rating_app(study, store, SECRETS)
    before = store.drawn()
    rating_app(study, store, SECRETS)
    assert store.drawn() == before
    assert len(before) == 30


def test_before_the_end_probabilities_are_those_of_being_rated_so_far(tmp_path: Path, store: Store, run: Run) -> None:
    study = write_study(tmp_path)
    join_and_rate(TestClient(rating_app(study, store, SECRETS)), "only one", Assigner(study, store))
    assert run("annotate", "export", "study.toml", "-o", "judged.jsonl").code == 0
    records = [json.loads(line) for line in (tmp_path / "judged.jsonl").read_text().splitlines()]
    assert len(records) == 12
    for system in "ab":
        weights = sum(1 / one["probability"] for one in records if one["system"] == system)
        assert weights == pytest.approx(N, rel=0.25), "few labels stand for all replies as well"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("labels = 60", "labels = 1000"), "labels must be from 2 to 160"),
        (("labels = 60", "labels = 0"), "queue.labels"),
        (('"scores.csv"', '"nowhere.csv"'), "nowhere.csv"),
        (('scores = "scores.csv"', 'design = "active"'), "the design active needs scores"),
        (("waves = 2", 'predictor = "other"'), "unknown predictor"),
        (("waves = 2", 'design = "best"'), "queue.design"),
        (("raters_per_item = 1", "raters_per_item = 1\ncontexts = 5"), "contexts"),
    ],
)
def test_a_wrong_queue_is_told_before_raters_come(tmp_path: Path, run: Run, change: tuple[str, str], told: str) -> None:
    write_study(tmp_path)
    (tmp_path / "study.toml").write_text(STUDY.replace(*change))
    done = run("annotate", "serve", "study.toml", "--port", "1")
    assert done.code == 2
    assert told in done.err
    assert done.err.count("\n") == 1


def test_other_tools_get_no_study_whose_queue_they_would_not_follow(tmp_path: Path, run: Run) -> None:
    write_study(tmp_path)
    done = run("annotate", "export", "study.toml", "--to", "batch", "-o", "batch.csv")
    assert done.code == 2
    assert "replies that `rejoinder sample` chose" in done.err
    assert not (tmp_path / "batch.csv").exists()


def test_every_reply_can_be_chosen_however_few_the_labels() -> None:
    frame = UncertainScores(np.arange(50.0), np.ones(50))
    labels = np.where(np.arange(50) > 40, np.tile([0.0, 100.0], 25), np.arange(50.0))
    p, _ = wave_probabilities("stratified", frame, np.arange(50), 4, labels)
    assert p == pytest.approx(np.full(50, 4 / 50))


def test_weighting_by_the_probabilities_undoes_the_choice() -> None:
    """Two waves, the second of which learns from the first: 1/p-weighted means are right, plain means are not."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=200)
    labels = np.exp(scores) + rng.normal(size=200) * np.exp(scores)
    frame = UncertainScores(scores, np.ones(200))
    weighted, plain = [], []
    for seed in range(300):
        halves = np.split(np.random.default_rng(seed).permutation(200), 2)
        known, total = np.full(200, np.nan), 0.0
        for wave, rows in enumerate(halves):
            p, strata = wave_probabilities("stratified", frame, rows, 30, known)
            chosen = rows[drawn_rows(p, 2 * seed + wave, strata)]
            total += float((labels[rows] / p)[np.isin(rows, chosen)].sum())
            known[chosen] = labels[chosen]
        weighted.append(total / 200)
        plain.append(float(np.nanmean(known)))
    error = np.std(weighted) / np.sqrt(300)
    assert abs(np.mean(weighted) - labels.mean()) < 4 * error
    assert abs(np.mean(plain) - labels.mean()) > 8 * error

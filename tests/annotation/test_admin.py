"""What organisers see: agreement with intervals, time per item, and whether the labels separate the systems."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("starlette")

from starlette.testclient import TestClient

from annotation_server import SCALES, SECRETS, write_study
from rejoinder.people.items import items_of
from rejoinder.people.progress import state_of
from rejoinder.people.queue import Assigner
from rejoinder.people.server import rating_app
from rejoinder.people.store import RaterAnswer, Store, open_store
from rejoinder.people.study import Study, read_study
from rejoinder.stats.raters import krippendorff_alpha
from running import Run


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return write_study(tmp_path, SCALES)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(tmp_path / "study.db")) as opened:
        yield opened


def rated(study: Study, store: Store, gap: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Three raters score all items; the second system is better by the gap. Returns the scores."""
    rng = np.random.default_rng(0)
    items = [item for item in items_of(study) if item.role == "real"]
    scores = np.array(
        [[1 + gap * (item.stratum == "second") + rng.integers(0, 2) for _ in range(3)] for item in items], dtype=float
    )
    for column in range(3):
        store.add_rater(f"r{column}", f"token {column}", "")
        for row, item in enumerate(items):
            value = str(int(scores[row, column]))
            store.add_answers([RaterAnswer(f"r{column}", item.id, "overall", value, 3.0, 1000.0 + row)])
            second = [
                RaterAnswer(f"r{column}", item.id, name, "1", 4.0, 5000.0 + row) for name in ("relevance", "grammar")
            ]
            store.add_answers(second)
    return scores


def test_agreement_times_and_separation(study: Study, store: Store) -> None:
    scores = rated(study, store, gap=2)
    state = state_of(study, store, Assigner(study, store))
    assert state.seconds == 7.0, "the two pages of an item together; two answers of one page count once"
    overall = state.questions[0]
    assert overall.alpha.estimate == pytest.approx(krippendorff_alpha(scores))
    assert overall.alpha.low < overall.alpha.estimate < overall.alpha.high
    [pair] = overall.differences
    assert (pair.a, pair.b) == ("first", "second")
    assert pair.estimate.low < 2 < pair.estimate.high
    assert overall.separated == 1
    client = TestClient(rating_app(study, store, SECRETS))
    page = client.get(f"/admin/{SECRETS.admin}").text
    assert "The labels suffice to separate all systems." in page
    assert f"{overall.alpha.low:.2f} to {overall.alpha.high:.2f}" in page
    assert "7.0 s" in page


def test_equal_systems_are_not_separated(study: Study, store: Store) -> None:
    rated(study, store, gap=0)
    client = TestClient(rating_app(study, store, SECRETS))
    assert "The labels separate 0 of 1 pairs of systems so far." in client.get(f"/admin/{SECRETS.admin}").text


def test_without_answers_nothing_is_claimed(study: Study, store: Store) -> None:
    page = TestClient(rating_app(study, store, SECRETS)).get(f"/admin/{SECRETS.admin}").text
    assert "not enough answers yet" in page
    assert "suffice" not in page


def test_a_study_uses_as_many_contexts_as_it_says(study: Study, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(SCALES.replace("raters_per_item = 2", "raters_per_item = 2\ncontexts = 5"))
    items = [item for item in items_of(read_study(tmp_path / "study.toml")) if item.role == "real"]
    assert (len(items), len({item.group for item in items})) == (10, 5)


def test_new_asks_the_plan(run: Run, study: Study, tmp_path: Path) -> None:
    done = run("annotate", "new", "replies.jsonl", "-o", "p.toml", "--difference", "1.5", "--sd", "1", "--icc", "0.5")
    assert done.code == 0, done.err
    planned = run("plan", "--difference", "1.5", "--sd", "1", "--icc", "0.5", "--contexts", "12", "--json").json
    made = read_study(tmp_path / "p.toml")
    assert str(planned["recommendation"]) in done.err
    assert f"Collect {made.contexts} contexts with {made.raters_per_item} rating" in done.err
    few = run("annotate", "new", "replies.jsonl", "-o", "q.toml", "--difference", "0.1", "--sd", "1", "--icc", "0.5")
    assert "12 contexts are too few to detect a difference of 0.1" in few.err
    assert (read_study(tmp_path / "q.toml").contexts, few.code) == (0, 0)
    wrong = run("annotate", "new", "replies.jsonl", "-o", "r.toml", "--sd", "1")
    assert wrong.code == 2
    assert not (tmp_path / "r.toml").exists()

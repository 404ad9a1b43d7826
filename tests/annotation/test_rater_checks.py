"""What is noticed about raters at the real application: instructions, pasted and copied texts, sides, disagreement."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("starlette")

from starlette.testclient import TestClient

from annotation_server import COMPREHENSION, ONE_QUESTION, SCALES, SECRETS, write_study
from rejoinder.errors import DataError
from rejoinder.people.progress import StudyState, state_of
from rejoinder.people.queue import Assigner
from rejoinder.people.server import rating_app
from rejoinder.people.store import RaterAnswer, Store, open_store
from rejoinder.people.study import Study

CROWD = """
title = "Crowd"
examples = "replies.jsonl"
raters_per_item = 30
items_per_rater = 12
shared_items = 0
[checks]
repeated = 0.2
garbled = 0.2
[[questions]]
name = "overall"
text = "How good is it?"
kind = "{kind}"
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(tmp_path / "study.db")) as opened:
        yield opened


def fields(page: str) -> dict[str, str]:
    return dict(re.findall(r'name="(form|item|page|shown)" value="([^"]+)"', page))


def state(study: Study, store: Store) -> StudyState:
    return state_of(study, store, Assigner(study, store))


def kinds(study: Study, store: Store) -> dict[str, set[str]]:
    """Identity on the platform -> kinds of flags."""
    flagged = state(study, store).flagged
    return {
        rater.source.removeprefix("platform:"): {flag.kind for flag in flagged.get(rater.id, [])}
        for rater in store.raters()
    }


def test_instructions_are_asked_about_until_they_are_understood(tmp_path: Path, store: Store) -> None:
    study = write_study(tmp_path, SCALES + COMPREHENSION)
    app = rating_app(study, store, SECRETS)
    client = TestClient(app)
    page = client.get("/join?PROLIFIC_PID=slow").text
    page = client.post("/consent", data={"form": fields(page)["form"], "agree": "yes"}).text
    assert "What do you judge?" in page
    assert "the &lt;i&gt;reply&lt;/i&gt;" in page
    form = fields(page)["form"]
    assert client.post("/comprehension", data={"form": form}).status_code == 422, "an answer is needed"
    assert client.post("/comprehension", data={"form": "forged", "choice-0": "x"}).status_code == 403
    for _ in range(2):
        told = client.post("/comprehension", data={"form": form, "choice-0": "the conversation"})
        assert told.status_code == 422
        assert "Please read the instructions again: one answer does not fit them." in told.text
    page = client.post("/comprehension", data={"form": form, "choice-0": "the <i>reply</i>"}).text
    assert 'name="item"' in page
    again = TestClient(app)
    assert 'name="item"' in again.get("/join?PROLIFIC_PID=slow").text, "who has understood is not asked again"
    assert kinds(study, store) == {"slow": {"comprehension"}}
    assert "2 wrong answers" in state(study, store).flags[0].evidence


def test_a_right_answer_must_be_among_the_choices(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="'comprehension': expected two or more choices"):
        write_study(tmp_path, SCALES + COMPREHENSION.replace("right = ", 'right = "neither" #'))


def test_pasted_copied_and_repeated_texts_are_noticed(tmp_path: Path, store: Store) -> None:
    study = write_study(
        tmp_path, ONE_QUESTION.format(kind="write").replace("[[questions]]", "raters_per_item = 5\n[[questions]]")
    )
    app = rating_app(study, store, SECRETS)

    def write(who: str, text: Callable[[int, str], str], pasted: str = "0") -> None:
        client = TestClient(app)
        page, number = client.get(f"/join?workerId={who}").text, 0
        while 'name="item"' in page:
            found = fields(page)
            context = Assigner(study, store).items[found["item"]].context
            page = client.post("/answer", data={**found, "reply": text(number, context[1]), "pasted": pasted}).text
            number += 1

    write("honest", lambda number, _: f"my own {'abc'[number]} text")
    write("paster", lambda number, _: f"another {'abc'[number]} one", pasted="14")
    write("forger", lambda number, _: f"mine {'abc'[number]} too", pasted="<b>")
    write("twice", lambda _, __: "It depends, I guess.")
    write("echo", lambda _, turn: turn)
    found = kinds(study, store)
    assert found["honest"] == found["forger"] == set()
    assert found["paster"] == {"pasted text"}
    assert "same text" in found["twice"]
    assert {"copied text", "too fast to type"} <= found["echo"]
    assert "15 replies were written" in TestClient(app).get(f"/admin/{SECRETS.admin}").text


def crowd(study: Study, store: Store, raters: dict[str, Callable[[str], str]]) -> None:
    """Raters who answer slowly, each by a function of the item."""
    assigner = Assigner(study, store)
    for name, answer in raters.items():
        with store.transaction():
            store.add_rater(name, name, f"platform:{name}")
        given = assigner.hand_out(name)
        store.add_answers([RaterAnswer(name, item, "overall", answer(item), 9.0, n) for n, item in enumerate(given)])


def test_slow_careless_raters_are_found_by_their_disagreement(tmp_path: Path, store: Store) -> None:
    study = write_study(tmp_path, CROWD.format(kind="scale"))
    assigner = Assigner(study, store)

    def honest(item: str) -> str:
        shown = assigner.items[item]
        return "1" if shown.role == "garbled" else str(1 + int(shown.of or item, 16) % 5)

    rng = random.Random(1)
    raters: dict[str, Callable[[str], str]] = {f"honest{n}": honest for n in range(8)}
    raters["careless"] = lambda _: str(rng.randint(1, 5))
    raters["contrary"] = lambda item: str(6 - int(honest(item)))
    crowd(study, store, raters)
    found = kinds(study, store)
    assert "disagrees with others" in found["careless"]
    assert "disagrees with others" in found["contrary"]
    assert all(not found[f"honest{n}"] for n in range(8))
    evidence = next(
        flag.evidence for flag in state(study, store).flags if flag.rater == "contrary" and "others" in flag.kind
    )
    assert re.fullmatch(
        r"correlation with the other raters -\d\.\d\d \(99 % interval -\d\.\d\d to -\d\.\d\d\) over \d+ items; "
        r"the median rater has \d\.\d\d",
        evidence,
    )


def test_pairs_have_checks_agreement_and_a_verdict(tmp_path: Path, store: Store) -> None:
    study = write_study(tmp_path, CROWD.format(kind="pair").replace("items_per_rater = 12", "items_per_rater = 14"))
    app, assigner = rating_app(study, store, SECRETS), Assigner(study, store)
    shuffled = [item for item in assigner.items.values() if item.role == "garbled"]
    assert all(sorted(item.replies[0].split()) == sorted(item.replies[1].split()) for item in shuffled)

    def rate(who: str, choose: Callable[[str, str], str]) -> None:
        client = TestClient(app)
        page = client.get(f"/join?workerId={who}").text
        while 'name="item"' in page:
            first = re.findall(r'class="reply">([^<]*)<', page)[0]
            item = fields(page)["item"]
            page = client.post("/answer", data={**fields(page), "overall": choose(item, first)}).text

    def honest(item: str, first: str) -> str:
        """The second system is better, and so is a reply in order."""
        better = assigner.items[item].replies[0 if assigner.items[item].role == "garbled" else 1]
        return "A" if first.split("&")[0] == better.split("<")[0] else "B"

    for number in range(6):
        rate(f"honest{number}", honest)
    rate("left", lambda *_: "A")
    found = kinds(study, store)
    assert "straight-lining" in found["left"], "the side as it was shown, not as it is stored"
    assert all("garbled replies" not in found[f"honest{n}"] for n in range(6))
    question = state(study, store).questions[0]
    shares = {one.system: one.value for one in question.systems}
    assert shares["second"] > 0.8
    [duel] = question.differences
    assert (duel.a, duel.b) == ("first", "second")
    assert 0.5 < duel.estimate.low < duel.estimate.estimate
    page = TestClient(app).get(f"/admin/{SECRETS.admin}").text
    assert "second preferred to first" in page
    assert "The labels suffice to separate all systems." in page


def test_a_platform_gets_its_raters_back(tmp_path: Path, store: Store) -> None:
    link = "https://app.prolific.com/submissions/complete?cc={code}"
    study = write_study(tmp_path, SCALES.replace('done = "CODE-1"', f'declined = "NO & 1"\nlink = "{link}"'))
    client = TestClient(rating_app(study, store, SECRETS))
    page = client.get("/join?PROLIFIC_PID=one").text
    end = client.post("/consent", data={"form": fields(page)["form"], "agree": "no"}).text
    assert 'href="https://app.prolific.com/submissions/complete?cc=NO%20%26%201"' in end
    with pytest.raises(DataError, match="begins with https"):
        write_study(tmp_path, SCALES.replace('done = "CODE-1"', 'link = "javascript:alert(1)"'))


def test_answers_are_refused_before_consent(tmp_path: Path, store: Store) -> None:
    study = write_study(tmp_path, SCALES)
    client = TestClient(rating_app(study, store, SECRETS))
    form = fields(client.get("/join?PROLIFIC_PID=one").text)["form"]
    assert "Before you begin" in client.post("/answer", data={"form": form, "item": "x", "overall": "5"}).text
    assert store.assigned() == []


def test_two_windows_of_one_person_are_one_rater(tmp_path: Path, store: Store) -> None:
    app = rating_app(write_study(tmp_path, SCALES), store, SECRETS)
    windows = [threading.Thread(target=TestClient(app).get, args=("/join?PROLIFIC_PID=one",)) for _ in range(8)]
    for window in windows:
        window.start()
    for window in windows:
        window.join()
    assert len(store.raters()) == 1


def test_answers_that_arrive_together_are_all_kept_and_an_error_hits_its_own_alone(
    tmp_path: Path, store: Store
) -> None:
    failed: list[str] = []

    def add(name: str) -> None:
        value: object = None if name == "bad" else "3"  # the column must not be null
        try:
            store.add_answers([RaterAnswer(name, "item", "overall", value, 1.0, 1.0)])  # type: ignore[arg-type]
        except Exception:
            failed.append(name)

    names = ["bad", *(f"r{number}" for number in range(30))]
    threads = [threading.Thread(target=add, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == ["bad"]
    assert {answer.rater for answer in store.answers()} == set(names) - {"bad"}

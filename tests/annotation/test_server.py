"""Raters, organisers and strangers at the real application; only the network is left out."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("starlette")

from starlette.testclient import TestClient

from rejoinder.people.progress import state_of
from rejoinder.people.queue import Assigner
from rejoinder.people.server import HEADERS, LARGEST_BODY, RateLimit, Secrets, rating_app
from rejoinder.people.store import Store, latest, open_store
from rejoinder.people.study import Study, read_study
from running import Run

SECRETS = Secrets("s" * 32, "organisers-token")
STUDY = """
title = "Study"
examples = "replies.jsonl"
items_per_rater = 12
raters_per_item = 2
shared_items = 4
consent = "Do you agree?"
[checks]
garbled = 0.3
repeated = 0.1
[codes]
done = "DONE1"
declined = "NO1"
nothing_left = "LATER1"
[[questions]]
name = "overall"
text = "How good?"
[[questions]]
name = "relevance"
text = "How relevant?"
page = 2
"""


def write_study(folder: Path, text: str = STUDY, systems: str = "ab") -> Study:
    records = [
        {"id": str(n), "context": [f"Question {n}?"], "response": f"This is reply <b>{n}</b> of it", "system": system}
        for n in range(24)
        for system in systems
    ]
    (folder / "replies.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (folder / "study.toml").write_text(text)
    return read_study(folder / "study.toml")


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return write_study(tmp_path)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(tmp_path / "study.db")) as opened:
        yield opened


def client_of(study: Study, store: Store, **options: bool) -> TestClient:
    return TestClient(rating_app(study, store, SECRETS, **options))


def fields(page: str) -> dict[str, str]:
    return dict(re.findall(r'name="(form|item|page|shown)" value="([^"]+)"', page))


def agreed(study: Study, store: Store, who: str) -> tuple[TestClient, str]:
    client = client_of(study, store)
    page = client.get(f"/join?PROLIFIC_PID={who}").text
    return client, client.post("/consent", data={"form": fields(page)["form"], "agree": "yes"}).text


def rate_all(client: TestClient, page: str, value: str = "3") -> tuple[list[str], str]:
    """Answer every page; the items in the order of their first pages, and the last page."""
    items = []
    while 'name="item"' in page:
        found = fields(page)
        items.append(found["item"])
        question = re.findall(r'type="radio" name="(\w+)"', page)[0]
        page = client.post("/answer", data={**found, question: value}).text
    return list(dict.fromkeys(items)), page


@pytest.mark.slow
def test_every_item_gets_its_raters_and_nobody_sees_one_twice(study: Study, store: Store) -> None:
    seen = []
    for number in range(14):
        client, page = agreed(study, store, f"p{number}")
        items, last = rate_all(client, page)
        seen.append(items)
        assert ("DONE1" if items else "LATER1") in last
    assigner = Assigner(study, store)
    counts = Counter(item for items in seen for item in items)
    assert all(len(set(items)) == len(items) for items in seen)
    real = [item for item in assigner.items.values() if item.role == "real"]
    assert all(counts[item.id] == 2 for item in real if not item.shared)
    assert sum(item.shared for item in real) == 4
    rated = len([items for items in seen if items])
    assert all(counts[item.id] == rated for item in real if item.shared)
    for items in seen:
        own = [assigner.items[item] for item in items]
        groups = [item.group for item in own if item.role == "real" and not item.shared]
        assert len(set(groups)) == len(groups), "a context comes once"
        systems = Counter(assigner.items[item].stratum for item in items if assigner.items[item].role == "real")
        assert not systems or max(systems.values()) - min(systems.values()) <= 2
    roles = Counter(assigner.items[item].role for items in seen for item in items)
    assert roles["garbled"] >= rated // 2
    assert roles["repeated"] >= rated // 2


def test_come_back_later_and_go_on_where_one_stopped(study: Study, store: Store) -> None:
    client, page = agreed(study, store, "one")
    first = fields(page)
    page = client.post("/answer", data={**first, "overall": "4"}).text
    assert fields(page)["item"] == first["item"], "the second page of the same item"
    again = client_of(study, store)
    assert fields(again.get("/join?PROLIFIC_PID=one").text)["page"] == "2"
    stale = client.post("/answer", data={**first, "overall": "1"})
    assert stale.status_code == 200
    assert [answer.value for answer in store.answers()] == ["4"], "what is answered is not answered again"


def test_an_answer_that_is_missing_is_asked_for_again(study: Study, store: Store) -> None:
    client, page = agreed(study, store, "one")
    for wrong in ({}, {"overall": "9"}, {"overall": "<script>"}):
        told = client.post("/answer", data={**fields(page), **wrong})
        assert told.status_code == 422
        assert "Please choose one of the answers." in told.text
    assert store.answers() == []


def test_replies_are_shown_as_text_and_systems_are_not_shown(study: Study, store: Store) -> None:
    _, page = agreed(study, store, "one")
    assert "&lt;b&gt;" in page
    assert "<b>0" not in page
    judged = re.sub(r"<[^>]*>", "", page.split("Reply to judge")[1].split("How good")[0])
    assert not re.search(r"\b[ab]\b", judged.replace("&lt;b&gt;", "").replace("&lt;/b&gt;", ""))


def test_declining_ends_it_and_nothing_is_handed_out(study: Study, store: Store) -> None:
    client = client_of(study, store)
    page = client.get("/join?PROLIFIC_PID=no").text
    assert "NO1" in client.post("/consent", data={"form": fields(page)["form"], "agree": "no"}).text
    assert "NO1" in client.get("/rate").text
    assert store.assigned() == []


def test_strangers_are_kept_out(study: Study, store: Store) -> None:
    client = client_of(study, store)
    assert client.get("/r/unknown").status_code == 404
    assert client.get("/join").status_code == 400
    assert client.get("/join", params={"workerId": "x" * 500}).status_code == 400
    assert client.get("/admin").status_code == 403
    assert client.get("/admin/wrong").status_code == 404
    assert client.post("/answer", data={"form": "forged"}).status_code == 403
    assert client.get("/pages/rate.html").status_code == 404
    assert client.get("/pages/../server.py").status_code == 404
    member, page = agreed(study, store, "one")
    forged = {**fields(page), "form": "0" * 64, "overall": "5"}
    assert member.post("/answer", data=forged).status_code == 403
    assert client.post("/answer", content=b"x" * (LARGEST_BODY + 1)).status_code == 413
    assert store.answers() == []


def test_every_answer_has_the_headers_that_keep_scripts_and_frames_out(study: Study, store: Store) -> None:
    client = client_of(study, store)
    for path in ("/", "/pages/style.css", "/nowhere", "/admin"):
        answered = client.get(path)
        expected = HEADERS if "css" not in path else {**HEADERS, "cache-control": "public, max-age=3600"}
        assert {key: answered.headers[key] for key in HEADERS} == expected
    cookie = client.get("/join?PROLIFIC_PID=x", follow_redirects=False).headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert "secure" not in cookie
    behind_tls = TestClient(rating_app(study, store, SECRETS, https=True), base_url="https://study.example.org")
    assert "; secure" in behind_tls.get("/join?PROLIFIC_PID=y", follow_redirects=False).headers["set-cookie"].lower()
    policy = HEADERS["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


def test_too_many_requests_are_told_to_wait() -> None:
    limit = RateLimit(3)
    assert [limit.allows("a") for _ in range(4)] == [True, True, True, False]
    assert limit.allows("b")


def test_raters_behind_one_router_are_counted_apart(
    study: Study, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rejoinder.people.server._PER_MINUTE", 6)
    app = rating_app(study, store, SECRETS)
    for who in ("one", "two", "three"):
        client = TestClient(app)
        assert client.get(f"/join?PROLIFIC_PID={who}").status_code == 200
        assert [client.get("/rate").status_code for _ in range(6)].count(429) == 1
    stranger = TestClient(app)
    assert [stranger.get("/r/guessed").status_code for _ in range(6)][-3:] == [429] * 3


def test_the_time_of_an_answer_cannot_be_forged(study: Study, store: Store) -> None:
    client, page = agreed(study, store, "one")
    honest = fields(page)
    earlier = str(float(honest["shown"].rpartition(".")[0]) - 100)
    for shown in (f"{earlier}.{honest['shown'].rpartition('.')[2]}", earlier, "", "ä", "nan.x"):
        page = client.post("/answer", data={**fields(page), "shown": shown, "overall": "3", "relevance": "3"}).text
    assert {answer.seconds for answer in store.answers()} == {0.0}
    assert len(store.answers()) == 5


def test_careless_raters_are_flagged_with_evidence_and_nobody_is_turned_away(study: Study, store: Store) -> None:
    client, page = agreed(study, store, "always five")
    rate_all(client, page, "5")
    state = state_of(study, store, Assigner(study, store))
    kinds = {flag.kind for flag in state.flags}
    assert {"straight-lining", "too fast", "garbled replies"} <= kinds
    admin = client_of(study, store)
    shown = admin.get(f"/admin/{SECRETS.admin}").text
    assert "equal answers to overall in a row" in shown
    assert state.raters == 1


def test_abandoned_work_is_handed_out_again(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    study = write_study(tmp_path, STUDY.replace("raters_per_item = 2", "raters_per_item = 1"), "a")
    first = [agreed(study, store, f"gone {number}") for number in range(6)]
    assert len(first) == 6
    client, page = agreed(study, store, "late")
    assert "LATER1" in page, "all is handed out"
    real = __import__("time").time
    monkeypatch.setattr("rejoinder.people.queue.time.time", lambda: real() + 7200)
    client, page = agreed(study, store, "later still")
    items, _ = rate_all(client, page)
    assert len(items) >= 12


PAIRS = """
title = "Pairs"
examples = "replies.jsonl"
items_per_rater = 10
shared_items = 0
raters_per_item = 1
[[questions]]
name = "better"
kind = "pair"
text = "Which is better?"
"""


def test_choices_between_two_replies_are_stored_as_they_stand_in_the_item(
    tmp_path: Path, store: Store, run: Run
) -> None:
    study = write_study(tmp_path, PAIRS)
    assigner = Assigner(study, store)
    client = client_of(study, store)
    page = client.get("/join?workerId=w1").text
    shown_first = []
    while 'name="item"' in page:
        item = assigner.items[fields(page)["item"]]
        first = re.findall(r'class="reply">([^<]*)<', page)[0]
        shown_first.append(first == item.replies[0].replace("<b>", "&lt;b&gt;").replace("</b>", "&lt;/b&gt;"))
        page = client.post("/answer", data={**fields(page), "better": "A"}).text
    values = [answer.value for answer in latest(store.answers()).values()]
    assert len(values) == 10
    assert set(values) <= {"A", "B"}
    assert run("annotate", "export", "study.toml", "-o", "preferences.jsonl").code == 0
    ranked = run("prefer", "preferences.jsonl")
    assert ranked.code == 0, ranked.err
    assert "10 preferences, 10 contexts" in ranked.out
    records = [json.loads(line) for line in (tmp_path / "preferences.jsonl").read_text().splitlines()]
    sides = {"A": "a", "B": "b"}
    assert [record["winner"] for record in records] == [
        record[sides[value]] for record, value in zip(records, values, strict=True)
    ]


def test_raters_see_a_reply_in_markdown_as_a_chat_window_shows_it(tmp_path: Path, store: Store) -> None:
    write_study(tmp_path)
    lines = (tmp_path / "replies.jsonl").read_text().splitlines()
    records = [json.loads(line) | {"response": "Do this:\n\n1. **Stop**\n2. <b>Go</b>"} for line in lines]
    (tmp_path / "replies.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    study = read_study(tmp_path / "study.toml")
    _, page = agreed(study, store, "one")
    assert (
        '<div class="reply"><p>Do this:</p><ol><li><strong>Stop</strong></li><li>&lt;b&gt;Go&lt;/b&gt;</li></ol></div>'
        in page
    )


def test_from_replies_to_judged_replies_by_the_command_line(run: Run, tmp_path: Path) -> None:
    study = write_study(tmp_path)
    assert run("annotate", "new", "replies.jsonl", "-o", "fresh.toml").code == 0
    assert run("annotate", "new", "replies.jsonl", "-o", "fresh.toml").code == 2
    made = run("annotate", "links", "study.toml", "--count", "2")
    links = made.out.split()
    assert len(set(links)) == 2
    with closing(open_store(tmp_path / "study.db")) as store:
        clicked = {}
        for number, link in enumerate(links):
            client = client_of(study, store)
            page = client.get(link.removeprefix("http://localhost:8000")).text
            page = client.post("/consent", data={"form": fields(page)["form"], "agree": "yes"}).text
            clicked[number], _ = rate_all(client, page, str(number + 2))
        assigner = Assigner(study, store)
    done = run("annotate", "export", "study.toml", "-o", "judged.jsonl")
    assert done.code == 0, done.err
    records = [json.loads(line) for line in (tmp_path / "judged.jsonl").read_text().splitlines()]
    expected = Counter(
        (assigner.items[item].examples[0], float(number + 2))
        for number, items in clicked.items()
        for item in items
        if assigner.items[item].role == "real"
    )
    found = Counter(
        ((record["id"], record["system"]), score) for record in records for score in record["scores"]["overall"]
    )
    assert found == expected
    assert run("annotate", "export", "nowhere.toml", "-o", "judged.jsonl").code == 2

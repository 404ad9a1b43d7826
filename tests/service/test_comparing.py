"""`POST /compare`: the object of `rejoinder compare --json`, its checks, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient

import rejoinder
from rejoinder.service.app import scoring_app
from rejoinder.service.limits import Limits

if TYPE_CHECKING:
    from running import Run, WriteLines

METRICS = {name: rejoinder.load(name) for name in ("rouge-l", "bleu-2", "length")}
GOOD, BAD = "tea with milk please", "milk tea"


def replies(response: str, count: int = 20) -> list[dict[str, Any]]:
    """Replies to the same contexts, which differ a little from each other."""
    return [
        {"context": [f"Question {n}?"], "response": response + " now" * (n % 3), "references": [GOOD]}
        for n in range(count)
    ]


@pytest.fixture
def client() -> Iterator[TestClient]:
    with TestClient(scoring_app(METRICS, Limits(examples=100))) as client:
        yield client


def test_the_answer_is_that_of_the_command(client: TestClient, run: Run, write_lines: WriteLines) -> None:
    systems = {"old": replies(GOOD), "new": replies(BAD)}
    answer = client.post("/compare", json={"systems": systems, "margin": 0.1, "fail_if": "worse", "seed": 3})
    assert answer.status_code == 200
    files = [write_lines(records, f"{name}.jsonl") for name, records in systems.items()]
    named = [option for name in METRICS for option in ("-m", name)]
    options = ["--margin", 0.1, "--fail-if", "worse", "--seed", 3, "--json"]
    assert answer.json() == run("compare", *files, *named, *options).json
    assert answer.json()["better"] == "old"
    assert not answer.json()["check"]["passed"]


def test_three_systems_and_metrics_that_the_replies_do_not_allow(client: TestClient) -> None:
    bare = [{"context": record["context"], "response": record["response"]} for record in replies(GOOD)]
    found = client.post("/compare", json={"systems": {"a": bare, "b": bare, "c": bare}}).json()
    assert found["unbeaten"] == ["a", "b", "c"]
    assert list(found["summary"]) == ["length"]
    assert "left out rouge-l, bleu-2: no example has references" in found["warnings"]
    named = client.post("/compare", json={"systems": {"a": bare, "b": bare}, "metrics": ["rouge-l"]})
    assert named.status_code == 400
    assert named.json() == {"error": "rouge-l needs references, but none of the 40 examples of the request has any"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"systems": {"old": replies(GOOD)}}, "compare needs at least two systems, found 1"),
        ({"systems": [1]}, 'expected {"systems": {"old": [examples], "new": [examples]}}'),
        ({"systems": {"old": [], "new": []}}, "old: field 'systems': expected a list of examples, found an empty list"),
        ({"systems": {"old": [{}], "new": []}}, "new: field 'systems': expected a list"),
        ({"systems": {"old": [{"response": 1}], "new": [{}]}}, "old:1: field 'response': expected a string"),
        ({"systems": {"old": [{"response": "a", "system": "x"}], "new": [{"response": "a"}]}}, "old:1: field 'system'"),
        ({"systems": {" ": replies(GOOD), "new": replies(BAD)}}, "a system has no name"),
        ({"systems": {"o\0": replies(GOOD), "new": replies(BAD)}}, "the name of a system contains a NUL character"),
        ({"systems": {"old": [{"id": "1", "response": "a"}] * 2, "new": replies(BAD)}}, "old:2: field 'id'"),
        ({"metrics": ["rouge"]}, "unknown metric of this service 'rouge'; did you mean rouge-l?"),
        ({"metrics": []}, "metrics must be a list of names, not []"),
        ({"metrics": ["rouge-l", "rouge-l"]}, "a metric is named twice"),
        ({"primary": "cider"}, "unknown primary metric 'cider'"),
        ({"primary": 3}, "unknown primary metric 3"),
        ({"margin": -1}, "margin must be a number above 0, not -1"),
        ({"seed": 0.5}, "seed must be a whole number of at least 0, not 0.5"),
        ({"fail_if": "bad"}, "fail_if must be 'worse' or 'not-better', not 'bad'"),
        ({"margins": 1}, "unknown field of a comparison 'margins'; did you mean margin or metrics?"),
        ({"primary": "length", "fail_if": "worse"}, "length does not say which replies are better"),
    ],
)
def test_bad_requests_are_told_in_one_line(client: TestClient, changes: dict[str, Any], message: str) -> None:
    answer = client.post("/compare", json={"systems": {"old": replies(GOOD), "new": replies(BAD)}, **changes})
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(message)
    assert "\n" not in answer.json()["error"]


def test_too_many_replies_and_too_many_comparisons(client: TestClient) -> None:
    answer = client.post("/compare", json={"systems": {"old": replies(GOOD, 99), "new": replies(BAD, 2)}})
    assert answer.status_code == 413
    assert answer.json() == {"error": "101 examples in one request: expected at most 100"}
    with TestClient(scoring_app(METRICS, Limits(comparisons=0))) as full:
        answer = full.post("/compare", json={"systems": {"old": replies(GOOD), "new": replies(BAD)}})
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")

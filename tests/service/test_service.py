"""The HTTP service: its answers, its limits, and batches over several requests."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient

import rejoinder
from rejoinder import CallError, Example
from rejoinder.service.app import scoring_app
from rejoinder.service.batcher import Batcher, QueueFullError
from rejoinder.service.limits import Limits

if TYPE_CHECKING:
    from running import Run

ROUGE = {"rouge-l": rejoinder.load("rouge-l"), "length": rejoinder.load("length")}
REPLY = {"context": ["Tea?"], "response": "Yes, tea please.", "references": ["Yes, please."], "id": "a"}
EXPECTED = rejoinder.load("rouge-l").score([Example("a", ("Tea?",), "Yes, tea please.", ("Yes, please.",))])[0]


@pytest.fixture
def client() -> Iterator[TestClient]:
    with TestClient(scoring_app(ROUGE, Limits(body=2000, examples=3))) as client:
        yield client


def test_one_example_and_several(client: TestClient) -> None:
    one = client.post("/score", json=REPLY)
    assert one.status_code == 200
    scores = {"rouge-l": pytest.approx(EXPECTED), "length": 5.0}
    assert one.json()["results"] == [{"id": "a", "scores": scores, "reliability": {}}]
    assert one.json()["signatures"]["rouge-l"].startswith("rouge-l|")
    two = client.post("/score", json=[REPLY, {"response": "No.", "system": "b"}]).json()["results"]
    assert two[1] == {"id": "2", "system": "b", "scores": {"rouge-l": None, "length": 2.0}, "reliability": {}}


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"oops", 400, "the request is not valid JSON: expected an example, or a list of examples"),
        (b'{"response": "\xff"}', 400, "the request is not valid JSON"),
        (b'{"response": NaN}', 400, "the request is not valid JSON"),
        (b"[" * 1900, 400, "the request is not valid JSON"),
        (b'{"response": "x", "response": "y"}', 400, "the request names the key 'response' twice in one object"),
        (b'[{"response": "x", "y": [{"k": 1, "k": 1}]}]', 400, "the request names the key 'k' twice in one object"),
        (b"[]", 400, "the request has no example: expected at least one"),
        (b'[{"response": "x"}, {"response": 3}]', 400, "example:2: field 'response': "),
        (b"[" + b" " * 3000 + b"]", 413, "the request is larger than 2,000 bytes"),
        (b'[{"response": "x"}' + b', {"response": "x"}' * 3 + b"]", 413, "4 examples in one request"),
    ],
)
def test_bad_requests_are_told_in_one_line(client: TestClient, body: bytes, status: int, message: str) -> None:
    answer = client.post("/score", content=body)
    assert answer.status_code == status
    assert answer.json()["error"].startswith(message)
    assert "\n" not in answer.json()["error"]


def test_what_is_served(client: TestClient) -> None:
    told = client.get("/metrics-list").json()["metrics"]
    assert told["rouge-l"]["needs"] == ["references"]
    assert told["length"]["range"] == [0.0, None]
    assert client.get("/health").json()["status"] == "ok"


def test_unknown_routes_and_methods(client: TestClient) -> None:
    for answer, status in ((client.get("/scores"), 404), (client.get("/score"), 405)):
        assert answer.status_code == status
        assert answer.json()["error"].startswith("no such route: expected POST /score")


def test_an_address_that_is_taken(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ran = run("serve", "-m", "length", "--port", taken.getsockname()[1])
    assert ran.code == 2
    assert ran.err.startswith("rejoinder: 127.0.0.1:")
    assert "cannot be used (Address already in use" in ran.err


def test_counters_for_prometheus(client: TestClient) -> None:
    client.post("/score", json=[REPLY, REPLY])
    client.post("/score", content=b"oops")
    lines = client.get("/metrics").text.splitlines()
    assert "rejoinder_replies_total 2" in lines
    assert "rejoinder_batches_total 1" in lines
    assert "rejoinder_waiting_replies 0" in lines
    assert 'rejoinder_requests_total{route="/score",status="200"} 1' in lines
    assert 'rejoinder_requests_total{route="/score",status="400"} 1' in lines
    assert 'rejoinder_request_seconds_bucket{le="+Inf"} 2' in lines
    assert "rejoinder_request_seconds_count 2" in lines
    assert "# TYPE rejoinder_requests_total counter" in lines


def test_a_request_that_takes_too_long_is_told_to_come_back() -> None:
    with TestClient(scoring_app(ROUGE, Limits(seconds=0.0))) as client:
        answer = client.post("/score", json=REPLY)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert answer.json() == {"error": "the scores took too long"}
    with TestClient(scoring_app(ROUGE, Limits(waiting=0))) as client:
        answer = client.post("/score", json=REPLY)
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")


def test_the_token() -> None:
    with TestClient(scoring_app(ROUGE, token="secret")) as client:
        assert client.get("/health").status_code == 200
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "secret"}):
            answer = client.post("/score", json=REPLY, headers=headers)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
            assert "secret" not in answer.text
        assert client.post("/score", json=REPLY, headers={"Authorization": "Bearer secret"}).status_code == 200


def test_metrics_of_a_whole_corpus_are_refused() -> None:
    with pytest.raises(CallError, match="cider reads all replies before it scores one"):
        scoring_app({"cider": rejoinder.load("cider")})


def test_requests_that_wait_are_scored_together(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    scored = Batcher._scores

    def watched(self: Batcher, examples: Any) -> Any:
        sizes.append(len(examples))
        return scored(self, examples)

    monkeypatch.setattr(Batcher, "_scores", watched)

    async def ask() -> None:
        async with Batcher(ROUGE, Limits(batch=8)) as batcher:
            replies = [[Example(str(n), (), "word " * (n + 1))] for n in range(20)]
            answers = await asyncio.gather(*(batcher.score(reply) for reply in replies))
            assert [answer.columns["length"] for answer in answers] == [[n + 1.0] for n in range(20)]
            assert batcher.waiting == 0

    asyncio.run(ask())
    assert sizes == [8, 8, 4]


def test_a_full_queue_and_what_is_accepted_when_it_closes() -> None:
    async def ask() -> None:
        async with Batcher(ROUGE, Limits(waiting=3)) as batcher:
            accepted = [asyncio.create_task(batcher.score([Example("1", (), "a")])) for _ in range(3)]
            await asyncio.sleep(0)
            with pytest.raises(QueueFullError, match="3 replies are waiting: expected at most 3 with this request"):
                await batcher.score([Example("1", (), "a")])
        assert [answer.columns["length"] for answer in await asyncio.gather(*accepted)] == [[1.0]] * 3

    asyncio.run(ask())


def test_a_metric_that_fails_does_not_stop_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    with TestClient(scoring_app(ROUGE), raise_server_exceptions=False) as client:
        with monkeypatch.context() as patched:
            patched.setattr(Batcher, "_scores", lambda *_: 1 / 0)
            failed = client.post("/score", json=REPLY)
            assert (failed.status_code, failed.json()) == (500, {"error": "the service failed; its log says why"})
        assert client.post("/score", json=REPLY).status_code == 200


@pytest.mark.parametrize(
    ("then", "message"),
    [
        (None, "the request did not arrive within 0.01 seconds"),
        ({"type": "http.disconnect"}, "the connection was closed before the whole request had arrived"),
    ],
)
def test_a_request_that_does_not_arrive_is_given_up(then: Any, message: str) -> None:
    """Straight to the application: no client sends half of a body."""
    parts, sent = [{"type": "http.request", "body": b"[", "more_body": True}, then], []

    async def receive() -> Any:
        part = parts.pop(0)
        return await asyncio.sleep(60) if part is None else part

    async def send(message: Any) -> None:
        sent.append(message)

    async def ask() -> None:
        scope = {"type": "http", "method": "POST", "path": "/score", "headers": [], "query_string": b""}
        await scoring_app(ROUGE, Limits(seconds=0.01))(scope, receive, send)

    asyncio.run(ask())
    assert sent[0]["status"] == 408
    assert json.loads(sent[1]["body"]) == {"error": message}


def test_a_large_request_lets_small_ones_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    async def ask() -> None:
        async with Batcher(ROUGE, Limits(batch=4)) as batcher:

            async def score(name: str, count: int) -> None:
                found = await batcher.score([Example(str(n), (), "word " * (n + 1)) for n in range(count)])
                assert found.columns["length"] == [n + 1.0 for n in range(count)]
                order.append(name)

            with batcher._arrived:  # the scoring thread begins when all requests are there
                waiting = [asyncio.create_task(score(name, count)) for name, count in (("large", 18), ("small", 2))]
                await asyncio.sleep(0)
            await asyncio.gather(*waiting)

    asyncio.run(ask())
    assert order == ["small", "large"]


def test_retry_after_is_the_time_that_what_waits_will_take() -> None:
    batcher = Batcher(ROUGE, Limits())
    assert batcher.retry_after() == 1
    batcher.scored, batcher.busy, batcher.waiting = 100, 10.0, 55
    assert batcher.retry_after() == 6
    batcher.waiting = 10_000
    assert batcher.retry_after() == 60


def test_explanations(client: TestClient) -> None:
    found = client.post("/explain", json=REPLY).json()
    words = [found["response"][part["start"] : part["end"]] for part in found["parts"]]
    assert words == ["Yes", "tea", "please"]
    without_tea = rejoinder.load("rouge-l").score([Example("a", ("Tea?",), "Yes, please.", ("Yes, please.",))])[0]
    assert found["without"]["rouge-l"][1] == without_tea == 1.0
    assert found["scores"]["rouge-l"]["why"][-1] == "“tea” lowers it the most: without it the score is 1.00."
    unmeasured = {"status": "unmeasured", "reasons": []}
    plain = {"score": 5.0, "interval": None, "range": [0.0, None], "reliability": unmeasured, "why": []}
    assert found["scores"]["length"] == plain
    long = client.post("/explain", json={"response": "word " * 300}).json()
    assert len(long["parts"]) == 38  # of eight words each
    with TestClient(scoring_app(ROUGE)) as roomy:
        answer = roomy.post("/explain", json={"response": "x" * 20_001})
        assert answer.status_code == 413
        assert answer.json() == {"error": "the texts have 20,001 characters: expected at most 20,000"}


def test_the_default_evaluator_says_whether_a_reply_fits_its_context() -> None:
    with TestClient(scoring_app({"default": rejoinder.load("default")})) as client:
        found = client.post("/explain", json={"context": ["Do you want tea?"], "response": "Yes, with milk please."})
    told = found.json()["scores"]["default"]
    assert told["why"][0].startswith("The reply fits this context: after unrelated turns its mean score is ")
    assert any(sentence.startswith("For orientation, means on other conversations: human ") for sentence in told["why"])
    low, high = told["interval"]
    assert low < told["score"] < high

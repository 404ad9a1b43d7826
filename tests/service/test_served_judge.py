"""A judge behind the service: it is asked about the reply alone, and says itself why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from judge_server import Reply, asked_reply, completion, serving
from rejoinder.judge.judge import Judge
from rejoinder.service.app import scoring_app


def test_an_explanation_asks_about_no_other_reply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def respond(body: dict[str, Any], number: int) -> Reply:
        return completion('{"score": 4, "reason": "It answers the question."}')

    with serving(respond) as server:
        judge = Judge(model="m", url=server.url, reason=True, samples=1, timeout=60.0)
        with TestClient(scoring_app({"judge": judge})) as client:
            assert server.requests == []  # loading the models asks nothing
            found = client.post("/explain", json={"context": ["Tea?"], "response": "Yes, with milk please."}).json()
    assert found["scores"]["judge"]["score"] == 4.0
    assert found["scores"]["judge"]["why"] == ["It answers the question."]
    assert found["without"] == {}
    assert {asked_reply(body) for body in server.requests} == {"Yes, with milk please."}

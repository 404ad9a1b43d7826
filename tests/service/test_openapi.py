"""The OpenAPI document: valid, and true of what the service answers."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from starlette.testclient import TestClient

import rejoinder
from rejoinder.service.app import scoring_app
from rejoinder.service.description import OPERATIONS
from rejoinder.service.limits import Limits

METRICS = {name: rejoinder.load(name) for name in ("rouge-l", "default-fast", "length")}
LIMITS = Limits(examples=20)
REPLY = {"id": 7, "context": ["Tea?"], "response": "Yes, tea please.", "references": ["Yes, please."], "more": 1}
PAIR = {"old": [REPLY, {"response": ""}], "new": [{**REPLY, "response": "No."}]}

# Route -> bodies, and the status of their answers.
BODIES: dict[str, list[tuple[Any, int]]] = {
    "/score": [
        (REPLY, 200),
        ([REPLY, {"response": "x", "system": "b", "context": None, "references": "a"}], 200),
        ({"response": ""}, 200),
        ({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [{"text": "Hello"}]}]}, 200),
        ({"messages": [{"role": "tool", "content": 3}], "response": "a"}, 200),
        ({"messages": [{"role": "user", "content": 3}], "response": "a"}, 400),
        ({"messages": [{"role": "robot", "content": "Hi"}]}, 400),
        ({"messages": [{"role": "user"}], "response": "a"}, 400),
        ([], 400),
        ("text", 400),
        ({"response": 3}, 400),
        ({"context": ["a"]}, 400),
        ({"response": "a", "id": 1.5}, 400),
        ({"response": "a", "context": [1]}, 400),
        ([REPLY] * 21, 413),
    ],
    "/compare": [
        ({"systems": PAIR}, 200),
        ({"systems": PAIR, "metrics": ["rouge-l"], "primary": "rouge-l", "margin": 0.5, "fail_if": "worse"}, 200),
        ({"systems": PAIR, "margin": None, "seed": None, "fail_if": None, "metrics": None}, 200),
        ({"systems": {"old": [REPLY]}}, 400),
        ({"systems": PAIR, "margin": 0}, 400),
        ({"systems": PAIR, "seed": -1}, 400),
        ({"systems": PAIR, "seed": 2**32}, 400),
        ({"systems": PAIR, "fail_if": "bad"}, 400),
        ({"systems": PAIR, "else": 1}, 400),
        ({"systems": PAIR, "metrics": []}, 400),
        ({"systems": PAIR, "metrics": ["bleu"]}, 400),
        ({"systems": PAIR, "primary": "bleu"}, 400),
        ({"systems": {**PAIR, " ": [REPLY]}}, 400),
        ({"systems": {"old": [], "new": [REPLY]}}, 400),
        ({}, 400),
    ],
    "/explain": [(REPLY, 200), ({"response": "你好吗"}, 200), ({"response": " "}, 200), ([REPLY], 400), ({}, 400)],
}


@pytest.fixture(scope="module")
def client() -> Any:
    with TestClient(scoring_app(METRICS, LIMITS)) as client:
        yield client


@pytest.fixture(scope="module")
def document(client: TestClient) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/openapi.json").json()
    return found


def fits(value: Any, content: dict[str, Any], document: dict[str, Any]) -> bool:
    """Whether a value has the shape that the document describes."""
    (described,) = content.values()
    schema = {**described["schema"], "components": document["components"]}
    return bool(jsonschema.Draft202012Validator(schema).is_valid(value))


def test_every_route_is_described_and_answers(client: TestClient, document: dict[str, Any]) -> None:
    assert document["openapi"] == "3.1.0"
    assert {(path, method.upper()) for path, methods in document["paths"].items() for method in methods} == {
        (operation.path, operation.method) for operation in OPERATIONS
    }
    for schema in document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    for operation in OPERATIONS:
        if operation.method == "GET":
            answer = client.get(operation.path)
            content = document["paths"][operation.path]["get"]["responses"]["200"]["content"]
            assert answer.headers["content-type"].partition(";")[0] == next(iter(content))
            value = answer.json() if "application/json" in content else answer.text
            assert fits(value, content, document), operation.path


@pytest.mark.parametrize(("path", "body", "status"), [(path, *case) for path in BODIES for case in BODIES[path]])
def test_bodies_are_accepted_as_described_and_answers_have_the_described_shape(
    path: str, body: Any, status: int, client: TestClient, document: dict[str, Any]
) -> None:
    described = document["paths"][path]["post"]
    assert fits(body, described["requestBody"]["content"], document) == (status == 200)
    answer = client.post(path, json=body)
    assert answer.status_code == status, answer.text
    assert fits(answer.json(), described["responses"][str(status)]["content"], document)


def test_a_token_is_described_where_there_is_one() -> None:
    with TestClient(scoring_app(METRICS, token="t")) as client:
        document = client.get("/openapi.json").json()
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert document["paths"]["/score"]["post"]["security"] == [{"token": []}]
    assert "401" in document["paths"]["/score"]["post"]["responses"]
    assert "security" not in document["paths"]["/health"]["get"]

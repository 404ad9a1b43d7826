"""What the service answers: its routes and the shapes of their JSON, written once.

The application makes its routes from OPERATIONS, messages about wrong addresses name them, and the OpenAPI document
describes them. tests/service/test_openapi.py compares the shapes with real answers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from rejoinder._version import __version__
from rejoinder.data.records import ASIDE_ROLES, BODY, TURN_ROLES
from rejoinder.options import HIGHEST_SEED
from rejoinder.scoring.reliability import Status
from rejoinder.service.bodies import FAIL_IF
from rejoinder.service.limits import Limits

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "number"}
_KNOWN: Schema = {"type": ["number", "null"]}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_LABEL: Schema = {"type": ["string", "integer", "null"]}
_CONTENT: Schema = {"type": ["string", "array", "null"], "items": {"type": ["string", "object", "null"]}}
_TEXTS: Schema = {"type": ["array", "string", "null"], "items": _TEXT}


@dataclass(frozen=True, slots=True)
class Operation:
    """One route."""

    method: str
    path: str
    handler: str
    """The name of the method that answers it."""
    summary: str
    answer: str
    """A name of SCHEMAS, or a media type of text."""
    body: str = ""
    """A name of SCHEMAS; "" for a route without a body."""
    errors: tuple[int, ...] = ()
    needs_token: bool = False

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


_REFUSED = (400, 401, 408, 413, 429, 500, 503)

OPERATIONS = (
    Operation("POST", "/score", "score", "Score one reply, or several", "Scores", "OneOrMore", _REFUSED, True),
    Operation(
        "POST", "/compare", "compare", "Test whether one system's replies are better", "Comparison",
        "ComparisonRequest", _REFUSED, True,
    ),
    Operation(
        "POST", "/explain", "explain", "Score one reply, and say why", "Explanation", "Example", _REFUSED, True
    ),
    Operation("GET", "/metrics-list", "metrics_list", "The metrics that are served", "Metrics", "", (401,), True),
    Operation("GET", "/health", "health", "Whether the service runs, and how much waits", "Health"),
    Operation("GET", "/metrics", "counters", "Counters in Prometheus's text format", "text/plain"),
    Operation("GET", "/openapi.json", "openapi", "This document", "OpenAPI"),
    Operation("GET", "/", "page", "A page to try it", "text/html"),
)  # fmt: skip

ERRORS = {
    400: "The request is wrong; the error says where and what was expected.",
    401: "The bearer token is missing or wrong.",
    408: "The request did not arrive in time.",
    413: "The request is larger than the limits.",
    429: "Too much is waiting: try again after the seconds in Retry-After.",
    500: "The service failed; its log says why.",
    503: "The scores took too long: try again after the seconds in Retry-After.",
}


def _object(required: Sequence[str] = (), *, others: Any = False, **fields: Schema) -> Schema:
    return {
        "type": "object",
        "properties": fields,
        "required": list(required or fields),
        "additionalProperties": others,
    }


def _of(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _list(items: Schema, **limits: int) -> Schema:
    return {"type": "array", "items": items, **limits}


def _map(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def _reliability() -> Schema:
    """Whether a metric can be relied on for one reply, and of which kinds the reply is where it cannot."""
    return _object(status={"enum": [*get_args(Status)]}, reasons=_list(_TEXT))


def schemas(limits: Limits, served: Sequence[str]) -> dict[str, Schema]:
    """Name -> JSON schema of everything that requests and answers contain; `served` are the names of the metrics."""
    return {
        **_request_schemas(limits, list(served)),
        "Scores": _object(
            results=_list(
                _object(
                    ("id", "scores", "reliability"),
                    id=_TEXT,
                    system=_TEXT,
                    scores=_map(_KNOWN),
                    reliability=_map(_reliability()),
                )
            ),
            signatures=_map(_TEXT),
        ),
        "Comparison": _object(
            ("verdict", "decided", "better", "unbeaten", "primary", "comparisons", "summary", "warnings", "seed"),
            others=True,
            verdict=_TEXT,
            decided={"type": "boolean"},
            better={"type": ["string", "null"]},
            unbeaten=_list(_TEXT),
            primary=_TEXT,
            margin=_KNOWN,
            comparisons=_list({"type": "object"}),
            summary=_map(_map({"type": "object"})),
            warnings=_list(_TEXT),
            seed=_COUNT,
            doubtful_replies=_list(
                _object(id=_TEXT, system=_TEXT, metric=_TEXT, **_reliability()["properties"]),
            ),
            check=_object(
                fail_if={"enum": list(FAIL_IF)}, passed={"type": "boolean"}, decided={"type": "boolean"}, reason=_TEXT
            ),
        ),
        "Explanation": _object(
            id=_TEXT,
            response=_TEXT,
            scores=_map(
                _object(
                    score=_KNOWN,
                    interval={"type": ["array", "null"], "items": _KNOWN},
                    range=_list(_KNOWN, minItems=2, maxItems=2),
                    reliability=_reliability(),
                    why=_list(_TEXT),
                )
            ),
            parts=_list(_object(start=_COUNT, end=_COUNT)),
            without=_map(_list(_KNOWN)),
        ),
        "Metrics": _object(
            metrics=_map(
                _object(
                    measures=_TEXT,
                    needs=_list(_TEXT),
                    range=_list(_KNOWN, minItems=2, maxItems=2),
                    higher_is_better={"type": "boolean"},
                    signature=_TEXT,
                )
            )
        ),
        "Health": _object(status={"const": "ok"}, version=_TEXT, waiting=_COUNT),
        "OpenAPI": {"type": "object"},
        "Error": _object(error=_TEXT),
    }


def _message(roles: Collection[str], **fields: Schema) -> Schema:
    """A message of a chat; what instructions and tools say may be anything, because it is not read."""
    body = {"anyOf": [{"required": [name]} for name in BODY]}
    return {**_object(("role",), others=True, role={"enum": sorted(roles)}, **fields), **body}


def _request_schemas(limits: Limits, served: list[str]) -> dict[str, Schema]:
    message = {"anyOf": [_message(TURN_ROLES, content=_CONTENT), _message(ASIDE_ROLES)]}
    return {
        "Example": {**_example(message), "anyOf": [{"required": ["response"]}, {"required": ["messages"]}]},
        "OneOrMore": {"anyOf": [_of("Example"), _list(_of("Example"), minItems=1, maxItems=limits.examples)]},
        "ComparisonRequest": _object(
            ("systems",),
            systems={
                **_map(_list(_of("Example"), minItems=1)),
                "minProperties": 2,
                "propertyNames": {"pattern": r"\S"},
            },
            metrics={**_list({"enum": served}, minItems=1), "type": ["array", "null"], "uniqueItems": True},
            primary={"enum": [*served, None]},
            margin={"type": ["number", "null"], "exclusiveMinimum": 0},
            fail_if={"enum": [*FAIL_IF, None]},
            seed={"type": ["integer", "null"], "minimum": 0, "maximum": HIGHEST_SEED},
            allow_doubtful={"type": ["boolean", "null"]},
        ),
    }


def _example(message: Schema) -> Schema:
    """One reply; without a response it is the last message of the assistant."""
    found = _object(
        others=True,
        response=_TEXT,
        context=_TEXTS,
        references=_TEXTS,
        id=_LABEL,
        system=_LABEL,
        context_id=_LABEL,
        dialogue_id=_LABEL,
        speakers=_TEXTS,
        messages={**_list(message), "type": ["array", "null"]},
    )
    return {name: value for name, value in found.items() if name != "required"}


def document(limits: Limits, served: Sequence[str], *, needs_token: bool) -> dict[str, Any]:
    """The OpenAPI document of the service."""
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation, needs_token)
    components: dict[str, Any] = {"schemas": schemas(limits, served)}
    if needs_token:
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "rejoinder",
            "version": __version__,
            "description": "Scores replies of chatbots, and compares systems.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": components,
    }


def _described(operation: Operation, needs_token: bool) -> dict[str, Any]:
    errors = [code for code in operation.errors if code != 401 or needs_token]
    found: dict[str, Any] = {
        "operationId": operation.handler,
        "summary": operation.summary,
        "responses": {
            "200": {"description": operation.summary, "content": _content(operation.answer)},
            **{str(code): _refusal(code) for code in errors},
        },
    }
    if operation.body:
        found["requestBody"] = {"required": True, "content": _content(operation.body)}
    if operation.needs_token and needs_token:
        found["security"] = [{"token": []}]
    return found


def _refusal(code: int) -> dict[str, Any]:
    headers = {"headers": {"Retry-After": {"schema": _COUNT}}} if code in (429, 503) else {}
    return {"description": ERRORS[code], "content": _content("Error"), **headers}


def _content(name: str) -> dict[str, Any]:
    return {name: {"schema": _TEXT}} if "/" in name else {"application/json": {"schema": _of(name)}}

"""Which tool wrote a record, by its structure alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rejoinder.data.importers.chats import conversation_name, is_request_log, request_log, sharegpt
from rejoinder.data.importers.columns import USUAL, snake_case
from rejoinder.data.importers.traces import (
    Importer,
    is_langfuse,
    is_langsmith,
    is_nested,
    langfuse_importer,
    langsmith_importer,
)
from rejoinder.errors import DataError

Sample = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Shape:
    """One kind of record that needs an importer."""

    name: str
    fits: Callable[[Mapping[str, Any]], bool]
    importer: Callable[[Sample], tuple[Importer, str]]
    """For a sample of records: the importer, and a note on what it leaves out."""
    mapping: str
    """What is read from where; {reply} stands for the messages that are replies."""


SHAPES = (
    Shape(
        "requests with responses of a chat service",
        is_request_log,
        lambda sample: (request_log, _several_choices(sample)),
        "context from the request, response from the first choice, system from 'model'",
    ),
    Shape(
        "ShareGPT conversations",
        lambda record: bool(conversation_name(record)),
        lambda sample: (sharegpt, "'system' is taken as a system prompt" if _has(sample, "system") else ""),
        "response from {reply}, context from the turns before it, system from 'model'",
    ),
    Shape(
        "LangSmith runs",
        is_langsmith,
        langsmith_importer,
        "context from 'inputs', response from 'outputs', system from the model's name in 'extra'",
    ),
    Shape(
        "Langfuse traces",
        is_langfuse,
        langfuse_importer,
        "context from 'input', response from 'output', system from 'model', 'version' or 'release'",
    ),
    Shape(
        "traces with an input and an output",
        is_nested,
        langfuse_importer,
        "context from 'input', response from 'output', system from 'model', 'version' or 'release'",
    ),
)

_PAGE_NAMES = ("runs", "data", "traces", "observations", "items", "results")
_NOT_IN_PAGES = {*USUAL["response"], "messages", "turns"}


def shape_of(sample: Sample, name: str) -> Shape | None:
    """The one shape of these records; None where they need no importer, DataError where they differ."""
    found: dict[str, Shape] = {}
    plain = 0
    for record in sample:
        fitting = [shape for shape in SHAPES if shape.fits(record)]
        found.update((shape.name, shape) for shape in fitting)
        plain += not fitting
    if len(found) + bool(found and plain) > 1:
        kinds = [*found, *(["records of another kind"] if plain else [])]
        raise DataError(f"mixes {' and '.join(kinds)}: expected records of one kind", file=name)
    return next(iter(found.values()), None)


def records_of_page(record: Any) -> list[Any]:
    """The records inside one page of an export, such as {"data": [...], "meta": ...}; none where it is no page."""
    if not isinstance(record, dict) or any(shape.fits(record) for shape in SHAPES):
        return []
    if any(snake_case(name) in _NOT_IN_PAGES for name in record):
        return []
    lists = (record[name] for name in _PAGE_NAMES if isinstance(record.get(name), list))
    return next((inner for inner in lists if inner and all(isinstance(item, dict) for item in inner)), [])


def _has(sample: Sample, name: str) -> bool:
    return any(record.get(name) for record in sample)


def _several_choices(sample: Sample) -> str:
    several = any(len(_choices(record)) > 1 for record in sample)
    return "other choices than the first are left out" if several else ""


def _choices(record: Mapping[str, Any]) -> Sequence[Any]:
    response = record.get("response")
    response = response if isinstance(response, Mapping) else record
    body = response.get("body")
    choices = (body if isinstance(body, Mapping) else response).get("choices")
    return choices if isinstance(choices, list | tuple) else ()

"""The body of a request as examples, and two systems in one request compared."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from starlette.requests import ClientDisconnect, Request

from rejoinder.comparing.compare import compare_table, compared_faults
from rejoinder.comparing.systems import join
from rejoinder.comparing.verdict import FailIf, gate
from rejoinder.data.contexts import GroupFinder
from rejoinder.data.records import FieldError, FieldMap, data_error, example_of, label_of, type_words
from rejoinder.data.source import Source, Survey
from rejoinder.errors import CallError, DataError, RejoinderError, UnknownNameError, shortened
from rejoinder.folders.schema import RepeatedKeyError, unique_keys
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import Batch
from rejoinder.options import RESAMPLES, Margin, PrimaryMetric, Seed, fitting, flag, one_of
from rejoinder.scoring.score import MetricChoice
from rejoinder.scoring.scorer import Scorer
from rejoinder.scoring.table import ScoreTable
from rejoinder.service.batcher import ScoreColumns, Scored
from rejoinder.service.limits import Limits
from rejoinder.types import Example

# The body of a request as examples, with the messages of the command line: a position in place of file and line.


class RequestTooLargeError(RejoinderError):
    """A request holds more than the service accepts."""


class TooSlowError(RejoinderError):
    """A request did not arrive in time."""


async def body_of(request: Request, limits: Limits) -> Any:
    """The JSON value of a request, of which no more is read than is accepted."""
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and len(announced) < 20 and int(announced) > limits.body:
        raise _too_large(limits)
    parts, size = [], 0
    try:
        async with asyncio.timeout(limits.seconds):
            async for part in request.stream():
                size += len(part)
                if size > limits.body:
                    raise _too_large(limits)
                parts.append(part)
    except TimeoutError:
        raise TooSlowError(f"the request did not arrive within {limits.seconds:g} seconds") from None
    except ClientDisconnect:
        raise TooSlowError("the connection was closed before the whole request had arrived") from None
    try:
        return _DECODER.decode(b"".join(parts).decode())
    except RepeatedKeyError as error:
        raise CallError(f"the request {error}") from None
    except (ValueError, RecursionError):
        raise CallError("the request is not valid JSON: expected an example, or a list of examples") from None


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=unique_keys, parse_constant=_no_number)


def _too_large(limits: Limits) -> RequestTooLargeError:
    return RequestTooLargeError(f"the request is larger than {limits.body:,} bytes")


def examples_of(found: Any, limits: Limits) -> list[Example]:
    """The examples of a request to score: one object, or a list of objects."""
    records = found if isinstance(found, list) else [found]
    if not records:
        raise CallError("the request has no example: expected at least one")
    _check_number(len(records), limits)
    return _examples(records, "example")


def example_of_body(found: Any, longest: int) -> Example:
    """The only example of a request, whose texts may have so many characters together."""
    (example,) = _examples([found], "example")
    size = sum(map(len, (example.response, *example.context, *example.references)))
    if size > longest:
        raise RequestTooLargeError(f"the texts have {size:,} characters: expected at most {longest:,}")
    return example


@dataclass(frozen=True)
class ComparisonRequest:
    """What `POST /compare` takes: the replies of each system, and options that the command has too."""

    systems: Mapping[str, list[Example]]
    options: Mapping[str, Any] = field(default_factory=dict)
    """primary, margin, seed, allow_doubtful, where given."""
    metrics: tuple[str, ...] | None = None
    fail_if: str | None = None

    @classmethod
    def of(cls, found: Any, served: Sequence[str], limits: Limits) -> ComparisonRequest:
        """The request in a body, checked."""
        if not isinstance(found, dict) or not isinstance(found.get("systems"), dict):
            raise CallError('expected {"systems": {"old": [examples], "new": [examples]}}')
        for name in found:
            if name not in COMPARISON_FIELDS:
                raise UnknownNameError("field of a comparison", name, COMPARISON_FIELDS)
        systems: dict[str, Any] = found["systems"]
        for name, records in systems.items():
            if not isinstance(records, list) or not records:
                raise DataError(f"expected a list of examples, found {_kind(records)}", file=name, field="systems")
        _check_number(sum(map(len, systems.values())), limits)
        metrics = found.get("metrics")
        if metrics is not None:
            metrics = _metrics(metrics, served)
        if found.get("primary") is not None and found["primary"] not in (metrics or served):
            raise UnknownNameError("primary metric", found["primary"], metrics or served)
        return cls(
            {_name(name): _of_system(name, records) for name, records in systems.items()},
            {name: fitting(name, found[name], check) for name, check in _CHECKS.items() if found.get(name) is not None},
            metrics,
            None if found.get("fail_if") is None else fitting("fail_if", found["fail_if"], one_of(*FAIL_IF)),
        )


COMPARISON_FIELDS = ("systems", "metrics", "primary", "margin", "fail_if", "seed", "allow_doubtful")
FAIL_IF = ("worse", "not-better")
_CHECKS = {"primary": PrimaryMetric, "margin": Margin, "seed": Seed, "allow_doubtful": flag}


def _metrics(given: Any, served: Sequence[str]) -> tuple[str, ...]:
    if not isinstance(given, list) or not given or not all(isinstance(name, str) for name in given):
        raise CallError(f"metrics must be a list of names, not {shortened(given)}")
    for name in given:
        if name not in served:
            raise UnknownNameError("metric of this service", name, served)
    if len(set(given)) < len(given):
        raise CallError("a metric is named twice")
    return tuple(given)


def _name(name: str) -> str:
    try:
        found = label_of(name, "systems")
    except FieldError as error:
        raise CallError(f"the name of a system {error}") from None
    if not found.strip():
        raise CallError("a system has no name: expected text that is not empty")
    return found


def _of_system(name: str, records: Sequence[Any]) -> list[Example]:
    examples = _examples(records, name)
    for number, example in enumerate(examples, start=1):
        if example.system not in ("", name):
            problem = f"expected {shortened(name)} or none, found {shortened(example.system)}"
            raise DataError(problem, file=name, line=number, field="system")
    return examples


def _examples(records: Sequence[Any], where: str) -> list[Example]:
    """The examples, checked as those of a file; a DataError names the position in the list."""
    examples = []
    for number, record in enumerate(records, start=1):
        try:
            examples.append(example_of(record, number, FieldMap()))
        except FieldError as error:
            raise data_error(error, where, number) from None
    return examples


def _check_number(count: int, limits: Limits) -> None:
    if count > limits.examples:
        raise RequestTooLargeError(f"{count:,} examples in one request: expected at most {limits.examples:,}")


def _kind(value: Any) -> str:
    return "an empty list" if value == [] else type_words(value)


# `POST /compare`: the comparison of the command line, on scores that the batcher computed.


class SystemReplies:
    """The replies of all systems of a request, checked as those of files are, and the metrics that they allow."""

    def __init__(self, request: ComparisonRequest, metrics: Mapping[str, Metric]) -> None:
        sources = []
        for name, examples in request.systems.items():
            source = Source(examples)
            source.name = source.file = name
            sources.append(source)
        if len(sources) < 2:
            raise CallError(f"compare needs at least two systems, found {len(sources)}")
        joined, self.seen = join(sources, list(request.systems))
        self.examples: list[Example] = list(joined)
        if request.metrics is None:
            chosen = MetricChoice(metrics, frozenset(metrics))
        else:
            chosen = MetricChoice({label: metrics[label] for label in request.metrics})
        self.chosen = chosen.served_by(self.seen, "the request")
        if not self.chosen.metrics:
            raise CallError(f"no metric of this service can score these replies: {'; '.join(self.chosen.notes)}")
        self.request = request

    def compared(self, scored: Scored) -> dict[str, Any]:
        """What `rejoinder compare --json` prints, from the scores of the examples, and which of these are doubtful."""
        options = dict(self.request.options)
        table = _table(self.examples, self.seen, self.chosen, scored.columns, options.pop("seed", 0))
        found = compare_table(table, named=tuple(self.chosen.metrics), **options)
        found = replace(found, faults=compared_faults(table, self.examples))
        checked = gate(found, cast(FailIf, self.request.fail_if)) if self.request.fail_if else None
        doubtful = [
            {"id": example.id, "system": example.system, "metric": label, **each.to_dict()}
            for label in self.chosen.metrics
            for example, each in zip(self.examples, scored.reliability.get(label, ()), strict=False)
            if each.is_doubtful
        ]
        return (
            found.to_dict()
            | ({"doubtful_replies": doubtful} if doubtful else {})
            | ({"check": checked.to_dict()} if checked else {})
        )


def _table(examples: list[Example], seen: Survey, chosen: MetricChoice, columns: ScoreColumns, seed: int) -> ScoreTable:
    scorer, groups = Scorer(chosen.metrics, seen.systems), GroupFinder(by_dialogue=True)
    scorer.count(Batch(examples))
    groups.add(examples)
    return scorer.table(
        {label: np.array(columns[label], np.float64) for label in chosen.metrics},
        scorer.system_codes(examples),
        notes=chosen.notes,
        grouping=groups.found(),
        seed=seed,
        resamples=RESAMPLES,
    )

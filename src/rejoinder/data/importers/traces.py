"""Exports of tracing tools: LangSmith's runs and dataset examples, Langfuse's traces and observations.

A trace is a tree: the conversation turn at the root, and below it the calls of models and tools that it took. Scoring
both would count a reply twice. So where an export contains roots, only these are read; where it contains none, only the
calls of models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from rejoinder.data.importers.conversation import reply_of, turns_of
from rejoinder.data.importers.paths import structured, value_at
from rejoinder.data.values import FieldError, is_missing

Record = dict[str, Any]
Importer = Callable[[Mapping[str, Any]], list[Record]]

_LANGFUSE_MARKS = {
    *("observations", "traceId", "trace_id", "sessionId", "userId", "htmlPath", "bookmarked", "projectId"),
    *("parentObservationId", "parent_observation_id", "totalCost", "modelParameters"),
}
_EXPECTED = ("expectedOutput", "expected_output", "expected", "ground_truth", "reference")
_PARENTS = ("parent_run_id", "parentRunId", "parentObservationId", "parent_observation_id")
_LANGSMITH_MODELS = (
    *("extra.metadata.ls_model_name", "extra.invocation_params.model", "extra.invocation_params.model_name"),
    "metadata.ls_model_name",
)
_LANGSMITH_THREADS = tuple(f"extra.metadata.{name}" for name in ("session_id", "thread_id", "conversation_id"))


def is_langsmith(record: Mapping[str, Any]) -> bool:
    """Whether a record is a run or an example of LangSmith: an object of inputs and one of outputs."""
    inputs, outputs = structured(record.get("inputs")), structured(record.get("outputs"))
    return isinstance(inputs, Mapping) and "outputs" in record and (isinstance(outputs, Mapping) or _empty(outputs))


def is_langfuse(record: Mapping[str, Any]) -> bool:
    """Whether a record is a trace or an observation of Langfuse."""
    return "input" in record and "output" in record and bool(_LANGFUSE_MARKS & record.keys())


def is_nested(record: Mapping[str, Any]) -> bool:
    """Whether a record has an input and an output, one of which is no plain text, but nothing that Langfuse adds."""
    if not {"input", "output"} <= record.keys() or is_langfuse(record):
        return False
    return any(isinstance(structured(record[name]), Mapping | list) for name in ("input", "output"))


def langsmith_importer(sample: Sequence[Mapping[str, Any]]) -> tuple[Importer, str]:
    """The importer for runs like these, and what it leaves out."""
    only, left_out = _selection(sample, "outputs", "run_type")
    return partial(_langsmith, only=only), left_out


def langfuse_importer(sample: Sequence[Mapping[str, Any]]) -> tuple[Importer, str]:
    """The importer for traces or observations like these, and what it leaves out."""
    only, left_out = _selection(sample, "output", "type")
    return partial(_langfuse, only=only), left_out


def _selection(sample: Sequence[Mapping[str, Any]], output: str, kind: str) -> tuple[str, str]:
    if not any(_has_parent(record) for record in sample):
        return "", ""
    if any(not _has_parent(record) and not _empty(record.get(output)) for record in sample):
        return "roots", "steps within a trace are left out"
    if any(_is_model_call(record, kind) for record in sample):
        return "calls", "only calls of models are read, and other steps left out"
    return "", ""


def _has_parent(record: Mapping[str, Any]) -> bool:
    return any(not _empty(record.get(name)) for name in _PARENTS)


def _is_model_call(record: Mapping[str, Any], kind: str) -> bool:
    return str(record.get(kind)).lower() in {"llm", "generation"}


def _left_out(record: Mapping[str, Any], only: str, kind: str) -> bool:
    return (only == "roots" and _has_parent(record)) or (only == "calls" and not _is_model_call(record, kind))


def _langsmith(record: Mapping[str, Any], *, only: str) -> list[Record]:
    if _left_out(record, only, "run_type"):
        return []
    if _empty(record.get("outputs")):
        failed = " (the run failed)" if not _empty(record.get("error")) else ""
        raise FieldError("outputs", f"is missing{failed}: expected the reply")
    expected = record.get("reference_outputs")
    return [
        {
            "id": record.get("id"),
            "messages": turns_of(record.get("inputs"), "inputs"),
            "response": reply_of(record["outputs"], "outputs"),
            "system": _first_at(record, _LANGSMITH_MODELS),
            "dialogue_id": _first_at(record, _LANGSMITH_THREADS),
            "references": None if _empty(expected) else [reply_of(expected, "reference_outputs")],
        }
    ]


def _langfuse(record: Mapping[str, Any], *, only: str) -> list[Record]:
    if _left_out(record, only, "type"):
        return []
    call = _last_call(record) if _empty(record.get("output")) else record
    if _empty(call.get("output")):
        raise FieldError("output", "is missing: expected the reply")
    expected = _first_at(record, _EXPECTED)
    return [
        {
            "id": record.get("id"),
            "messages": turns_of(None if _empty(call.get("input")) else call["input"], "input"),
            "response": reply_of(call["output"], "output"),
            "system": _first_at(call, ("model", "providedModelName")) or _first_at(record, ("version", "release")),
            "dialogue_id": _first_at(record, ("sessionId", "session_id")),
            "references": None if expected is None else [reply_of(expected, "expectedOutput")],
            "scores": None,  # a list of Langfuse's own
        }
    ]


def _last_call(trace: Mapping[str, Any]) -> Mapping[str, Any]:
    """The last call of a model within a trace that has no output of its own; the trace itself if there is none."""
    steps = structured(trace.get("observations"), "observations")
    calls = [step for step in steps if isinstance(step, Mapping) and _is_model_call(step, "type")] if steps else []
    return max(calls, key=lambda call: str(call.get("startTime")), default=trace)


def _first_at(record: Mapping[str, Any], paths: Sequence[str]) -> Any:
    """The first value that one of the paths leads to; None if there is none."""
    return next((value for value in (value_at(record, path) for path in paths) if not _empty(value)), None)


def _empty(value: Any) -> bool:
    return value is None or is_missing(value) or (isinstance(value, str) and value in {"", "null"})

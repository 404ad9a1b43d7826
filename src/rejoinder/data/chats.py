"""Logs of chat services, conversations and traces to contexts with replies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from rejoinder.data.records import (
    FieldError,
    as_list,
    is_missing,
    structured,
    text_of,
    text_of_content,
    type_words,
    value_at,
)
from rejoinder.errors import listed, shortened

# Logs of chat services: requests with their responses, and ShareGPT conversations.


ChatRecord = dict[str, Any]

_REQUEST_NAMES = ("messages", "input", "prompt")


def is_completion(value: Any) -> bool:
    """Whether a value is what a chat service returned: OpenAI's chat completion, response or batch line, or a message
    of content parts."""
    value = structured(value)
    if not isinstance(value, Mapping):
        return False
    if isinstance(as_list(value.get("choices")), list | tuple) or is_completion(value.get("body")):
        return True
    if value.get("object") == "response":
        return isinstance(as_list(value.get("output")), list | tuple)
    return value.get("role") == "assistant" and "content" in value


def is_request_log(record: Mapping[str, Any]) -> bool:
    """Whether a record is a request with its response, or only a response."""
    return is_completion(record.get("response")) or ("role" not in record and is_completion(record))


def request_log(record: Mapping[str, Any]) -> list[ChatRecord]:
    """What was asked as messages, with the reply."""
    response = structured(record.get("response"), "response")
    if not is_completion(response):
        response = record
    request = structured(record.get("request"), "request")
    if not isinstance(request, Mapping):
        request = record
    request = request.get("body") if isinstance(request.get("body"), Mapping) and request is not response else request
    asked = {name: request[name] for name in _REQUEST_NAMES if isinstance(request, Mapping) and request.get(name)}
    answered = response.get("body") if isinstance(response.get("body"), Mapping) else response
    return [
        {
            "id": _first(record.get("id"), record.get("custom_id"), answered.get("id")),
            "messages": input_messages(asked, "request") if asked else [],
            "response": reply_of(response, "response"),
            "system": _first(request.get("model"), record.get("model"), answered.get("model")),
        }
    ]


def conversation_name(record: Mapping[str, Any]) -> str:
    """The field that contains a list of ShareGPT's messages; "" if there is none."""
    for name in ("conversations", "conversation"):
        turns = as_list(structured(record.get(name)))
        if isinstance(turns, list | tuple) and turns and all(map(is_message, turns)):
            return name
    return ""


def sharegpt(record: Mapping[str, Any]) -> list[ChatRecord]:
    """A conversation as messages. Its field `system`, if any, is the system prompt, not the name of a system."""
    name = "conversations" if "conversations" in record else "conversation"
    turns = messages_of(record.get(name), name)
    return [{"id": _first(record.get("id")), "messages": turns, "system": record.get("model")}]


def _first(*values: Any) -> Any:
    """The first value that is present."""
    return next((value for value in values if value is not None and value != ""), None)


# What goes into a chat model and what comes out of it, in the forms that various tools use.
#
# Messages: OpenAI's `role` and `content`, ShareGPT's `from` and `value`, LangChain's `type` and `content` (also as a
# serialised constructor with `kwargs`). Results: a string, a message, OpenAI's `choices` or `output`, LangChain's
# `generations`, or an object with one of the usual names of a reply.


ChatMessage = dict[str, Any]

ROLES = {
    **dict.fromkeys(("user", "human", "prompter", "humanmessage"), "user"),
    **dict.fromkeys(("assistant", "ai", "bot", "chatbot", "gpt", "chatgpt", "model", "aimessage"), "assistant"),
    **dict.fromkeys(("system", "developer", "systemmessage"), "system"),
    **dict.fromkeys(("tool", "function", "function_call", "function_response", "observation"), "tool"),
    **dict.fromkeys(("toolmessage", "functionmessage", "tool_call", "tool_response"), "tool"),
}
"""Their names of roles, in lower case -> ours."""

QUESTIONS = ("input", "question", "query", "prompt", "user_input", "message", "text", "content")
"""Names of what a user said, in the inputs of a trace."""
HISTORIES = ("chat_history", "history")
REPLIES = ("output", "answer", "response", "completion", "reply", "result", "text", "message", "content")
"""Names of the reply, in the outputs of a trace."""


def messages_of(value: Any, where: str) -> list[ChatMessage]:
    """A list of messages of any tool as messages with `role` and `content`."""
    value = as_list(structured(value, where))
    if isinstance(value, list | tuple) and len(value) == 1 and isinstance(value[0], list | tuple):
        value = value[0]  # LangChain's batches of one
    if not isinstance(value, list | tuple):
        raise FieldError(where, f"expected a list of messages, found {type_words(value)}")
    return [_message(item, f"{where}[{place}]") for place, item in enumerate(value)]


def is_message(value: Any) -> bool:
    """Whether a value is a message of a known form."""
    if not isinstance(value, Mapping):
        return False
    role, body = _parts(value)
    return isinstance(role, str) and role.lower() in ROLES and body is not _ABSENT


_ABSENT = object()


def _parts(message: Mapping[str, Any]) -> tuple[Any, Any]:
    """Role and content as they stand; `_ABSENT` for no content."""
    kwargs, constructor = message.get("kwargs"), message.get("id")
    if isinstance(kwargs, Mapping) and isinstance(constructor, list | tuple) and constructor:
        return str(constructor[-1]).removesuffix("Chunk"), kwargs.get("content", _ABSENT)
    if "from" in message:
        return message["from"], message.get("value", _ABSENT)
    data = message.get("data")
    if isinstance(data, Mapping) and "role" not in message:
        return message.get("type"), data.get("content", _ABSENT)
    calls = None if {"tool_calls", "function_call"} & message.keys() else _ABSENT
    return message.get("role", message.get("type")), message.get("content", calls)


def _message(item: Any, where: str) -> ChatMessage:
    if not isinstance(item, Mapping):
        raise FieldError(where, f"expected a message, found {type_words(item)}")
    role, body = _parts(item)
    if "role" not in item and body is _ABSENT and isinstance(item.get("type"), str):
        return {"role": "tool", "content": None}  # items of OpenAI's responses: reasoning, calls of tools
    if not isinstance(role, str) or body is _ABSENT:
        raise FieldError(where, f"expected a message with a role and a content, found {listed(item) or 'no fields'}")
    if role.lower() not in ROLES:
        raise FieldError(where, f"expected a role such as user or assistant, found {shortened(role, 40)}")
    return {"role": ROLES[role.lower()], "content": body}


def input_messages(value: Any, where: str) -> list[ChatMessage]:
    """The messages that went into a model: a string is one message by the user."""
    value = as_list(structured(value, where))
    if value is None:
        return []
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    if isinstance(value, list | tuple):
        return messages_of(value, where)
    if not isinstance(value, Mapping):
        raise FieldError(where, f"expected what the user said, found {type_words(value)}")
    if is_message(value):
        return [_message(value, where)]
    for name in ("messages", "body"):
        if value.get(name) is not None:
            return input_messages(value[name], f"{where}.{name}")
    history = [turn for name in HISTORIES if value.get(name) for turn in messages_of(value[name], f"{where}.{name}")]
    rest = {name: inner for name, inner in value.items() if name not in HISTORIES}
    name = _only_name(rest, QUESTIONS, where, "context")
    return [*history, *input_messages(rest[name], f"{where}.{name}")]


def reply_of(value: Any, where: str) -> str:
    """The reply in what a model returned."""
    value = as_list(structured(value, where))
    if isinstance(value, str):
        return text_of(value, where)
    if isinstance(value, list | tuple):
        return _last_reply(value, where)
    if value is None:
        raise FieldError(where, "is missing: expected the reply")
    if not isinstance(value, Mapping):
        raise FieldError(where, f"expected the reply, found {type_words(value)}")
    if is_message(value):
        return _content(_message(value, where), where)
    for name in ("choices", "generations"):
        if name in value:
            return _first_choice(value[name], f"{where}.{name}")
    for name in ("body", "output_text", "messages"):
        if value.get(name) is not None:
            return reply_of(value[name], f"{where}.{name}")
    name = _only_name(value, REPLIES, where, "response")
    return reply_of(value[name], f"{where}.{name}")


def _first_choice(value: Any, where: str) -> str:
    """The reply of the first of several alternatives, each with a `message` or a `text`."""
    while isinstance(value, list | tuple) and value:
        value, where = value[0], f"{where}[0]"
    if not isinstance(value, Mapping):
        raise FieldError(where, f"expected an object with a message, found {type_words(value)}")
    name = "message" if value.get("message") is not None else "text"
    return reply_of(value.get(name), f"{where}.{name}")


def _last_reply(value: Sequence[Any], where: str) -> str:
    """The last message by the assistant, or the text of a list of content parts."""
    if value and all(isinstance(part, Mapping) and part.get("type") == "text" and "text" in part for part in value):
        return text_of_content(value, where)
    said = [m for m in messages_of(value, where) if m["role"] == "assistant" and m["content"] is not None]
    if not said:
        raise FieldError(where, "has no assistant message: expected the last one to be the reply")
    return _content(said[-1], where)


def _content(message: ChatMessage, where: str) -> str:
    if message["content"] is None:
        raise FieldError(f"{where}.content", "is null, as in a call of a tool: expected the reply")
    return text_of_content(message["content"], f"{where}.content")


def _only_name(value: Mapping[str, Any], usual: Sequence[str], where: str, ours: str) -> str:
    """The one field of an object that holds the text: the only usual name, else the only field."""
    present = [name for name, inner in value.items() if inner is not None]
    names = [name for name in present if name in usual] or present
    if len(names) != 1:
        found = listed(names) or "no fields"
        example = f"; name one, for example --field {ours}={where}.{names[0]}" if names else ""
        raise FieldError(where, f"expected one field with the {ours}, found {found}{example}")
    return names[0]


# Exports of tracing tools: LangSmith's runs and dataset examples, Langfuse's traces and observations.
#
# A trace is a tree: the conversation turn at the root, and below it the calls of models and tools that it took. Scoring
# both would count a reply twice. So where an export contains roots, only these are read; where it contains none, only
# the calls of models.


Importer = Callable[[Mapping[str, Any]], list[ChatRecord]]

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
_LANGSMITH_THREADS = ("extra.metadata.session_id", "extra.metadata.thread_id", "extra.metadata.conversation_id")


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


def _langsmith(record: Mapping[str, Any], *, only: str) -> list[ChatRecord]:
    if _left_out(record, only, "run_type"):
        return []
    if _empty(record.get("outputs")):
        failed = " (the run failed)" if not _empty(record.get("error")) else ""
        raise FieldError("outputs", f"is missing{failed}: expected the reply")
    expected = record.get("reference_outputs")
    return [
        {
            "id": record.get("id"),
            "messages": input_messages(record.get("inputs"), "inputs"),
            "response": reply_of(record["outputs"], "outputs"),
            "system": _first_at(record, _LANGSMITH_MODELS),
            "dialogue_id": _first_at(record, _LANGSMITH_THREADS),
            "references": None if _empty(expected) else [reply_of(expected, "reference_outputs")],
        }
    ]


def _langfuse(record: Mapping[str, Any], *, only: str) -> list[ChatRecord]:
    if _left_out(record, only, "type"):
        return []
    call = _last_call(record) if _empty(record.get("output")) else record
    if _empty(call.get("output")):
        raise FieldError("output", "is missing: expected the reply")
    expected = _first_at(record, _EXPECTED)
    return [
        {
            "id": record.get("id"),
            "messages": input_messages(None if _empty(call.get("input")) else call["input"], "input"),
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

"""Logs of chat services: requests with their responses, and ShareGPT conversations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rejoinder.data.importers.conversation import is_message, messages_of, reply_of, turns_of
from rejoinder.data.importers.paths import structured
from rejoinder.data.values import as_list

Record = dict[str, Any]

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


def request_log(record: Mapping[str, Any]) -> list[Record]:
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
            "messages": turns_of(asked, "request") if asked else [],
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


def sharegpt(record: Mapping[str, Any]) -> list[Record]:
    """A conversation as messages. Its field `system`, if any, is the system prompt, not the name of a system."""
    name = "conversations" if "conversations" in record else "conversation"
    turns = messages_of(record.get(name), name)
    return [{"id": _first(record.get("id")), "messages": turns, "system": record.get("model")}]


def _first(*values: Any) -> Any:
    """The first value that is present."""
    return next((value for value in values if value is not None and value != ""), None)

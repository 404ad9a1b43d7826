"""What goes into a chat model and what comes out of it, in the forms that various tools use.

Messages: OpenAI's `role` and `content`, ShareGPT's `from` and `value`, LangChain's `type` and `content` (also as a
serialised constructor with `kwargs`). Results: a string, a message, OpenAI's `choices` or `output`, LangChain's
`generations`, or an object with one of the usual names of a reply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rejoinder.data.importers.paths import structured
from rejoinder.data.messages import text_of_content
from rejoinder.data.values import FieldError, as_list, kind_of, text_of
from rejoinder.errors import listed, shortened

Message = dict[str, Any]

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


def messages_of(value: Any, where: str) -> list[Message]:
    """A list of messages of any tool as messages with `role` and `content`."""
    value = as_list(structured(value, where))
    if isinstance(value, list | tuple) and len(value) == 1 and isinstance(value[0], list | tuple):
        value = value[0]  # LangChain's batches of one
    if not isinstance(value, list | tuple):
        raise FieldError(where, f"expected a list of messages, found {kind_of(value)}")
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


def _message(item: Any, where: str) -> Message:
    if not isinstance(item, Mapping):
        raise FieldError(where, f"expected a message, found {kind_of(item)}")
    role, body = _parts(item)
    if "role" not in item and body is _ABSENT and isinstance(item.get("type"), str):
        return {"role": "tool", "content": None}  # items of OpenAI's responses: reasoning, calls of tools
    if not isinstance(role, str) or body is _ABSENT:
        raise FieldError(where, f"expected a message with a role and a content, found {listed(item) or 'no fields'}")
    if role.lower() not in ROLES:
        raise FieldError(where, f"expected a role such as user or assistant, found {shortened(role, 40)}")
    return {"role": ROLES[role.lower()], "content": body}


def turns_of(value: Any, where: str) -> list[Message]:
    """The messages that went into a model: a string is one message by the user."""
    value = as_list(structured(value, where))
    if value is None:
        return []
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    if isinstance(value, list | tuple):
        return messages_of(value, where)
    if not isinstance(value, Mapping):
        raise FieldError(where, f"expected what the user said, found {kind_of(value)}")
    if is_message(value):
        return [_message(value, where)]
    for name in ("messages", "body"):
        if value.get(name) is not None:
            return turns_of(value[name], f"{where}.{name}")
    history = [turn for name in HISTORIES if value.get(name) for turn in messages_of(value[name], f"{where}.{name}")]
    rest = {name: inner for name, inner in value.items() if name not in HISTORIES}
    name = _only_name(rest, QUESTIONS, where, "context")
    return [*history, *turns_of(rest[name], f"{where}.{name}")]


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
        raise FieldError(where, f"expected the reply, found {kind_of(value)}")
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
        raise FieldError(where, f"expected an object with a message, found {kind_of(value)}")
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


def _content(message: Message, where: str) -> str:
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

"""Chat messages with roles to a context, its speakers and the reply."""

from __future__ import annotations

from typing import Any

from rejoinder.data.values import FieldError, as_list, json_list, kind_of, text_of
from rejoinder.errors import shortened

TURN_ROLES = {"user", "assistant", "human", "bot"}
REPLY_ROLES = {"assistant", "bot"}
ASIDE_ROLES = {"system", "developer", "tool", "function"}
"""Instructions and what tools returned: not part of the conversation."""
ROLES = frozenset(TURN_ROLES | ASIDE_ROLES)
BODY = ("content", "tool_calls", "function_call")
"""What a message may consist of; a call of a tool has no content."""


def from_messages(messages: Any, name: str, take_reply: bool) -> tuple[tuple[str, ...], tuple[str, ...], str | None]:
    """Context, speakers and reply of a chat: the last assistant message is the reply; later messages are ignored."""
    turns = turns_of_messages(messages, name)
    reply = None
    if take_reply:
        last = max((place for place, (role, _) in enumerate(turns) if role in REPLY_ROLES), default=None)
        if last is None:
            raise FieldError(name, "has no assistant message: expected the last one to be the reply")
        reply, turns = turns[last][1], turns[:last]
    return tuple(text for _, text in turns), tuple(role for role, _ in turns), reply


def turns_of_messages(messages: Any, name: str) -> list[tuple[str, str]]:
    """Role and text of each message that is part of the conversation."""
    messages = json_list(messages, name) or messages if isinstance(messages, str) else as_list(messages)
    if not isinstance(messages, list | tuple):
        raise FieldError(name, f"expected a list of messages, found {kind_of(messages)}")
    turns = []
    for place, message in enumerate(messages):
        where = f"{name}[{place}]"
        if not isinstance(message, dict) or not isinstance(message.get("role"), str) or not message.keys() & set(BODY):
            raise FieldError(where, "expected an object with 'role' and 'content'")
        role = message["role"].lower()
        if role not in ROLES:
            known = "user, assistant, system, developer or tool"
            raise FieldError(f"{where}.role", f"expected {known}, found {shortened(message['role'], 40)}")
        # Calls of tools have no content.
        if role in TURN_ROLES and message.get("content") is not None:
            turns.append((role, text_of_content(message["content"], f"{where}.content")))
    return turns


def text_of_content(content: Any, where: str) -> str:
    """A message's text, which may be split into parts, some of them without text (images)."""
    content = as_list(content)
    if not isinstance(content, list | tuple):
        return text_of(content, where)
    texts = [part.get("text") if isinstance(part, dict) else part for part in content]
    return "".join(text_of(text, f"{where}[{place}]") for place, text in enumerate(texts) if text is not None)

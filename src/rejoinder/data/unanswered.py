"""Contexts that wait for a reply: the same records as examples, but the reply may be missing.

A record has `context` or `messages`, as an example does, or the `turns` of a dialogue, whose last turn is then the true
reply. If there are `references`, the first one is the true reply; otherwise it is the `response`, unless a `system`
wrote it. With messages the true reply is the last message, if it is by the assistant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from rejoinder.data.dialogues import dialogue_of
from rejoinder.data.messages import REPLY_ROLES
from rejoinder.data.source import Source
from rejoinder.data.values import FieldError
from rejoinder.errors import CallError, shortened
from rejoinder.types import Example


class UnansweredSource(Source):
    """Contexts as examples with an empty response; the true reply, if known, is their reference."""

    def _example(self, record: Any, number: int) -> Example:
        if isinstance(record, dict) and self.fields.of("turns") in record:
            dialogue = dialogue_of(record, number, self.fields)
            return Example(
                dialogue.id,
                dialogue.turns[:-1],
                "",
                dialogue.turns[-1:],
                speakers=dialogue.speakers[:-1],
            )
        example = super()._example(self._with_reply(record), number)
        if not example.context:
            raise FieldError(self.fields.of("context"), "is missing: expected what was said before, to reply to")
        said = (example.response,) if example.response.strip() and not example.system else ()
        return replace(example, response="", references=example.references or said, system="")

    def _with_reply(self, record: Any) -> Any:
        """The record, with an empty reply if it has none."""
        name = self.fields.of("response")
        if not isinstance(record, dict) or record.get(name) is not None or self._ends_with_reply(record):
            return record
        return type(record)({**record, name: ""})

    def _ends_with_reply(self, record: dict[str, Any]) -> bool:
        messages = record.get(self.fields.of("messages"))
        last = messages[-1] if isinstance(messages, list) and messages else None
        return isinstance(last, dict) and str(last.get("role")).lower() in REPLY_ROLES


def each_once(contexts: Iterable[Example]) -> Iterator[Example]:
    """Each context once, even if the data have several systems' replies to it; CallError for a repeated id."""
    seen: set[int] = set()
    owners: set[str] = set()
    for example in contexts:
        key = hash(example.context_id or (example.context, example.references))
        if key in seen:
            continue
        if example.id in owners:
            raise CallError(f"two different contexts have the id {shortened(example.id)}: expected unique ids")
        seen.add(key)
        owners.add(example.id)
        yield example

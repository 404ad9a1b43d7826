"""One record per assistant turn of a chat, instead of one per chat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rejoinder.data.messages import REPLY_ROLES, turns_of_messages
from rejoinder.data.record import FieldMap
from rejoinder.data.values import FieldError, label_of


def records_of_turns(record: Mapping[str, Any], unnamed: str, fields: FieldMap) -> list[dict[str, Any]]:
    """A record for each assistant message, with the messages before it as its context; their ids end in the turn's
    number, and they share a `dialogue_id`. A chat without an id is called `unnamed`."""
    name = fields.of("messages")
    turns = turns_of_messages(record[name], name)
    chat = label_of(record.get(fields.of("id")), fields.of("id")) or unnamed
    dialogue = label_of(record.get(fields.of("dialogue_id")), fields.of("dialogue_id")) or chat
    places = [place for place, (role, _) in enumerate(turns) if role in REPLY_ROLES]
    if not places:
        raise FieldError(name, "has no assistant message: expected at least one")
    references = record.get(fields.of("references"))  # what people would have said last
    return [
        {
            "id": f"{chat}-{count}",
            "context": [text for _, text in turns[:place]],
            "speakers": [role for role, _ in turns[:place]],
            "response": turns[place][1],
            "system": record.get(fields.of("system")),
            "dialogue_id": dialogue,
            "references": references if place == places[-1] else None,
        }
        for count, place in enumerate(places, start=1)
    ]

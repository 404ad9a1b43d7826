"""Short hashes that change when the data change."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from rejoinder.types import Dialogue


def digest_of(values: Iterable[Any]) -> str:
    """A hash of JSON-like values, in order."""
    digest = blake2b(digest_size=16)
    for value in values:
        digest.update(json.dumps(value).encode() + b"\n")
    return digest.hexdigest()


# Every cell of an experiment's grid is fitted on the same dialogues, and there may be very many.
@lru_cache(maxsize=2)
def dialogues_digest(dialogues: tuple[Dialogue, ...]) -> str:
    """A hash of the dialogues with their ids and speakers."""
    return digest_of([dialogue.id, dialogue.turns, dialogue.speakers] for dialogue in dialogues)

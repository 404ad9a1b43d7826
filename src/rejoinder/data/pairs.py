"""A context with one reply, and the speaker of each turn of the context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Pair(NamedTuple):
    """What a reply is judged by: itself and its context."""

    context: tuple[str, ...]
    speakers: tuple[str, ...]
    response: str


class HasReply(Protocol):
    """An example, or a place in a dialogue."""

    @property
    def context(self) -> tuple[str, ...]:
        """Turns, oldest first."""

    @property
    def speakers(self) -> tuple[str, ...]:
        """One per turn of the context, or none."""

    @property
    def response(self) -> str:
        """The reply."""


def pair_of(said: HasReply) -> Pair:
    """The context, speakers and reply of an example or of a place in a dialogue."""
    return Pair(said.context, said.speakers, said.response)


def by_replier(turns: int, speakers: Sequence[str] = ()) -> list[bool]:
    """Which turns of a context are by the speaker who replies. (turns,)

    The replier is never the one who spoke last. Without labels the speakers alternate; with labels the replier is the
    most recent speaker other than the last.
    """
    if not speakers:
        return [(turns - turn) % 2 == 0 for turn in range(turns)]
    replier = next((speaker for speaker in reversed(speakers) if speaker != speakers[-1]), None)
    return [speaker == replier for speaker in speakers]

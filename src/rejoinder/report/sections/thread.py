"""A context as the turns of a chat, with their speakers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rejoinder.types import Example


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance of a context."""

    speaker: str
    own: bool
    """Whether the speaker is the one who gives the reply."""
    text: str


def turns_of(example: Example) -> tuple[Turn, ...]:
    """The context's turns; without speaker labels, A and B alternate and A spoke last."""
    if example.speakers:
        owners = _owners(example.speakers)
        labelled = zip(example.speakers, owners, example.context, strict=True)
        return tuple(Turn(speaker, own, text) for speaker, own, text in labelled)
    last = len(example.context) - 1
    alternating = [(last - place) % 2 == 1 for place in range(len(example.context))]
    return tuple(Turn("B" if own else "A", own, text) for own, text in zip(alternating, example.context, strict=True))


def _owners(speakers: Sequence[str]) -> list[bool]:
    """Which turns are by the one who replies: of two speakers, the one who did not speak last."""
    two = len(set(speakers)) == 2
    return [two and speaker != speakers[-1] for speaker in speakers]

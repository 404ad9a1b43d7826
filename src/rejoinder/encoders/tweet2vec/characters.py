"""Texts as character numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rejoinder.types import Dialogue

PAD, UNKNOWN = 0, 1
_KNOWN = 2
"""The number of the first character of the alphabet."""
_OFTEN = 3
"""How often a character must occur to be part of the alphabet."""

Codes = list[int]


@dataclass(frozen=True)
class Alphabet:
    """The characters that have a number of their own."""

    characters: tuple[str, ...]

    @classmethod
    def of(cls, dialogues: Sequence[Dialogue]) -> Alphabet:
        """Characters that occur often enough, most frequent first; empty where the dialogues have no text."""
        counts = Counter(character for dialogue in dialogues for turn in dialogue.turns for character in turn.lower())
        if not counts:
            return cls(())
        counts["\n"] += len(dialogues) * _OFTEN  # separates the turns of a context
        often = [character for character, count in counts.items() if count >= _OFTEN and not _is_surrogate(character)]
        return cls(tuple(sorted(often, key=lambda character: (-counts[character], character))))

    def __len__(self) -> int:
        """How many numbers there are, those for padding and for unknown characters included."""
        return len(self.characters) + _KNOWN

    def codes(self, texts: Sequence[str | Sequence[str]], longest: int) -> list[Codes]:
        """The numbers of each text's last characters, at least one; a line break separates the turns of a context."""
        joined = (text if isinstance(text, str) else "\n".join(text) for text in texts)
        return [
            [self._numbers.get(character, UNKNOWN) for character in text.lower()[-longest:]] or [UNKNOWN]
            for text in joined
        ]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {character: number for number, character in enumerate(self.characters, start=_KNOWN)}


def _is_surrogate(character: str) -> bool:
    """Whether it is half of a surrogate pair, which cannot be written to a file."""
    return "\ud800" <= character <= "\udfff"

"""Parameters of recurrent networks that learn from dialogues."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from rejoinder.errors import CallError
from rejoinder.learning.settings import TrainingSettings

if TYPE_CHECKING:
    from rejoinder.language_models.recurrent.networks import Sizes


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecurrentSettings(TrainingSettings):
    """The same, of a recurrent network over byte pairs of the dialogues that it learns from."""

    vocabulary: int = 8000
    """Tokens at most."""
    embedding: int = 256
    """Numbers of a token's vector."""
    hidden: int = 320
    """Numbers of a recurrent state."""
    dropout: float = 0.2

    def least(self) -> dict[str, float]:
        """Parameter -> its least value."""
        return super().least() | {"vocabulary": 300, "embedding": 2, "hidden": 2}

    def shares(self) -> dict[str, float]:
        """Parameters that are shares -> their value."""
        return super().shares() | {"dropout": self.dropout}

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        super().check()
        if self.hidden % 2:
            raise CallError(f"{self.name}: hidden must be even, half for each direction of reading, not {self.hidden}")

    def sizes_for(self, tokens: int) -> Sizes:
        """How large the network is over so many tokens."""
        from rejoinder.language_models.recurrent.networks import Sizes

        return Sizes(tokens, self.embedding, self.hidden, self.dropout)

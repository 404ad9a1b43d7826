"""The parameters of recurrent networks that learn from dialogues."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from rejoinder.errors import CallError
from rejoinder.learning.settings import TrainingSettings

if TYPE_CHECKING:
    from rejoinder.language_models.recurrent.networks import Sizes


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecurrentSettings(TrainingSettings):
    """`TrainingSettings` of a recurrent network, with the sizes of its layers."""

    vocabulary: int = 8000
    """Maximum number of tokens: byte pairs of the training dialogues."""
    embedding: int = 256
    """Width of a token's vector."""
    hidden: int = 320
    """Width of a recurrent state."""
    dropout: float = 0.2
    """Share of the inputs that are set to 0 in training."""

    def least(self) -> dict[str, float]:
        """Parameter -> its smallest allowed value."""
        return super().least() | {"vocabulary": 300, "embedding": 2, "hidden": 2}

    def shares(self) -> dict[str, float]:
        """Parameters that must be from 0 to below 1 -> their value."""
        return super().shares() | {"dropout": self.dropout}

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        super().check()
        if self.hidden % 2:
            raise CallError(f"{self.name}: hidden must be even, half for each reading direction, not {self.hidden}")

    def sizes_for(self, tokens: int) -> Sizes:
        """The sizes of the network's layers for a vocabulary of so many tokens."""
        from rejoinder.language_models.recurrent.networks import Sizes

        return Sizes(tokens, self.embedding, self.hidden, self.dropout)

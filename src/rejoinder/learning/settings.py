"""The parameters that everything has which learns from dialogues by the shared training loop.

They are fields of a dataclass that reply models and evaluators inherit, so that one name means one thing.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from rejoinder.errors import CallError
from rejoinder.learning.parameters import check_least, check_number, check_rates
from rejoinder.learning.schedules import Schedule


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """How much is read and how training runs."""

    name: ClassVar[str]

    turns: int = 40
    """How many of a context's last turns are read."""
    longest: int = 60
    """Tokens of a turn, its end included; what comes after them is neither read nor learned."""
    batch: int = 16
    """Dialogues that are learned from at once."""
    epochs: int = 10
    """At most; with validation dialogues it ends after `patience` epochs without a better validation figure."""
    patience: int = 2
    learning_rate: float = 1e-3
    """The highest learning rate: it rises to it, then falls to 0."""
    warm_up: float = 0.05
    """The share of training in which the rate rises."""
    clip: float = 1.0
    """The greatest norm of a gradient."""

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_least(self, self.least())
        check_rates(self, "learning_rate")
        for name, value in self.shares().items():
            if not 0 <= check_number(self, name, value) < 1:
                raise CallError(f"{self.name}: {name} must be from 0 to below 1, not {value}")

    def least(self) -> dict[str, float]:
        """Parameter -> its least value."""
        return {"turns": 2, "longest": 2, "batch": 1, "epochs": 1, "patience": 1, "clip": 1e-6}

    def shares(self) -> dict[str, float]:
        """Parameters that are shares -> their value."""
        return {"warm_up": self.warm_up}

    @property
    def schedule(self) -> Schedule:
        """How training runs."""
        names = ("learning_rate", "batch", "epochs", "warm_up", "patience", "clip")
        return Schedule(**{name: getattr(self, name) for name in names}, weight_decay=0.0, fused=True)

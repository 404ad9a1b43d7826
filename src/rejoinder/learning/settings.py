"""Parameters shared by all models that the training loop trains on dialogues.

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
    """How much of a dialogue is read, and how training runs."""

    name: ClassVar[str]
    retired: ClassVar[frozenset[str]] = frozenset({"minutes"})  # a time limit is now part of `TrainingRun`

    turns: int = 40
    """The number of a context's last turns that are read."""
    longest: int = 60
    """Tokens of a turn, including its end; what comes after them is neither read nor learned."""
    batch: int = 16
    """Dialogues per step."""
    epochs: int = 10
    """The largest number of epochs."""
    patience: int = 2
    """With validation dialogues, training stops after this many epochs without improvement."""
    learning_rate: float = 1e-3
    """The highest learning rate: it rises to it, then falls to 0."""
    warm_up: float = 0.05
    """The share of training in which the learning rate rises."""
    clip: float = 1.0
    """The largest norm of a gradient."""

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
        """Parameters from 0 to below 1 -> their value."""
        return {"warm_up": self.warm_up}

    @property
    def schedule(self) -> Schedule:
        """How training runs."""
        names = ("learning_rate", "batch", "epochs", "warm_up", "patience", "clip")
        return Schedule(**{name: getattr(self, name) for name in names}, weight_decay=0.0, fused=True)

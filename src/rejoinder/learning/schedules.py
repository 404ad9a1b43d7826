"""How long a stage runs, how large its steps are, and the settings that stages share."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar, Literal

from rejoinder.errors import CallError
from rejoinder.options import check_least, check_number, check_rates

# How long a stage of training runs, and how large its steps are.


_LOWEST_RATE = 1e-7


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """One stage: AdamW with these settings."""

    learning_rate: float
    batch: int
    epochs: int
    most_steps: int | None = None
    """Stop after this many steps even if epochs are left; the learning rate falls accordingly."""
    minutes: float | None = None
    """Time limit. The share of training done is the larger of those by steps and by time, so the result depends on the
    machine's speed."""
    decay: Literal["linear", "plateau", "constant"] = "linear"
    """linear: down to 0 at the last step; plateau: by a factor of 10 at each validation whose loss is not lower than
    every one before, until the rate is below 1e-7; constant: not at all."""
    warm_up: float = 0.1
    """The share of all steps in which the rate rises from 0 (linear only)."""
    validate_every: int | None = None
    """Steps between two validations; by default one per epoch."""
    validate_first: bool = False
    """Whether the weights that training starts from are validated too, and kept if nothing better is found."""
    patience: int = 5
    """Validations without improvement before training stops (unless the decay is `plateau`)."""
    clip: float = 1.0
    """The largest norm of a gradient; math.inf: no limit."""
    weight_decay: float = 0.01
    fused: bool = False
    """Whether AdamW updates all weights in one kernel: four times as fast, which matters for small networks."""
    cpu: bool = False
    """Train on the CPU even if there is a GPU: for networks that are too small to gain from one."""
    dropout: bool = True
    """Without dropout a step takes about 0.7 of the time on a CPU; it helps little where few epochs are run."""
    frozen_embeddings: bool = False
    """Do not train the word embeddings, which are half of a small encoder's weights."""
    frozen_layers: int = 0
    """Do not train the embeddings and this many of the lowest layers: no gradient is computed for them."""

    def __post_init__(self) -> None:
        counts = (self.batch, self.epochs, self.most_steps or 1, self.validate_every or 1, self.patience)
        if min(counts) < 1 or self.learning_rate <= 0 or self.frozen_layers < 0:
            raise CallError(f"a schedule needs a learning rate above 0 and counts of at least 1: found {self}")
        if self.minutes is not None and self.minutes <= 0:
            raise CallError(f"minutes of training must be above 0, not {self.minutes}")

    @property
    def freezes(self) -> bool:
        """Whether some of the weights are not trained."""
        return self.frozen_embeddings or self.frozen_layers > 0

    def total(self, steps_per_epoch: int) -> int:
        """The largest number of steps."""
        every = self.epochs * steps_per_epoch
        return every if self.most_steps is None else min(every, self.most_steps)

    def out_of_time(self, seconds: float) -> bool:
        """Whether the time limit is reached."""
        return self.minutes is not None and seconds >= 60 * self.minutes

    def rate(self, step: float, total: int, plateaus: int, seconds: float = 0.0) -> float:
        """The learning rate of a step, counted from 0, after `seconds` of training."""
        if self.decay == "plateau":
            return self.learning_rate * 0.1**plateaus
        if self.decay == "constant":
            return self.learning_rate
        if self.minutes is not None:
            step = min(total, max(step, total * seconds / (60 * self.minutes)))
        rising = max(1, round(self.warm_up * total))
        if step < rising:
            return self.learning_rate * min(rising, step + 1) / rising
        return self.learning_rate * (total - step) / max(1, total - rising)

    def is_over(self, since_best: int, plateaus: int) -> bool:
        """Whether training stops, by the number of validations without improvement."""
        if self.decay == "plateau":
            return self.learning_rate * 0.1**plateaus < _LOWEST_RATE
        return since_best >= self.patience


# Parameters shared by all models that the training loop trains on dialogues.
#
# They are fields of a dataclass that reply models and evaluators inherit, so that one name means one thing.


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

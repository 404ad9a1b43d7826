"""How long a stage of training runs, and how large its steps are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rejoinder.errors import CallError

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

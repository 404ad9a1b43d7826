"""A stage: the training loop's interface to a model and its training data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

from torch import Tensor, nn


class Forward(Protocol):
    """The stage's network, as `accelerate` wraps it."""

    def __call__(self, **inputs: Tensor) -> Tensor:
        """The network's output."""


class Stage(Protocol):
    """A network, rows to train it on, and a loss."""

    name: ClassVar[str]
    """In progress bars and in the names of checkpoints."""
    figure: ClassVar[str]
    """The name of the figure that `validate` returns."""

    @property
    def network(self) -> nn.Module:
        """What `loss` calls: the network, or a part of it."""

    def __len__(self) -> int:
        """The number of rows to learn from."""

    def batches(self, epoch: int, size: int) -> list[list[int]]:
        """The row numbers of each batch of an epoch, ceil(rows / size) batches; the same for the same epoch."""

    def loss(self, forward: Forward, rows: Sequence[int], epoch: int) -> Tensor:
        """The loss of a batch. torch's random generator is seeded for each step, so that drawing from it is safe."""

    def validate(self) -> float | None:
        """A figure of merit on held-out rows, higher being better; None without held-out rows."""

"""What the training loop needs to know of what is trained: a stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

from torch import Tensor, nn


class Forward(Protocol):
    """The network, as `accelerate` wraps it."""

    def __call__(self, **inputs: Tensor) -> Tensor:
        """One score a row."""


class Stage(Protocol):
    """What a training loop needs to know of its data."""

    name: ClassVar[str]
    figure: ClassVar[str]
    """What `validate` gives, for people."""

    @property
    def network(self) -> nn.Module:
        """What `loss` calls: the network, or a part of it."""

    def __len__(self) -> int:
        """How many rows there are to learn from."""

    def batches(self, epoch: int, size: int) -> list[list[int]]:
        """Row numbers of every batch of an epoch; the same for the same epoch."""

    def loss(self, forward: Forward, rows: Sequence[int], epoch: int) -> Tensor:
        """What is to be made small for these rows."""

    def validate(self) -> float | None:
        """How good the model is on rows kept aside, higher being better; None where there are none."""

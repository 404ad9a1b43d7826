"""Training that is interrupted at a chosen step, as by Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest


@contextmanager
def interrupted(stage: type[Any], step: int) -> Iterator[None]:
    """The block's training stops with KeyboardInterrupt when the stage's loss is asked for at this step, from 0."""
    true_loss, steps = stage.loss, count()

    def loss(*arguments: Any) -> Any:
        if next(steps) == step:
            raise KeyboardInterrupt
        return true_loss(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage, "loss", loss)
        with pytest.raises(KeyboardInterrupt):
            yield

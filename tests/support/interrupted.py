"""Training that is interrupted and then resumed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import pytest

from rejoinder.learning.checkpoints import Checkpoints
from rejoinder.learning.run import TrainingRun

T = TypeVar("T")


def resumed(fit: Callable[[TrainingRun], T], folder: Path) -> T:
    """What `fit` returns after it was interrupted at its first step and resumed from the checkpoint."""
    write = Checkpoints.write

    def write_and_stop(*given: Any) -> None:
        write(*given)
        raise KeyboardInterrupt

    with patch.object(Checkpoints, "write", write_and_stop), pytest.raises(KeyboardInterrupt):
        fit(TrainingRun(checkpoints=folder, save_every=1))
    (state,) = [json.loads(path.read_text()) for path in folder.glob("*/state.json")]
    assert (state["step"], state["finished"]) == (1, False), "there must be something left to do"
    return fit(TrainingRun(checkpoints=folder, resume=True))


def files_of(folder: Path) -> dict[str, bytes]:
    """File name -> content, of everything that a model saved."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

"""How training is carried out. Without a time limit, none of this changes what is learned, except mixed precision."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

from rejoinder.errors import CallError, UnknownNameError

PRECISIONS = ("no", "bf16", "fp16")
"""Mixed precisions, as `accelerate` names them."""


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """Where checkpoints go, how long training may take, and what is shown."""

    checkpoints: Path | None = None
    """A folder for checkpoints; none are written without it."""
    resume: bool = False
    """Continue from the checkpoints; otherwise those of an earlier run are removed."""
    save_every: int = 500
    """Steps between checkpoints."""
    minutes: float | None = None
    """Time limit of each stage. The learning rate falls to 0 by then, so that the result depends on the machine's
    speed."""
    mixed_precision: str = "no"
    """`no`, `bf16` or `fp16`, as in `accelerate`."""
    member_scores: Path | None = None
    """A folder in which a blend keeps the scores of its members, so that fitting it again takes seconds."""
    quiet: bool = True
    """Show neither progress bars nor validation figures."""

    def __post_init__(self) -> None:
        if self.minutes is not None and not 0 < self.minutes < math.inf:
            raise CallError(f"minutes of training must be a number above 0, not {self.minutes}")
        if self.save_every < 1:
            raise CallError(f"save_every must be at least 1, not {self.save_every}")
        if self.mixed_precision not in PRECISIONS:
            raise UnknownNameError("mixed precision", self.mixed_precision, PRECISIONS)


def is_main_process() -> bool:
    """Whether this process is the one that writes files, of several that train together."""
    return os.environ.get("RANK", "0") == "0"  # as torch.distributed numbers them

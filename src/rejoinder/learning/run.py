"""How training is carried out. Without a time limit, none of this changes what is learned, except mixed precision."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rejoinder.errors import CallError, RejoinderError, UnknownNameError, shortened
from rejoinder.options import fitting, flag, is_number, of_type, optional, path, texts, whole
from rejoinder.specs import NearNames

PRECISIONS = ("no", "bf16", "fp16")
"""Mixed precisions, as `accelerate` names them."""


@dataclass(frozen=True)
class StageValidation:
    """What a stage of training found on its held-out rows."""

    stage: str
    step: int
    figure: float | None
    """The figure by which the weights are chosen, higher being better."""
    loss: float | None
    """The loss, where the learning rate depends on it."""
    finished: bool = False
    """Whether the stage ends here."""


class Paused(RejoinderError):
    """Training stopped after the time of `pause_after`; it can be resumed."""


_CHECKS = {
    "checkpoints": optional(path),
    "resume": flag,
    "save_every": whole(1),
    "faster": texts("ways in words"),
    "quiet": flag,
}


@dataclass(frozen=True, kw_only=True)
class TrainingRun(NearNames):
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
    pause_after: float | None = None
    """Minutes after which training stops with a checkpoint and `Paused` is raised: resumed, it ends with the weights of
    a run without pauses."""
    mixed_precision: str = "no"
    """`no`, `bf16` or `fp16`, as in `accelerate`."""
    member_scores: Path | None = None
    """A folder in which a blend keeps the scores of its members, so that fitting it again takes seconds."""
    faster: tuple[str, ...] = ()
    """What would be faster, in words: shown with the time that training will take, if that is long."""
    quiet: bool = True
    """Show neither progress bars nor validation figures."""
    on_validation: Callable[[StageValidation], None] | None = None
    """Called after each validation, while the network has the weights that were validated."""

    def __post_init__(self) -> None:
        for name, check in _CHECKS.items():
            fitting(name, getattr(self, name), check)
        if self.minutes is not None and not (is_number(self.minutes) and 0 < self.minutes < math.inf):
            raise CallError(f"minutes of training must be a number above 0, not {shortened(self.minutes)}")
        if self.pause_after is not None and not (is_number(self.pause_after) and self.pause_after > 0):
            raise CallError(f"pause_after must be minutes above 0, not {shortened(self.pause_after)}")
        if self.pause_after is not None and self.checkpoints is None:
            raise CallError("pause_after needs checkpoints: expected a folder for them")
        if self.mixed_precision not in PRECISIONS:
            raise UnknownNameError("mixed precision", self.mixed_precision, PRECISIONS)


training_run = optional(of_type(TrainingRun, called="a TrainingRun"))
"""The check of the argument `run`."""


def run_given(resume: bool | None, minutes: Any, mixed_precision: str | None) -> TrainingRun:
    """The training run that the options of a command line describe."""
    return TrainingRun(
        resume=bool(resume), minutes=minutes, mixed_precision=mixed_precision or TrainingRun.mixed_precision
    )


def checkpoints_in(folder: Path, stage: str = "*") -> list[Path]:
    """The checkpoints that were written into a folder, in order: `<stage>-<step>`, each with a state.json."""
    found = sorted(folder.glob(f"{stage}-" + "[0-9]" * 8)) if folder.is_dir() else []
    return [checkpoint for checkpoint in found if (checkpoint / "state.json").is_file()]


def remove_checkpoints(folder: Path) -> None:
    """Delete the checkpoints in a folder, and the folder if nothing else is in it."""
    for checkpoint in checkpoints_in(folder):
        shutil.rmtree(checkpoint, ignore_errors=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def is_main_process() -> bool:
    """Whether this process is the one that writes files, of several that train together."""
    return os.environ.get("RANK", "0") == "0"  # as torch.distributed numbers them

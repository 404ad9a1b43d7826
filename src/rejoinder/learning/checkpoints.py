"""The state of training on disk, from which an interrupted run is resumed: safetensors and JSON, no pickled code.

A checkpoint is a folder `<stage>-<step>`. It is written under another name and renamed when it is complete; only then
is the one before it removed.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rejoinder.errors import CallError, DataError
from rejoinder.learning.run import TrainingRun, checkpoints_in, is_main_process, remove_checkpoints
from rejoinder.learning.weights import plain_state, save_tensors
from rejoinder.loading.foreign import saved_tensors
from rejoinder.output.unfinished import START_OVER


@dataclass
class Progress:
    """Progress of a stage."""

    step: int = 0
    best: float | None = None
    """The best validation figure so far."""
    since_best: int = 0
    lowest_loss: float | None = None
    """The lowest validation loss so far, where the learning rate depends on it."""
    plateaus: int = 0
    """Validations without a lower loss."""
    seconds: float = 0.0
    """Training time, without interruptions."""
    finished: bool = False


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints of one training run."""

    folder: Path
    key: str
    """Changes with everything that decides what is learned: a run is resumed only from its own checkpoints."""

    @classmethod
    def of(cls, run: TrainingRun, key: str) -> Checkpoints | None:
        """The checkpoints of a run with all of its stages; None if it has no folder for them.

        Those of an earlier run are removed unless the run is resumed.
        """
        if run.checkpoints is None:
            return None
        # What was learned in one precision is not continued in another.
        checkpoints = cls(run.checkpoints, key if run.mixed_precision == "no" else f"{key}-{run.mixed_precision}")
        if not run.resume and is_main_process():
            remove_checkpoints(run.checkpoints)
        return checkpoints

    def write(
        self,
        stage: str,
        progress: Progress,
        network: torch.nn.Module,
        optimiser: Any,
        best: dict[str, Tensor] | None,
    ) -> None:
        """Write this state, and remove the one before it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        older = checkpoints_in(self.folder, stage)
        target = self.folder / f"{stage}-{progress.step:08d}"
        fresh = self.folder / f".{target.name}.new"
        for leftover in (fresh, target):
            shutil.rmtree(leftover, ignore_errors=True)
        fresh.mkdir()
        save_tensors(plain_state(network), fresh / "model.safetensors")
        save_tensors(_flat(optimiser.state_dict()["state"]), fresh / "optimiser.safetensors")
        if best is not None:
            save_tensors(best, fresh / "best.safetensors")
        (fresh / "state.json").write_text(json.dumps({"key": self.key, **asdict(progress)}), encoding="utf-8")
        fresh.rename(target)
        for folder in older:
            if folder != target:
                shutil.rmtree(folder)

    def read(
        self, stage: str, network: torch.nn.Module, optimiser: Any
    ) -> tuple[Progress, dict[str, Tensor] | None] | None:
        """Restore network and optimiser; return the progress and the best weights. None if there is no checkpoint."""
        found = checkpoints_in(self.folder, stage)
        if not found:
            return None
        folder = found[-1]
        try:
            state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
            if state.pop("key") != self.key:
                raise CallError(
                    f"{self.folder} holds the checkpoints of another run (other data, seed, parameters or precision): "
                    f"{START_OVER}"
                )
            network.load_state_dict(saved_tensors(folder / "model.safetensors"))
            groups = optimiser.state_dict()["param_groups"]
            nested = _nested(saved_tensors(folder / "optimiser.safetensors"))
            optimiser.load_state_dict({"state": nested, "param_groups": groups})
            best = folder / "best.safetensors"
            return Progress(**state), saved_tensors(best) if best.exists() else None
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, DataError) as error:
            raise DataError(f"is not a complete checkpoint ({error})", file=str(folder)) from error


def _flat(state: dict[int, dict[str, Tensor]]) -> dict[str, Tensor]:
    return {
        f"{weight}.{name}": tensor.detach().cpu().contiguous().clone()
        for weight, values in state.items()
        for name, tensor in values.items()
    }


def _nested(flat: dict[str, Tensor]) -> dict[int, dict[str, Tensor]]:
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in flat.items():
        weight, _, name = key.partition(".")
        state.setdefault(int(weight), {})[name] = tensor
    return state

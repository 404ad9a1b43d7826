"""The state of training on disk, from which an interrupted run is resumed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from rejoinder.errors import CallError, DataError
from rejoinder.folders.foreign import check_finite_weights, saved_tensors
from rejoinder.folders.outputs import START_OVER
from rejoinder.folders.saved import usual_mode
from rejoinder.learning.run import TrainingRun, checkpoints_in, is_main_process, remove_checkpoints

# The state of training on disk, from which an interrupted run is resumed: safetensors and JSON, no pickled code.
#
# A checkpoint is a folder `<stage>-<step>`. It is written under another name and renamed when it is complete; only then
# is the one before it removed.


@dataclass
class StageProgress:
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
        progress: StageProgress,
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
    ) -> tuple[StageProgress, dict[str, Tensor] | None] | None:
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
            return StageProgress(**state), saved_tensors(best) if best.exists() else None
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


# The weights of a torch network: drawn from a seed, saved as safetensors and loaded.


T = TypeVar("T")
N = TypeVar("N", bound=nn.Module)


def seeded(seed: int, make: Callable[[], T]) -> T:
    """What `make` builds, with random weights drawn from the seed; torch's global random state is left as it was."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return make()


def plain_state(network: torch.nn.Module) -> dict[str, Tensor]:
    """The weights as safetensors needs them: contiguous, and none sharing memory with another."""
    return {name: tensor.detach().cpu().contiguous().clone() for name, tensor in network.state_dict().items()}


def save_weights(network: nn.Module, path: Path) -> None:
    """Write the network's weights to a file."""
    save_tensors(plain_state(network), path)


def save_tensors(tensors: dict[str, Tensor], path: Path) -> None:
    """Write named tensors to a safetensors file."""
    with usual_mode(path):
        save_file(tensors, path)


def interpolated(before: dict[str, Tensor], after: dict[str, Tensor], share: float) -> dict[str, Tensor]:
    """Weights between two states of one network: `share` of the way from the first to the second.

    Averaging fine-tuned weights with those before keeps more of what the network knew (Wortsman et al. 2022, "Robust
    fine-tuning of zero-shot models").
    """
    return {
        name: before[name] + share * (after[name] - before[name]) if after[name].is_floating_point() else after[name]
        for name in after
    }


def loaded_network(make: Callable[[], N], path: Path) -> N:
    """The network that `make` builds, with the weights of a file, for scoring; DataError if they do not fit it."""
    return with_weights(make, saved_tensors(path), path)


def with_weights(make: Callable[[], N], weights: Mapping[str, Tensor], path: Path) -> N:
    """The same with weights that were read from a file."""
    # Without memory for its weights at first: a damaged folder may ask for a network of any size.
    with torch.device("meta"):
        _check_fit(make().state_dict(), weights, path)
    network = make()
    network.load_state_dict(weights)
    return network.eval()


def _check_fit(wanted: Mapping[str, Tensor], weights: Mapping[str, Tensor], path: Path) -> None:
    for name in sorted(wanted.keys() ^ weights.keys()):
        raise DataError("is missing" if name in wanted else "is not part of the model", file=str(path), field=name)
    for name, weight in weights.items():
        if weight.shape != wanted[name].shape:
            shapes = f"has shape {tuple(weight.shape)}: expected {tuple(wanted[name].shape)}"
            raise DataError(shapes, file=str(path), field=name)
        if weight.dtype != wanted[name].dtype:
            raise DataError(f"has type {weight.dtype}: expected {wanted[name].dtype}", file=str(path), field=name)
        check_finite_weights(name, weight, str(path))

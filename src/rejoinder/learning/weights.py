"""The weights of a torch network: drawn from a seed, saved as safetensors and loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from rejoinder.errors import DataError
from rejoinder.learning.saving import usual_mode
from rejoinder.loading.foreign import check_finite_weights, saved_tensors

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

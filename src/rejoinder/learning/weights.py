"""The weights of a torch network: drawn from a seed, saved as safetensors and loaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from rejoinder.errors import DataError

T = TypeVar("T")


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
    save_file(plain_state(network), path)


def interpolated(before: dict[str, Tensor], after: dict[str, Tensor], share: float) -> dict[str, Tensor]:
    """Weights between two states of one network: `share` of the way from the first to the second.

    Averaging fine-tuned weights with those before keeps more of what the network knew (Wortsman et al. 2022, "Robust
    fine-tuning of zero-shot models").
    """
    return {
        name: before[name] + share * (after[name] - before[name]) if after[name].is_floating_point() else after[name]
        for name in after
    }


def load_weights(network: nn.Module, path: Path) -> None:
    """Load the weights of a file into the network; DataError if they do not fit it."""
    try:
        network.load_state_dict(load_file(path))
    except FileNotFoundError as error:
        raise DataError("is missing: expected the weights of the model", file=str(path)) from error
    except (SafetensorError, RuntimeError) as error:
        raise DataError(f"cannot be read ({str(error).splitlines()[0]})", file=str(path)) from error

"""The weights of a torch network, as files of safetensors hold them."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from rejoinder.errors import DataError


def plain_state(network: torch.nn.Module) -> dict[str, Tensor]:
    """The weights, each with memory of its own, as safetensors wants them."""
    return {name: tensor.detach().cpu().contiguous().clone() for name, tensor in network.state_dict().items()}


def load_weights(network: nn.Module, path: Path) -> None:
    """Give the network the weights of a file; DataError where they are not its own."""
    try:
        network.load_state_dict(load_file(path))
    except FileNotFoundError as error:
        raise DataError("is missing: expected the weights of the model", file=str(path)) from error
    except (SafetensorError, RuntimeError) as error:
        raise DataError(f"cannot be read ({str(error).splitlines()[0]})", file=str(path)) from error

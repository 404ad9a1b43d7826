"""Weights are drawn from a seed, and a file of weights that does not fit is one clear error."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from rejoinder.errors import DataError
from rejoinder.learning.weights import load_weights, save_weights, seeded


def linear(seed: int, width: int = 3) -> torch.nn.Linear:
    return seeded(seed, lambda: torch.nn.Linear(width, 2))


def test_the_seed_decides_and_torch_s_own_state_is_kept() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    assert torch.equal(linear(1).weight, linear(1).weight)
    assert not torch.equal(linear(1).weight, linear(2).weight)
    assert torch.equal(torch.rand(3), expected)


def test_saved_and_loaded_they_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_weights(linear(1), path)
    other = linear(2)
    load_weights(other, path)
    assert torch.equal(other.weight, linear(1).weight)
    with pytest.raises(DataError, match="cannot be read"):
        load_weights(linear(2, width=4), path)
    with pytest.raises(DataError, match="is missing: expected the weights"):
        load_weights(linear(2), tmp_path / "none.safetensors")

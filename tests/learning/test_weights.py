"""Weights are drawn from a seed, and a file of weights that does not fit is one clear error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from rejoinder.errors import DataError
from rejoinder.folders.saved import write_arrays
from rejoinder.learning.checkpoints import loaded_network, save_weights, seeded


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
    assert torch.equal(loaded_network(lambda: linear(2), path).weight, linear(1).weight)
    with pytest.raises(DataError, match=r"model\.safetensors: field 'weight': has shape \(2, 3\): expected \(2, 4\)"):
        loaded_network(lambda: linear(2, width=4), path)
    with pytest.raises(DataError, match="'bias': is not part of the model"):
        loaded_network(lambda: torch.nn.Linear(3, 2, bias=False), path)
    with pytest.raises(DataError, match="is missing: expected arrays"):
        loaded_network(lambda: linear(2), tmp_path / "none.safetensors")
    path.write_bytes(b"{}")
    with pytest.raises(DataError, match="cannot be read"):
        loaded_network(lambda: linear(2), path)


def test_weights_that_are_not_finite(tmp_path: Path) -> None:
    broken = linear(1)
    with torch.no_grad():
        broken.weight[0, 0] = torch.nan
    save_weights(broken, tmp_path / "model.safetensors")
    with pytest.raises(DataError, match="'weight': holds numbers that are not finite"):
        loaded_network(lambda: linear(2), tmp_path / "model.safetensors")


def test_the_file_has_the_mode_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "new").touch()
    save_weights(linear(1), tmp_path / "model.safetensors")
    write_arrays(tmp_path / "arrays.safetensors", {"one": np.ones(3)})
    assert {path.stat().st_mode for path in tmp_path.iterdir()} == {(tmp_path / "new").stat().st_mode}


def test_a_network_of_any_size_is_not_built(tmp_path: Path) -> None:
    save_weights(linear(1), tmp_path / "model.safetensors")
    with pytest.raises(DataError, match="has shape"):
        loaded_network(lambda: torch.nn.Linear(1 << 40, 2), tmp_path / "model.safetensors")

"""Exported networks that are trained further."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import rejoinder
from rejoinder.errors import DataError
from rejoinder.evaluators.encoder.encoder import Encoder
from rejoinder.evaluators.encoder.onnx_export import to_int8, to_onnx
from rejoinder.evaluators.encoder.torch_model import TorchModel, widened
from rejoinder.learning.checkpoints import plain_state
from rejoinder.registry import shipped_folder
from rejoinder.types import Example
from small_evaluators import judged
from tiny_encoder import write_encoder


@pytest.mark.slow
def test_every_weight_comes_back(tmp_path: Path) -> None:
    model = TorchModel.start(
        str(write_encoder(tmp_path / "encoder", layers=1)),
        max_length=48,
        max_response=16,
        speaker_marks=False,
        pooling="match",
        towers=True,
        seed=1,
    )
    with torch.no_grad():  # the exporter stores equal weights, such as biases of 0, only once
        for weight in model.network.parameters():
            weight.normal_(generator=torch.Generator().manual_seed(weight.numel()))
            weight.add_(0.1 * torch.rand(1))
    state, found = plain_state(model.network), widened(to_int8(to_onnx(model)).weights, "model")
    assert found.keys() == state.keys()
    for name, array in found.items():
        np.testing.assert_allclose(array, state[name].numpy(), atol=0.02 * float(np.abs(array).max()))


def test_what_is_no_network_with_towers_is_refused() -> None:
    with pytest.raises(DataError, match="expected a network with towers"):
        widened(b"", "model")


@pytest.mark.slow
def test_the_network_of_the_package_in_torch_gives_the_same_scores() -> None:
    examples = [Example("", ("Hi! Are you hungry?",), text) for text in ("Yes, let us eat.", "Four cylinders.")]
    network = Encoder.load(shipped_folder("default@1"), precision="torch")
    np.testing.assert_allclose(network.score(examples), rejoinder.load("default@1").score(examples), atol=1e-3)


def test_it_is_trained_further_by_its_name() -> None:
    made = rejoinder.train("encoder", judged=judged(12), encoder="default", label_steps=1, dimension="overall")
    assert made.fitted.judged == 12
    assert len(made.trained_contexts) > len(rejoinder.load("default@1").trained_contexts)
    examples = [item.example for item in judged(4)]
    assert not np.allclose(made.score(examples), rejoinder.load("default@1").with_calibration(None).score(examples))

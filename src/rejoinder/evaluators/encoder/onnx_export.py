"""A trained model for ONNX Runtime: full precision, int8 weights, or both in one folder."""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from rejoinder.data.pairs import Pair
from rejoinder.errors import CallError
from rejoinder.evaluators.encoder.branch_encoder import BranchEncoder, SharedContexts
from rejoinder.evaluators.encoder.branching import padded_rows
from rejoinder.evaluators.encoder.int8 import to_int8
from rejoinder.evaluators.encoder.model import Model, Settings
from rejoinder.evaluators.encoder.onnx_model import OnnxModel
from rejoinder.evaluators.encoder.tokeniser import PairTokeniser
from rejoinder.evaluators.encoder.torch_model import TorchModel
from rejoinder.learning.extras import require_extra


@dataclass(frozen=True, eq=False)
class Exported:
    """One model in several precisions; the last is the one that is loaded again."""

    forms: Sequence[Model]

    @classmethod
    def of(cls, model: Model, *, quantise: bool, trainable: bool) -> Exported:
        """All forms of a model in torch."""
        if not isinstance(model, TorchModel):
            raise CallError(f"{type(model).__name__} cannot be exported: expected a model in torch")
        full = to_onnx(model)
        return cls([*([model] if trainable else []), full, *([to_int8(full)] if quantise else [])])

    @property
    def precision(self) -> str:
        """The precision of the weights that are loaded again."""
        return self.forms[-1].precision

    @property
    def settings(self) -> Settings:
        """The same for all forms."""
        return self.forms[-1].settings

    @property
    def tokeniser(self) -> PairTokeniser:
        """The same for all forms."""
        return self.forms[-1].tokeniser

    def score(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """The scores by the weights that are loaded again."""
        return self.forms[-1].score(pairs)

    def save(self, folder: Path) -> None:
        """Write the files of every form."""
        for form in self.forms:
            form.save(folder)


def to_onnx(model: TorchModel) -> OnnxModel:
    """The same model at full precision."""
    require_extra("train", "exporting to ONNX")
    network, inputs = _traced(model)
    shapes = {name: dict.fromkeys(range(tensor.ndim), torch.export.Dim.DYNAMIC) for name, tensor in inputs.items()}
    with tempfile.TemporaryDirectory(prefix="rejoinder-") as folder, _quiet():
        path = Path(folder, "model.onnx")
        torch.onnx.export(
            network,
            kwargs=inputs,
            f=path,
            input_names=list(inputs),
            output_names=["score"],
            dynamic_shapes=shapes,
            dynamo=True,
            external_data=False,
            verbose=False,
        )
        return OnnxModel("fp32", model.settings, model.tokeniser, path.read_bytes())


def _traced(model: TorchModel) -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """The network to export, and input to trace it with; no size is 1, which the exporter would take for a constant."""
    network = model.network.cpu().eval()
    if isinstance(network, BranchEncoder):
        rows = model.tokeniser.brancher.rows([("a b c", "d"), ("a",)], [("e f", "g"), ("b c d e", "f")])
        arrays = {**padded_rows(rows, model.settings.pad), "replies": np.arange(2)}
        return SharedContexts(network), {name: torch.from_numpy(array) for name, array in arrays.items()}
    sample = model.tokeniser.encode([Pair(("a b c", "d"), (), "e f"), Pair(("a",), (), "b c d e")])
    return network, {name: tensor.cpu() for name, tensor in model.tensors(sample).items()}


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the exporters' warnings, which are about their own internals."""
    names = ("torch.onnx", "onnxscript", "onnx_ir", "root")
    loggers = [logging.getLogger(None if name == "root" else name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)

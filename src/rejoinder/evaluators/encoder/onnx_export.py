"""A trained model for ONNX Runtime, in full precision, in int8, or both."""

from __future__ import annotations

import logging
import math
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rejoinder.data.dialogues import ReplyInContext
from rejoinder.errors import CallError
from rejoinder.evaluators.encoder.model import EncoderModel, EncoderSettings
from rejoinder.evaluators.encoder.networks import AllColumns, BranchEncoder, SharedContexts
from rejoinder.evaluators.encoder.onnx import ALL_COLUMNS, OnnxModel
from rejoinder.evaluators.encoder.reading import PairTokeniser, padded_rows
from rejoinder.evaluators.encoder.torch_model import TorchModel
from rejoinder.folders.sources import require_extra

# A trained model for ONNX Runtime: full precision, int8 weights, or both in one folder.


@dataclass(frozen=True, eq=False)
class ExportedModel:
    """One model in several precisions; the last is the one that is loaded again."""

    forms: Sequence[EncoderModel]

    @classmethod
    def of(cls, model: EncoderModel, *, quantise: bool, trainable: bool) -> ExportedModel:
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
    def settings(self) -> EncoderSettings:
        """The same for all forms."""
        return self.forms[-1].settings

    @property
    def tokeniser(self) -> PairTokeniser:
        """The same for all forms."""
        return self.forms[-1].tokeniser

    @property
    def columns(self) -> tuple[str, ...]:
        """What the weights that are loaded again give."""
        return self.forms[-1].columns

    def score(self, pairs: Sequence[ReplyInContext]) -> NDArray[np.float64]:
        """The scores by the weights that are loaded again."""
        return self.forms[-1].score(pairs)

    def read(self, pairs: Sequence[ReplyInContext]) -> NDArray[np.float64]:
        """The columns by the same weights."""
        return self.forms[-1].read(pairs)

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
            output_names=[ALL_COLUMNS if model.settings.heads else "score"],
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
        whole = AllColumns(network) if model.settings.heads else SharedContexts(network)
        return whole, {name: torch.from_numpy(array) for name, array in arrays.items()}
    sample = model.tokeniser.encode([ReplyInContext(("a b c", "d"), (), "e f"), ReplyInContext(("a",), (), "b c d e")])
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


# int8 weights for a model in ONNX: a quarter of the size, nearly the same scores.
#
# Matrices and tables are stored as int8 numbers with scales, and converted back to full precision before they are
# multiplied. int8 activations would be faster, but move the scores of a well trained network by .1 on average, three
# times what we allow.


_LARGE_TABLE = 1000
"""Rows of a table that is converted; those of positions and segments have fewer, and would save little."""
_LARGE_MATRIX = 1000
"""Numbers of a matrix that is converted; smaller ones save little, and near the output rounding moves the score."""


def to_int8(model: OnnxModel) -> OnnxModel:
    """A full-precision model with int8 weights."""
    require_extra("train", "int8 weights")
    import onnx

    made = onnx.load_from_string(model.weights)
    del made.graph.value_info[:]  # the exporter's notes on shapes, which no longer hold
    _transpose_weights(made.graph)
    _shrink_matrices(made.graph)
    _shrink_tables(made.graph)
    for part in (made, made.graph, *made.graph.node, *made.graph.input, *made.graph.output):
        del part.metadata_props[:]  # where in the source each came from: most of a small model's size
    return OnnxModel("int8", model.settings, model.tokeniser, made.SerializeToString())


def _transpose_weights(graph: Any) -> None:
    """Store weights as they are multiplied, so that none is transposed each time it is used."""
    from onnx import numpy_helper

    weights = {weight.name: weight for weight in graph.initializer}
    transposed: dict[str, str] = {}
    for node in [node for node in graph.node if node.op_type == "Transpose" and node.input[0] in weights]:
        given, order = node.input[0], [attribute.ints for attribute in node.attribute if attribute.name == "perm"]
        name = f"{given}.transposed{list(order[0]) if order else ''}"
        if name not in weights:
            array = numpy_helper.to_array(weights[given]).transpose(*order)
            weights[name] = numpy_helper.from_array(array.copy(), name)
            graph.initializer.append(weights[name])
        transposed[node.output[0]] = name
        graph.node.remove(node)
    for node in graph.node:
        node.input[:] = [transposed.get(name, name) for name in node.input]
    used = {name for node in graph.node for name in node.input}
    for weight in [weight for weight in graph.initializer if weight.name not in used]:
        graph.initializer.remove(weight)


def _shrink_matrices(graph: Any) -> None:
    """Each large matrix as int8 numbers, with one scale per input and one per output.

    The weights of different inputs differ much in size: with scales per output alone, small ones would be lost.
    """
    from onnx import helper, numpy_helper

    weights = {weight.name: weight for weight in graph.initializer}
    axes = {node.input[1]: _output_axis(node) for node in graph.node if node.op_type in ("MatMul", "Gemm")}
    nodes = []
    for name, axis in axes.items():
        if name not in weights or len(weights[name].dims) != 2 or math.prod(weights[name].dims) < _LARGE_MATRIX:
            continue
        array = numpy_helper.to_array(weights[name])
        size = np.maximum(np.sqrt((array**2).mean(axis, keepdims=True)), np.finfo(np.float32).tiny)  # of each input
        rounded, scale = _quantised(array / size, axis)
        graph.initializer.remove(weights[name])
        parts = {"int8": rounded, "scale": scale.ravel(), "size": size}
        graph.initializer.extend(numpy_helper.from_array(part, f"{name}.{which}") for which, part in parts.items())
        normalised = f"{name}.normalised"
        nodes.append(helper.make_node("DequantizeLinear", [f"{name}.int8", f"{name}.scale"], [normalised], axis=axis))
        nodes.append(helper.make_node("Mul", [normalised, f"{name}.size"], [name]))
    for node in reversed(nodes):
        graph.node.insert(0, node)


def _shrink_tables(graph: Any) -> None:
    """Each large lookup table as int8 numbers, with one scale per row."""
    from onnx import TensorProto, helper, numpy_helper

    weights = {weight.name: weight for weight in graph.initializer}
    for place in reversed(range(len(graph.node))):
        node = graph.node[place]
        name = node.input[0] if node.op_type == "Gather" else ""
        if name not in weights or len(weights[name].dims) != 2 or weights[name].dims[0] < _LARGE_TABLE:
            continue
        if f"{name}.int8" not in weights:
            rounded, scale = _quantised(numpy_helper.to_array(weights[name]), 0)
            for part, array in (("int8", rounded), ("scale", scale)):
                weights[f"{name}.{part}"] = numpy_helper.from_array(array, f"{name}.{part}")
                graph.initializer.append(weights[f"{name}.{part}"])
            graph.initializer.remove(weights[name])
        found = node.output[0]
        instead = [
            helper.make_node("Gather", [f"{name}.int8", node.input[1]], [f"{found}.int8"]),
            helper.make_node("Cast", [f"{found}.int8"], [f"{found}.float"], to=TensorProto.FLOAT),
            helper.make_node("Gather", [f"{name}.scale", node.input[1]], [f"{found}.scale"]),
            helper.make_node("Mul", [f"{found}.float", f"{found}.scale"], [found]),
        ]
        graph.node.remove(node)
        for new in reversed(instead):
            graph.node.insert(place, new)


def _quantised(array: NDArray[np.float32], axis: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """A matrix as int8 numbers, and the scale of each of its rows (axis 0) or columns (axis 1)."""
    most = np.abs(array).max(1 - axis, keepdims=True)
    scale = (np.maximum(most, np.finfo(np.float32).tiny) / 127).astype(np.float32)
    return np.rint(array / scale).astype(np.int8), scale


def _output_axis(node: Any) -> int:
    """Which axis of a product's second matrix is that of the outputs."""
    return 0 if any(attribute.name == "transB" and attribute.i for attribute in node.attribute) else 1

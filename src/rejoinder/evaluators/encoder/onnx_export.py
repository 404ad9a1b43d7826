"""A trained model for ONNX Runtime, at full precision or with weights of one byte."""

from __future__ import annotations

import logging
import math
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rejoinder.data.pairs import Pair
from rejoinder.evaluators.encoder.branch_encoder import BranchEncoder, SharedContexts
from rejoinder.evaluators.encoder.branching import padded_rows
from rejoinder.evaluators.encoder.onnx_model import OnnxModel
from rejoinder.evaluators.encoder.torch_model import TorchModel
from rejoinder.learning.extras import require_extra

_LARGE_TABLE = 1000  # rows; positions and segments are fewer, and not worth it
_LARGE_MATRIX = 1000  # numbers; less saves no space, and what is rounded beside the output goes straight into the score


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
    """What is exported, and input to trace it with: a size that is 1 while tracing would be taken for a constant."""
    network = model.network.cpu().eval()
    if isinstance(network, BranchEncoder):
        rows = model.tokeniser.brancher.rows([("a b c", "d"), ("a",)], [("e f", "g"), ("b c d e", "f")])
        arrays = {**padded_rows(rows, model.settings.pad), "replies": np.arange(2)}
        return SharedContexts(network), {name: torch.from_numpy(array) for name, array in arrays.items()}
    sample = model.tokeniser.encode([Pair(("a b c", "d"), (), "e f"), Pair(("a",), (), "b c d e")])
    return network, {name: tensor.cpu() for name, tensor in model.tensors(sample).items()}


def to_int8(model: OnnxModel) -> OnnxModel:
    """A full-precision model with int8 weights.

    They become numbers of full precision again before they are multiplied: activations of one byte too would be faster,
    but move scores by .1 on average where the network is well trained, three times what we allow.
    """
    require_extra("train", "int8 weights")
    import onnx

    made = onnx.load_from_string(model.weights)
    del made.graph.value_info[:]  # the exporter's notes on shapes, which no longer hold
    _transpose_weights(made.graph)
    _shrink_matrices(made.graph)
    _shrink_tables(made.graph)
    for part in (made, made.graph, *made.graph.node, *made.graph.input, *made.graph.output):
        del part.metadata_props[:]  # where in the source each came from: most of a small model's bytes
    return OnnxModel("int8", model.settings, model.tokeniser, made.SerializeToString())


def _transpose_weights(graph: Any) -> None:
    """Store weights as they are multiplied: a weight that several products share is else turned in each of them."""
    from onnx import numpy_helper

    weights = {weight.name: weight for weight in graph.initializer}
    turned: dict[str, str] = {}
    for node in [node for node in graph.node if node.op_type == "Transpose" and node.input[0] in weights]:
        given, order = node.input[0], [attribute.ints for attribute in node.attribute if attribute.name == "perm"]
        name = f"{given}.turned{list(order[0]) if order else ''}"
        if name not in weights:
            array = numpy_helper.to_array(weights[given]).transpose(*order)
            weights[name] = numpy_helper.from_array(array.copy(), name)
            graph.initializer.append(weights[name])
        turned[node.output[0]] = name
        graph.node.remove(node)
    for node in graph.node:
        node.input[:] = [turned.get(name, name) for name in node.input]
    used = {name for node in graph.node for name in node.input}
    for weight in [weight for weight in graph.initializer if weight.name not in used]:
        graph.initializer.remove(weight)


def _shrink_matrices(graph: Any) -> None:
    """Each large matrix that something is multiplied by as one byte a number, with a scale an input and one an output.

    Inputs differ much in how large their weights are: with a scale an output alone, the small ones of them are lost.
    """
    from onnx import helper, numpy_helper

    weights = {weight.name: weight for weight in graph.initializer}
    columns = {node.input[1]: _column_axis(node) for node in graph.node if node.op_type in ("MatMul", "Gemm")}
    nodes = []
    for name, axis in columns.items():
        if name not in weights or len(weights[name].dims) != 2 or math.prod(weights[name].dims) < _LARGE_MATRIX:
            continue
        array = numpy_helper.to_array(weights[name])
        size = np.maximum(np.sqrt((array**2).mean(axis, keepdims=True)), np.finfo(np.float32).tiny)  # of each input
        rounded, scale = _bytes_of(array / size, axis)
        graph.initializer.remove(weights[name])
        parts = {"byte": rounded, "scale": scale.ravel(), "size": size}
        graph.initializer.extend(numpy_helper.from_array(part, f"{name}.{which}") for which, part in parts.items())
        evened = f"{name}.evened"
        nodes.append(helper.make_node("DequantizeLinear", [f"{name}.byte", f"{name}.scale"], [evened], axis=axis))
        nodes.append(helper.make_node("Mul", [evened, f"{name}.size"], [name]))
    for node in reversed(nodes):
        graph.node.insert(0, node)


def _shrink_tables(graph: Any) -> None:
    """Each large table that rows are looked up in as one byte a number, with a scale a row."""
    from onnx import TensorProto, helper, numpy_helper

    weights = {weight.name: weight for weight in graph.initializer}
    for place in reversed(range(len(graph.node))):
        node = graph.node[place]
        name = node.input[0] if node.op_type == "Gather" else ""
        if name not in weights or len(weights[name].dims) != 2 or weights[name].dims[0] < _LARGE_TABLE:
            continue
        if f"{name}.byte" not in weights:
            rounded, scale = _bytes_of(numpy_helper.to_array(weights[name]), 0)
            for part, array in (("byte", rounded), ("scale", scale)):
                weights[f"{name}.{part}"] = numpy_helper.from_array(array, f"{name}.{part}")
                graph.initializer.append(weights[f"{name}.{part}"])
            graph.initializer.remove(weights[name])
        found = node.output[0]
        instead = [
            helper.make_node("Gather", [f"{name}.byte", node.input[1]], [f"{found}.byte"]),
            helper.make_node("Cast", [f"{found}.byte"], [f"{found}.whole"], to=TensorProto.FLOAT),
            helper.make_node("Gather", [f"{name}.scale", node.input[1]], [f"{found}.scale"]),
            helper.make_node("Mul", [f"{found}.whole", f"{found}.scale"], [found]),
        ]
        graph.node.remove(node)
        for new in reversed(instead):
            graph.node.insert(place, new)


def _bytes_of(array: NDArray[np.float32], axis: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """A matrix as whole numbers up to 127, and the scale of each of its rows (axis 0) or columns (axis 1)."""
    most = np.abs(array).max(1 - axis, keepdims=True)
    scale = (np.maximum(most, np.finfo(np.float32).tiny) / 127).astype(np.float32)
    return np.rint(array / scale).astype(np.int8), scale


def _column_axis(node: Any) -> int:
    """Which axis of a product's second matrix tells one output from another."""
    return 0 if any(attribute.name == "transB" and attribute.i for attribute in node.attribute) else 1


@contextmanager
def _quiet() -> Iterator[None]:
    """No remarks of the exporters: they are about their own insides."""
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

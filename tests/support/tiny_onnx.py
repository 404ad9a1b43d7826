"""ONNX models of a few nodes, and their encoding byte by byte, as no library writes it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import TensorProto, helper

from rejoinder.evaluators.encoder.reading import FEATURES
from rejoinder.folders.saved import ENCODER, WEIGHTS
from rejoinder.registry import shipped_folder

MODEL, TENSOR = onnx.ModelProto.DESCRIPTOR, onnx.TensorProto.DESCRIPTOR
INPUTS = ("input_ids", "positions", "parts", "numbers", "replies")


def tiny_network(weight: float = 0.1, *, features: bool = True, reshaped: int = 1) -> bytes:
    """A network with towers, all of whose scores are 3 + the square of its weight.

    `features`: it has the tensor of features. Scoring fails where it reshapes its weight to more than one number.
    """
    float32, int64 = TensorProto.FLOAT, TensorProto.INT64
    weights = [
        helper.make_tensor("weight", float32, [1], [weight]),
        helper.make_tensor("middle", float32, [1], [3.0]),
        helper.make_tensor("first", int64, [1], [0]),
        helper.make_tensor("second", int64, [1], [1]),
        helper.make_tensor("columns", int64, [1], [len(FEATURES)]),
    ]
    nodes = [
        helper.make_node("Shape", ["input_ids"], ["size"]),
        helper.make_node("Slice", ["size", "first", "second"], ["rows"]),
        helper.make_node("Shape", ["replies"], ["count"]),
        helper.make_node("Concat", ["rows", "count"], ["shape"], axis=0),
        # What the weight is reshaped to depends on the input, so that no optimisation finds the mistake.
        helper.make_node("Div", ["rows", "rows"], ["one"]),
        helper.make_node("Mul", ["one", "reshaped"], ["wanted"]),
        helper.make_node("Reshape", ["weight", "wanted"], ["flat"]),
        helper.make_node("Mul", ["flat", "flat"], ["square"]),
        helper.make_node("Add", ["square", "middle"], ["raw"]),
        helper.make_node("Expand", ["raw", "shape"], ["score"]),
    ]
    weights.append(helper.make_tensor("reshaped", int64, [1], [reshaped]))
    if features:
        nodes.append(helper.make_node("Concat", ["shape", "columns"], ["features"], axis=0))
        nodes.append(helper.make_node("Expand", ["raw", "features"], ["stack"]))
    taken = [helper.make_tensor_value_info(name, int64, ["rows", "tokens"]) for name in INPUTS[:-1]]
    taken.append(helper.make_tensor_value_info("replies", int64, ["replies"]))
    given = [helper.make_tensor_value_info("score", float32, ["rows", "replies"])]
    graph = helper.make_graph(nodes, "tiny", taken, given, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    return bytes(model.SerializeToString())


def write_tiny_network(folder: Path, network: bytes | None = None) -> Path:
    """A folder like that of `default@1`, with another network."""
    shutil.copytree(shipped_folder("default@1"), folder, ignore=shutil.ignore_patterns("*.onnx", ENCODER))
    (folder / WEIGHTS["int8"]).write_bytes(tiny_network() if network is None else network)
    return folder


def read_onnx(content: bytes) -> onnx.ModelProto | None:
    """A model as the package `onnx` reads it; None if it cannot."""
    try:
        return onnx.load_from_string(content)
    except DecodeError:
        return None


def varint(value: int, longer: int = 0) -> bytes:
    """A variable-length integer, with so many bytes more than it needs."""
    low = []
    while value > 0x7F:
        low.append(value & 0x7F)
        value >>= 7
    parts = [*low, value, *[0] * longer]
    return bytes([*(part | 0x80 for part in parts[:-1]), parts[-1]])


def field(number: int, content: bytes | int, longer: int = 0, *, longer_tag: int = 0) -> bytes:
    """A field of a message: bytes with their length, or a number."""
    if isinstance(content, int):
        return varint(number << 3, longer_tag) + varint(content, longer)
    return varint(number << 3 | 2, longer_tag) + varint(len(content), longer) + content


def inside(path: tuple[int, ...], content: bytes, longer: int = 0) -> bytes:
    """A message within messages: fields by number, the outermost first."""
    for number in reversed(path):
        content = field(number, content, longer)
    return content


def parts(message: Any) -> dict[int, Any]:
    """The fields of a message that are messages, by the description of the package `onnx`."""
    return {each.number: each.message_type for each in message.fields if each.message_type is not None}


def tensor_paths(longest: int = 6, message: Any = MODEL) -> Iterator[tuple[int, ...]]:
    """The numbers of the fields that lead from a message to a tensor, by the description of the package `onnx`."""
    if message is TENSOR:
        yield ()
    elif longest:
        for number, part in parts(message).items():
            yield from ((number, *rest) for rest in tensor_paths(longest - 1, part))


def tensors(message: Any) -> Iterator[Any]:
    """The tensors anywhere in a message that the package `onnx` has read."""
    if message.DESCRIPTOR is TENSOR:
        yield message
    for each, value in message.ListFields():
        if each.message_type is not None:
            for part in value if each.is_repeated else [value]:
                yield from tensors(part)

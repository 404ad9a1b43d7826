"""The weights of an exported network, converted back so that it can be trained further.

int8 matrices and tables become float32 again; what rounding lost stays lost. The exporter keeps the names of biases and
tables, but not those of matrices: a matrix is recognised by the bias that is added to its product.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import DataError
from rejoinder.learning.extras import require_extra
from rejoinder.loading.onnx_file import check_onnx

_OWNER = "network."
"""What the exporter puts before the names of the network's own weights."""
_WITHOUT_BIAS = "blend.weight"

Arrays = dict[str, NDArray[Any]]


def widened(weights: bytes, file: str) -> Arrays:
    """Name of each weight of a network with towers -> its values, float32; DataError if it is not such a network."""
    require_extra("train", "training an exported network further")
    import onnx
    from onnx import numpy_helper

    check_onnx(weights, file)
    graph = onnx.load_from_string(weights).graph
    arrays: Arrays = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    _restore(graph, arrays)
    state = {name.removeprefix(_OWNER): array for name, array in arrays.items() if _is_weight(name)}
    biases = {
        product: name.removesuffix(".bias").removeprefix(_OWNER)
        for node in graph.node
        if node.op_type == "Add"
        for product, name in (node.input, reversed(node.input))
        if name.endswith(".bias")
    }
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in arrays:
            owner = biases.get(node.output[0])
            name = _WITHOUT_BIAS if owner is None else f"{owner}.weight"
            state[name] = arrays[node.input[1]].T
    if _WITHOUT_BIAS not in state:
        raise DataError("cannot be trained further: expected a network with towers", file=file)
    return {name: np.array(array, np.float32, order="C") for name, array in state.items()}


def _restore(graph: Any, arrays: Arrays) -> None:
    """Add what is computed from stored arrays alone: matrices and tables at full precision."""
    for node in graph.node:
        if any(name not in arrays for name in node.input):
            continue
        if node.op_type == "DequantizeLinear":
            values, scale = (arrays[name] for name in node.input)
            axis = next((each.i for each in node.attribute if each.name == "axis"), 1)
            arrays[node.output[0]] = values * np.expand_dims(scale, 1 - axis % 2)
        elif node.op_type == "Mul":
            arrays[node.output[0]] = arrays[node.input[0]] * arrays[node.input[1]]
    for name in [name for name in arrays if name.endswith(".scale")]:
        table = name.removesuffix(".scale")
        stored = next((each for each in (f"{table}.int8", f"{table}.byte") if each in arrays), None)
        if stored is not None and table.startswith(_OWNER) and table not in arrays:
            arrays[table] = arrays[stored] * arrays[name]


def _is_weight(name: str) -> bool:
    return name.startswith(_OWNER) and name.endswith((".weight", ".bias"))

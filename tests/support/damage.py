"""Damage to a saved folder: JSON with other values or repeated keys, arrays of other shapes, files cut, linked or gone.

ONNX files have weights elsewhere, other numbers, types and nodes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from tiny_onnx import read_onnx

VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2, 3, 7, 1000, 10**9, 10**30, -(10**30), 0.5, -0.5, 1e308, math.nan, math.inf,
    -math.inf,    "", "none", "x", "/etc/passwd", "../../secret", "C:\\secret", "someone/model", "\x00", "a" * 5000,
    [], [1], [1, 2], ["a", "b"], [[]], {}, {"a": 1}, {"metric": "judge"}, [[[[1]]]],
]  # fmt: skip
_SMALL = 1 << 20
"""Bytes. Changing the network of the package takes long."""

Change = Callable[[NDArray[Any]], NDArray[Any]]
CHANGES: list[Change] = [
    lambda array: array[:0],
    lambda array: array[:-1],
    lambda array: np.concatenate([array, array[-1:]]),
    lambda array: array[None],
    lambda array: array.ravel(),
    lambda array: array.T.copy(),
    lambda array: np.zeros_like(array),
    lambda array: np.full_like(array, 1 if array.dtype.kind in "iub" else math.nan),
    lambda array: np.full_like(array, 0 if array.dtype.kind in "iub" else math.inf),
    lambda array: -array if array.dtype.kind != "b" else array,
    lambda array: np.full_like(array, np.iinfo(array.dtype).max if array.dtype.kind in "iu" else 1e4),
    lambda array: np.full_like(array, np.iinfo(array.dtype).min if array.dtype.kind in "iu" else -1e4),
    lambda array: array[::-1].copy(),
    lambda array: array.astype(np.float64),
    lambda array: array.astype(np.float16),
    lambda array: array.astype(np.int64),
    lambda array: array.astype(np.uint8),
    lambda array: array.astype(np.bool_),
    lambda array: _last(array, math.nan),
    lambda array: _last(array, -math.inf),
    lambda array: np.full_like(array, np.finfo(array.dtype).max if array.dtype.kind == "f" else 2),
]


def _last(array: NDArray[Any], value: float) -> NDArray[Any]:
    """The array with another last number, if it has floating-point numbers."""
    if array.dtype.kind == "f" and array.size:
        array = array.copy()
        array.reshape(-1)[-1] = value
    return array


@dataclass(frozen=True)
class Damage:
    """What happens to one file; numbers are taken modulo what there is to choose from."""

    how: str
    file: int
    place: int
    value: int

    def do(self, folder: Path) -> None:
        """Damage the folder. Files are replaced, never written to, because they may be hard links."""
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        if self.how == "json":
            files = [path for path in files if path.suffix == ".json"]
        elif self.how == "array":
            files = [path for path in files if path.suffix == ".safetensors"]
        elif self.how == "onnx":
            files = [path for path in files if path.suffix == ".onnx" and path.stat().st_size < _SMALL]
        with suppress(ValueError, SafetensorError):  # damaged already
            if files:
                getattr(self, f"_{self.how}")(files[self.file % len(files)])

    def _json(self, path: Path) -> None:
        content = json.loads(path.read_text(encoding="utf-8"))
        places = list(_places(content))
        if not places:
            return
        holder, key = places[self.place % len(places)]
        if self.value % 4 == 0:
            del holder[key]
        elif self.value % 4 == 1 and isinstance(holder, dict):
            again = f"{json.dumps(key)}: {json.dumps(VALUES[self.value % len(VALUES)])}"
            holder["\0"] = 0
            _replace(path, json.dumps(content).replace('"\\u0000": 0', again).encode())
            return
        else:
            holder[key] = VALUES[self.value % len(VALUES)]
        _replace(path, json.dumps(content).encode())

    def _array(self, path: Path) -> None:
        arrays = load_file(path)
        if not arrays:  # the only one was removed
            return
        name = sorted(arrays)[self.place % len(arrays)]
        array = arrays.pop(name)
        if self.value % 8 == 0:
            arrays["another"] = array
        elif self.value % 8 > 1 and array.ndim:
            with np.errstate(all="ignore"):
                arrays[name] = np.ascontiguousarray(CHANGES[self.value % len(CHANGES)](array))
        _replace(path, save(arrays))

    def _onnx(self, path: Path) -> None:
        model = read_onnx(path.read_bytes())
        if model is None or not model.graph.initializer or not model.graph.node:  # damaged already
            return
        weights = model.graph.initializer[self.place % len(model.graph.initializer)]
        node = model.graph.node[self.place % len(model.graph.node)]
        kind = self.value % 7
        if kind == 0:
            weights.external_data.add(key="location", value="/etc/passwd")
        elif kind == 1:
            weights.data_location = onnx.TensorProto.EXTERNAL
        elif kind == 2:
            weights.dims.append(self.value % 5)
        elif kind == 3:
            weights.data_type = self.value % 30
        elif kind == 4:
            del node.input[:]
        elif kind == 5:
            node.op_type = "EPContext" if self.value % 2 else "Loop"
        elif weights.data_type == onnx.TensorProto.FLOAT:
            array = onnx.numpy_helper.to_array(weights)
            with np.errstate(all="ignore"):
                changed = np.asarray(CHANGES[self.value % len(CHANGES)](array) if array.ndim else array)
            weights.CopyFrom(onnx.numpy_helper.from_array(np.ascontiguousarray(changed), weights.name))
        _replace(path, model.SerializeToString())

    def _file(self, path: Path) -> None:
        content = path.read_bytes()
        at = self.place % (len(content) + 1)
        contents = [
            b"",
            bytes(range(64)),
            content[:at],
            content[:at] + bytes([self.value % 256]) + content[at + 1 :],
            content[:at] + b"\xff\x00{[" + content[at:],
        ]
        kind = self.value % (len(contents) + 4)
        path.unlink()
        if kind < len(contents):
            path.write_bytes(contents[kind])
        elif kind == len(contents):
            path.mkdir()
        elif kind == len(contents) + 1:
            path.symlink_to("/etc/passwd")
        elif kind == len(contents) + 2:
            path.symlink_to(path)


def _places(content: Any) -> Iterator[tuple[Any, Any]]:
    """Every value of a JSON document, as what holds it and its key; of long lists and objects only some."""
    keys = list(content) if isinstance(content, dict) else list(range(len(content)))
    for key in keys[:40]:
        yield content, key
        if isinstance(content[key], dict | list):
            yield from _places(content[key])


def _replace(path: Path, content: bytes) -> None:
    path.unlink()
    path.write_bytes(content)


def damages() -> st.SearchStrategy[list[Damage]]:
    """One or two pieces of damage."""
    numbers = st.integers(0, 1 << 30)
    how = st.sampled_from(["json", "json", "json", "array", "array", "file", "onnx"])
    return st.lists(st.builds(Damage, how, numbers, numbers, numbers), min_size=1, max_size=2)

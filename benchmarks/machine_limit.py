"""What a machine can do at most: the time that a network's multiplications take in plain matrix products."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

INNER, OUTER = 384, 1536
"""The shape of MiniLM's largest product."""
_TRIALS = 20


@dataclass(frozen=True)
class Cost:
    """The multiplications and additions that an encoder needs for some texts."""

    dense: float
    """With learned matrices, which may have one-byte weights."""
    attention: float
    """Of activations with one another, which stay in full precision."""
    tokens: int

    @classmethod
    def of_encoder(cls, folder: Path, lengths: NDArray[np.int64]) -> Cost:
        """Of texts of these numbers of tokens; no padding."""
        config = json.loads((folder / "config.json").read_text("utf-8"))
        width, inner, layers = (config[key] for key in ("hidden_size", "intermediate_size", "num_hidden_layers"))
        weights = layers * (4 * width**2 + 2 * width * inner)
        tokens = int(lengths.sum())
        return cls(2.0 * weights * tokens, 4.0 * layers * width * float((lengths**2).sum()), tokens)

    def __str__(self) -> str:
        return f"{self.tokens:,} tokens at {(self.dense + self.attention) / self.tokens / 1e6:.1f} MFLOP"


@dataclass(frozen=True)
class Limit:
    """Floating-point operations a second of a matrix product."""

    fp32: float
    int8: float

    @classmethod
    def measured(cls, rows: int) -> Limit:
        """By numpy's own product, and by ONNX Runtime's products in both precisions, the faster one counting."""
        rng = np.random.default_rng(0)
        left, right = rng.random((rows, INNER), np.float32), rng.random((INNER, OUTER), np.float32)
        plain = _rate(lambda: left @ right, rows)
        session = _session("MatMul", np.float32)
        fp32 = max(plain, _rate(lambda: session.run(None, {"left": left, "right": right}), rows))
        small, weights = (left * 255).astype(np.uint8), (right * 127).astype(np.int8)
        whole = _session("MatMulInteger", np.uint8, weights)
        return cls(fp32, _rate(lambda: whole.run(None, {"left": small}), rows))

    def seconds(self, cost: Cost, precision: str) -> float:
        """The least time for so much work."""
        dense = self.int8 if precision == "int8" else self.fp32
        return cost.dense / dense + cost.attention / self.fp32

    def __str__(self) -> str:
        return f"matrix product: {self.fp32 / 1e9:.0f} GFLOP/s in fp32, {self.int8 / 1e9:.0f} in int8"


def best_of(repeats: int, run: Callable[[], object]) -> float:
    """The shortest time of several runs, in seconds.

    On one core that of the processor, which other programs on the machine do not lengthen; else by the clock.
    """
    now = time.process_time if len(os.sched_getaffinity(0)) == 1 else time.perf_counter
    times = []
    for _ in range(repeats):
        begun = now()
        run()
        times.append(now() - begun)
    return min(times)


def _rate(run: Callable[[], object], rows: int) -> float:
    """Operations a second."""
    return 2.0 * rows * INNER * OUTER / best_of(_TRIALS, run)


def _session(kind: str, dtype: type[np.generic], weights: NDArray[np.int8] | None = None):  # type: ignore[no-untyped-def]
    """A model of one product; `weights`, if given, are its right side, which ONNX Runtime then packs once."""
    import onnxruntime  # type: ignore[import-untyped]
    from onnx import TensorProto, helper, numpy_helper

    one = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    inputs = [helper.make_tensor_value_info("left", one, [None, INNER])]
    if weights is None:
        inputs.append(helper.make_tensor_value_info("right", one, [INNER, OUTER]))
    out = helper.make_tensor_value_info("out", one if weights is None else TensorProto.INT32, [None, OUTER])
    fixed = [] if weights is None else [numpy_helper.from_array(weights, "right")]
    graph = helper.make_graph([helper.make_node(kind, ["left", "right"], ["out"])], "product", inputs, [out], fixed)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])

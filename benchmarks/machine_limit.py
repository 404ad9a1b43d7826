"""What a machine can do at most: the time that a network's multiplications take in plain matrix products."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

INNER, OUTER = 384, 1536
"""The shape of MiniLM's largest product."""
_TRIALS = 3
_SECONDS = 1.0
"""How long a trial lasts: the programs compared with the limit are measured over seconds, too."""


@dataclass(frozen=True)
class Cost:
    """The multiplications and additions that an encoder needs for some texts."""

    dense: float
    """With learned matrices."""
    attention: float
    """Of activations with one another."""
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
    """Floating-point operations per second of a matrix product of full precision."""

    rate: float

    @classmethod
    def measured(cls, rows: int) -> Limit:
        """By numpy's own product and by ONNX Runtime's, the faster one counting."""
        rng = np.random.default_rng(0)
        left, right = rng.random((rows, INNER), np.float32), rng.random((INNER, OUTER), np.float32)
        session = _session()
        products = [lambda: left @ right, lambda: session.run(None, {"left": left, "right": right})]
        return cls(max(2.0 * rows * INNER * OUTER / _lasting(product) for product in products))

    def seconds(self, cost: Cost) -> float:
        """The least time for so much work."""
        return (cost.dense + cost.attention) / self.rate

    def __str__(self) -> str:
        return f"matrix product: {self.rate / 1e9:.0f} GFLOP/s"


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


def _lasting(product: Callable[[], object]) -> float:
    """Seconds that a product takes among many."""
    count = max(1, round(_SECONDS / best_of(_TRIALS, product)))

    def many() -> None:
        for _ in range(count):
            product()

    return best_of(_TRIALS, many) / count


def _session() -> Any:
    """A model of one product."""
    import onnxruntime  # type: ignore[import-untyped]
    from onnx import TensorProto, helper

    shapes: dict[str, list[int | str | None]] = {"left": [None, INNER], "right": [INNER, OUTER], "out": [None, OUTER]}
    left, right, out = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items())
    graph = helper.make_graph([helper.make_node("MatMul", ["left", "right"], ["out"])], "product", [left, right], [out])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])

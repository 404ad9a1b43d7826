"""A trained model in ONNX Runtime: no torch, no transformers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.data.files import read_text
from rejoinder.data.pairs import Pair
from rejoinder.errors import DataError
from rejoinder.evaluators.encoder.branching import padded_rows
from rejoinder.evaluators.encoder.pairs import PairTokeniser
from rejoinder.evaluators.encoder.stored import Settings
from rejoinder.evaluators.scale import LOWEST
from rejoinder.learning.batching import by_length, padded
from rejoinder.learning.saving import TOKENISER, WEIGHTS
from rejoinder.text.cleaning import writable

BATCH_TOKENS = 512
"""Tokens run at once: enough for the matrix products, little enough for the processor's cache."""
MOST_REPLIES = 8
"""Replies that share a context's row: each sees all tokens of it, used or not, so that more would cost more."""


@dataclass(frozen=True, eq=False)
class OnnxModel:
    """Scores pairs with ONNX Runtime on all cores."""

    precision: str
    settings: Settings
    tokeniser: PairTokeniser
    weights: bytes = field(repr=False)

    @classmethod
    def load(cls, folder: Path, settings: Settings, precision: str) -> OnnxModel:
        """The model of a folder, with weights of this precision."""
        path = folder / WEIGHTS[precision]
        try:
            weights = path.read_bytes()
        except FileNotFoundError as error:
            raise DataError("is missing: expected the weights of the model", file=str(path)) from error
        return cls(precision, settings, settings.tokeniser(read_text(folder / TOKENISER)), weights)

    def save(self, folder: Path) -> None:
        """Write tokeniser and weights."""
        (folder / TOKENISER).write_text(self.tokeniser.definition, encoding="utf-8")
        (folder / WEIGHTS[self.precision]).write_bytes(self.weights)

    @cached_property
    def session(self) -> Any:
        """ONNX Runtime's own object, made when the first pair is scored."""
        import onnxruntime  # type: ignore[import-untyped]

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3  # errors
        # Lengths differ from batch to batch: memory that is kept for every shape only grows.
        options.enable_mem_pattern = False
        # The library counts the machine's cores; those that this process may use can be fewer, and its threads would
        # wait for one another in loops.
        options.intra_op_num_threads = _usable_cores()
        # One-byte weights are widened once, when the model is loaded, and not again for every batch.
        options.add_session_config_entry("session.disable_quant_qdq", "1")
        try:
            return onnxruntime.InferenceSession(self.weights, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the library's errors share no class of their own
            raise DataError(f"is no ONNX model ({error})", file=WEIGHTS[self.precision]) from error

    def score(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """One score a pair; those of like length run together, the order is that of the pairs."""
        if self.settings.towers:
            return self._score_shared(pairs)
        encoded = self.tokeniser.encode(pairs)
        scores = np.full(len(pairs), LOWEST)
        names = {taken.name for taken in self.session.get_inputs()}
        for rows in by_length(encoded, BATCH_TOKENS):
            arrays = padded([encoded[row] for row in rows], self.settings.pad)
            given = {name: array for name, array in arrays.items() if name in names}
            scores[rows] = self.session.run(["score"], given)[0]
        return scores

    def _score_shared(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """The same of a model that branches: replies to one context are read in one row, the context once."""
        contexts = [tuple(map(writable, pair.context)) for pair in pairs]
        found = self.tokeniser.brancher.shared_rows(contexts, [writable(pair.response) for pair in pairs], MOST_REPLIES)
        scores = np.full(len(pairs), LOWEST)
        for places in by_length([row for row, _ in found], BATCH_TOKENS):
            arrays = padded_rows([found[place][0] for place in places], self.settings.pad)
            most = max(len(found[place][1]) for place in places)
            made = self.session.run(["score"], {**arrays, "replies": np.arange(most)})[0]
            for place, row in zip(places, made, strict=True):
                numbers = found[place][1]
                scores[numbers] = row[: len(numbers)]
        return scores


def _usable_cores() -> int:
    """Cores that this process may run on; all of the machine's where the system does not tell."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

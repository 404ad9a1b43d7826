"""A model in ONNX Runtime, which scores without torch and transformers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ints
from rejoinder.data.dialogues import ReplyInContext, read_text
from rejoinder.data.opening import unreadable
from rejoinder.errors import DataError
from rejoinder.evaluators.calibration import LOWEST
from rejoinder.evaluators.encoder.model import EncoderSettings
from rejoinder.evaluators.encoder.reading import FEATURES, PairTokeniser, shared_scores
from rejoinder.folders.foreign import first_line, onnx_session
from rejoinder.folders.onnx_file import check_onnx
from rejoinder.folders.saved import TOKENISER, WEIGHTS
from rejoinder.learning.data import by_length, padded
from rejoinder.threads import in_threads

_STACKED = "stack"
ALL_COLUMNS = "columns"
"""The output of a network with heads: score, features and heads in one matrix."""
BATCH_TOKENS = 512
"""Tokens run at once: enough for the matrix products, few enough for the processor's cache."""


@dataclass(frozen=True, eq=False)
class OnnxModel:
    """Scores pairs with ONNX Runtime on all cores."""

    precision: str
    settings: EncoderSettings
    tokeniser: PairTokeniser
    weights: bytes = field(repr=False)
    file: str = "the exported model"
    """Where the weights were read, for messages."""

    @classmethod
    def load(cls, folder: Path, settings: EncoderSettings, precision: str) -> OnnxModel:
        """The model of a folder, with weights of this precision, which are checked."""
        path = folder / WEIGHTS[precision]
        try:
            weights = path.read_bytes()
        except FileNotFoundError as error:
            raise DataError("is missing: expected the weights of the model", file=str(path)) from error
        except OSError as error:
            raise unreadable(error, str(path)) from None
        check_onnx(weights, str(path))
        return cls(precision, settings, settings.tokeniser(read_text(folder / TOKENISER)), weights, str(path))

    def save(self, folder: Path) -> None:
        """Write tokeniser and weights."""
        (folder / TOKENISER).write_text(self.tokeniser.definition, encoding="utf-8")
        (folder / WEIGHTS[self.precision]).write_bytes(self.weights)

    def __getstate__(self) -> dict[str, Any]:
        """What a copy in another process needs: it makes a session of its own."""
        return {name: value for name, value in self.__dict__.items() if name != "session"}

    @cached_property
    def session(self) -> Any:
        """ONNX Runtime's session, made when the first pair is scored."""
        import onnxruntime  # type: ignore[import-untyped]

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # fatal errors: what fails is raised as well, and is one line of ours
        # Lengths differ from batch to batch: memory kept for every shape would only grow.
        options.enable_mem_pattern = False
        # Each batch runs on one core, and batches on all of them: threads that share a product wait for each other.
        options.intra_op_num_threads = 1
        # int8 weights are converted to full precision once, when the model is loaded, and not for every batch.
        options.add_session_config_entry("session.disable_quant_qdq", "1")
        return onnx_session(self.graph, options, self.file)

    @property
    def has_features(self) -> bool:
        """Whether the graph has the tensor of features."""
        return self.settings.towers and not self.settings.heads and _STACKED.encode() in self.weights

    @property
    def graph(self) -> bytes:
        """The model with its features as a second output, if it has them.

        The exporter names the tensor after `torch.stack` in `BranchEncoder.read`. Two protocol-buffer messages written
        one after the other are read as one whose lists are joined, so that an output is added by appending it.
        """
        return self.weights + _added_output(_STACKED) if self.has_features else self.weights

    @property
    def columns(self) -> tuple[str, ...]:
        """The score and, if the graph gives them, the features and the heads."""
        features = FEATURES if self.has_features or self.settings.heads else ()
        return ("score", *features, *self.settings.heads)

    def read(self, pairs: Sequence[ReplyInContext]) -> NDArray[np.float64]:
        """The score of each pair and what else the network computes, from one pass; NaN where its numbers overflow.

        (pairs, columns)
        """
        _ = self.session  # made before the threads begin
        found = self.tokeniser.mean_of_parts(pairs, self._read)
        found[~np.isfinite(found).all(axis=1)] = np.nan
        return found

    def score(self, pairs: Sequence[ReplyInContext]) -> NDArray[np.float64]:
        """One score per pair, in order; NaN where the network's numbers overflow."""
        return self.read(pairs)[:, 0].copy()

    def _read(self, pairs: Sequence[ReplyInContext]) -> NDArray[np.float64]:
        """Rows of similar length run together. (pairs, columns)"""
        width = len(self.columns)
        if width == 1:
            return self._score(pairs)[:, None]

        def run(arrays: Mapping[str, Ints]) -> NDArray[Any]:
            shape = len(arrays["input_ids"]), len(arrays["replies"])
            if self.settings.heads:
                [found] = self._run(arrays, {ALL_COLUMNS: (*shape, width)})
                return found
            scores, features = self._run(arrays, {"score": shape, _STACKED: (*shape, len(FEATURES))})
            return np.concatenate([scores[:, :, None], features], axis=2)

        found = shared_scores(self.tokeniser.brancher, pairs, self.settings.pad, BATCH_TOKENS, run, threads=True)
        return found.reshape(len(pairs), width)

    def _score(self, pairs: Sequence[ReplyInContext]) -> NDArray[np.float64]:
        names = {taken.name for taken in self.session.get_inputs()}  # makes the session, before the threads begin
        if self.settings.towers:
            brancher = self.tokeniser.brancher
            scores = shared_scores(brancher, pairs, self.settings.pad, BATCH_TOKENS, self._scores, threads=True)
        else:
            encoded = self.tokeniser.encode(pairs)
            scores = np.full(len(pairs), LOWEST)

            def run(rows: list[int]) -> NDArray[np.floating]:
                arrays = padded([encoded[row] for row in rows], self.settings.pad)
                return self._scores({name: array for name, array in arrays.items() if name in names})

            batches = by_length(encoded, BATCH_TOKENS)
            for rows, found in zip(batches, in_threads(run, batches), strict=True):
                scores[rows] = found
        return scores

    def _scores(self, arrays: Mapping[str, Ints]) -> NDArray[np.floating]:
        """The network's scores. (rows,), or with towers (rows, replies)"""
        shape = tuple(len(arrays[name]) for name in ("input_ids", "replies") if name in arrays)
        [found] = self._run(arrays, {"score": shape})
        return found

    def _run(self, arrays: Mapping[str, Ints], shapes: Mapping[str, tuple[int, ...]]) -> list[NDArray[np.floating]]:
        """The network's outputs of these names and shapes."""
        session = self.session
        try:
            outputs: list[NDArray[np.floating]] = session.run(list(shapes), dict(arrays))
        except Exception as error:  # the library's errors share no class of their own
            raise DataError(f"cannot score ({first_line(error)})", file=self.file) from error
        for found, (name, shape) in zip(outputs, shapes.items(), strict=True):
            if not isinstance(found, np.ndarray) or found.dtype.kind != "f" or found.shape != shape:
                raise DataError(f"must give numbers of shape {shape}", file=self.file, field=name)
        return outputs


def _added_output(name: str) -> bytes:
    """A model of ONNX with nothing but one output of this name: field 7 is the graph, 12 its outputs, 1 their name."""
    named = b"\x0a" + bytes([len(name)]) + name.encode()
    output = b"\x62" + bytes([len(named)]) + named
    return b"\x3a" + bytes([len(output)]) + output

"""The evaluator and its network: tens of thousands of replies per second (docs/reference/default-fast.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit

from rejoinder.arrays import Vectors
from rejoinder.errors import CallError, DataError
from rejoinder.evaluators.base import Evaluator, Use
from rejoinder.evaluators.calibration import HIGHEST, LOWEST, OVERFLOW
from rejoinder.evaluators.static.reading import BEFORE, COUNTS, LAST, OWN, REPLY, STRETCHES, WordIds, count_columns
from rejoinder.folders.array_schema import Array
from rejoinder.folders.saved import PACKED, packed_words, read_arrays, unpacked_words, write_arrays
from rejoinder.folders.sources import require_extra
from rejoinder.learning.data import TrainingData
from rejoinder.metrics.batch import Batch
from rejoinder.models.ngram import NgramLevel, NgramModel, checked_model
from rejoinder.options import check_least, check_scale
from rejoinder.text.vectors import SHIPPED_VECTORS
from rejoinder.types import Scores

# A fast evaluator without a neural encoder: tens of thousands of replies per second (docs/reference/default-fast.md).
#
# Training needs the extra `train`; scoring needs nothing but the core.


ARRAYS = "static.safetensors"
_LANGUAGE_MODEL = {
    "words": PACKED,
    "log_prob": Array("f", ("words",), infinite=True),
    "back_off": Array("f", ("words",), infinite=True),
    "pairs": Array("i", ("any pairs",), low=0, high=2**62),
    "pair_log_prob": Array("f", ("any pairs",), infinite=True),
}


@dataclass(frozen=True, kw_only=True)
class Static(Evaluator):
    """4 * sigmoid(MLP(static word vectors of context and reply, counts of words)) + 1, trained on scores.

    The scores are those of a larger evaluator, or ratings. Dialogues, if given, teach which words follow which,
    and which reply answers which turn.
    """

    name: ClassVar[str] = "static"
    measures: ClassVar[str] = "how well a reply fits its context, by word vectors and counts: very fast"
    citation: ClassVar[str] = "this package; word weights after Arora et al. 2017"
    needs: ClassVar[frozenset[str]] = frozenset({"context"})
    cannot_score: ClassVar[str] = f"no context, or {OVERFLOW}"
    raw_range: ClassVar[tuple[float, float]] = (LOWEST, HIGHEST)
    is_slow: ClassVar[bool] = False
    labels: ClassVar[Use] = "needed"
    trains_in_steps: ClassVar[bool] = True

    vectors: str = SHIPPED_VECTORS
    """The word vectors to start from: the bundled ones, or a word2vec, GloVe or fastText file. Its words are the
    vocabulary."""
    hidden: int = 64
    """Hidden units of the MLP."""
    passes: int = 3
    """Epochs over the dialogues, in which word vectors learn which reply answers which turn."""
    epochs: int = 12
    """Epochs over the scored replies."""
    prune: float = 1e-6
    """Word pairs are dropped from the language model if that makes it worse by less than this share; 0: none."""
    dimension: str | None = None
    """The dimension of the scores to learn; may be omitted if there is only one, or one called overall."""
    scale: tuple[float, float] | None = None
    """The lowest and highest possible score; by default, the lowest and highest given."""

    known_: NgramModel = field(init=False, repr=False, compare=False)
    network_: StaticNetwork = field(init=False, repr=False, compare=False)

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_least(self, {"hidden": 1, "passes": 0, "epochs": 1})
        if not 0 <= self.prune < 1:
            raise CallError(f"{self.name}: prune must be from 0 to below 1, not {self.prune}")
        check_scale(self, self.scale)

    def learn(self, data: TrainingData) -> Mapping[str, Any]:
        """The language model and the network."""
        require_extra("train", "training a static evaluator")
        from rejoinder.evaluators.static.training import learned_static

        known, network = learned_static(self, data)
        return {"known_": known, "network_": network}

    def predict(self, batch: Batch) -> Scores:
        """One score per example, from 1 to 5."""
        rows = [row for row, example in enumerate(batch.examples) if not batch.blank[row] and example.context]
        scores = np.full(len(batch), LOWEST)
        if rows:
            reading = WordIds.of([batch.examples[row] for row in rows], self.known_)
            scores[rows] = self.network_.score(reading, count_columns(reading, self.known_))
        return scores

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write words, network and language model into one file."""
        single, pairs = self.known_.levels
        arrays: dict[str, NDArray[Any]] = {"words": packed_words(self.known_.words), **self.network_.arrays}
        arrays |= {"log_prob": single.log_prob.astype(np.float16), "back_off": single.back_off.astype(np.float16)}
        # The square of a vocabulary of up to 65,535 words fits into four bytes.
        keys = pairs.keys.astype(np.uint32) if len(single) < 1 << 16 else pairs.keys
        arrays |= {"pairs": keys, "pair_log_prob": pairs.log_prob.astype(np.float16)}
        write_arrays(folder / ARRAYS, arrays)
        return {}

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG002 - all are arrays
        """The content of the file."""
        path = folder / ARRAYS
        arrays = read_arrays(path, {**SAVED, **_LANGUAGE_MODEL}, counts=len(COUNTS))
        network = StaticNetwork(**{each.name: arrays[each.name] for each in fields(StaticNetwork)})
        network.check(str(path))
        single, back_off, pair = (arrays[name].astype(np.float64) for name in ("log_prob", "back_off", "pair_log_prob"))
        levels = (
            NgramLevel(np.arange(len(single)), single, back_off),
            NgramLevel(arrays["pairs"].astype(np.int64), pair, np.zeros(len(pair))),
        )
        words = unpacked_words(arrays["words"], path, len(single))
        return {"known_": checked_model(words, levels, str(path)), "network_": network}


# The network in numpy, which scores: mean word vectors of reply and context, their products, and a small MLP.
#
# r, l, e   weighted means of the word vectors of the reply, the last turn, and the turns before it; unit length
# m         r times a matrix, the bridge, which maps replies to the turns they answer; unit length
# score  =  4 * sigmoid(MLP([r; l; m * l; m * e; r * l; cosines; counts])) + 1


PRODUCTS = 5
"""The number of vectors among the MLP's inputs: r, l, m * l, m * e, r * l."""
COSINES = 5
"""The number of scalars: the sums of the three products, the length of the reply's mean vector, and its cosine with the
mean reply of the training data."""
TINY = 1e-6
SAVED = {
    "table": Array("i", ("words", "dims")),
    "steps": Array("f", ("words",)),
    "weights": Array("f", ("words",), high=80),
    "bridge": Array("f", ("dims", "dims")),
    "centre": Array("f", ("dims",)),
    "shift": Array("f", ("counts",)),
    "scale": Array("f", ("counts",), low=TINY),
    "hidden": Array("f", ("inputs", "units")),
    "hidden_bias": Array("f", ("units",)),
    "out": Array("f", ("units", 1)),
    "out_bias": Array("f", (1,)),
}
"""The arrays of a network in a file. Above e^80 a word's weight would overflow."""
_ROWS = 256  # per matrix product: always the same, so that a row's result does not depend on the other rows


@dataclass(frozen=True, eq=False)
class StaticNetwork:
    """The learned arrays: int8 for word vectors, half precision for the other numbers per word."""

    table: NDArray[np.int8]  # (words, dims)
    steps: NDArray[np.float16]  # (words,): the scale of a word's int8 vector
    weights: NDArray[np.float16]  # (words,): logarithm of a word's weight in a mean
    bridge: Vectors  # (dims, dims)
    centre: Vectors  # (dims,): the mean reply of the training data
    shift: Vectors  # (counts,)
    scale: Vectors  # (counts,): counts are shifted, then divided by it
    hidden: Vectors  # (inputs, units)
    hidden_bias: Vectors  # (units,)
    out: Vectors  # (units, 1)
    out_bias: Vectors  # (1,)

    @classmethod
    def of_table(cls, vectors: Vectors, weights: Vectors, rest: Mapping[str, Vectors]) -> StaticNetwork:
        """The network with its word vectors rounded to int8."""
        steps = (np.abs(vectors).max(axis=1, initial=TINY) / 127).astype(np.float16)
        divisor = np.maximum(steps.astype(np.float32), TINY)[:, None]
        table = np.clip(np.rint(vectors / divisor), -127, 127).astype(np.int8)
        return cls(table=table, steps=steps, weights=weights.astype(np.float16), **rest)

    def check(self, file: str) -> None:
        """DataError, which names the file, unless the MLP has the inputs that these word vectors give."""
        inputs = PRODUCTS * self.table.shape[1] + COSINES + len(self.shift)
        if len(self.hidden) != inputs:
            raise DataError(f"takes {len(self.hidden)} inputs: expected {inputs}", file=file, field="hidden")

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Its arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def _summands(self) -> Vectors:
        """Each word's vector and a 1, both times the word's weight. (words, dims + 1)"""
        vectors = self.table * self.steps.astype(np.float32)[:, None]
        weights = np.exp(self.weights.astype(np.float32))[:, None]
        return np.concatenate([vectors * weights, weights], axis=1)

    def score(self, reading: WordIds, counts: Vectors) -> Scores:
        """One score per example, from 1 to 5."""
        inputs = self._inputs(reading, counts)
        units = np.maximum(_product(inputs, self.hidden) + self.hidden_bias, 0)
        logits = _product(units, self.out)[:, 0] + self.out_bias[0]
        scores: Scores = LOWEST + (HIGHEST - LOWEST) * expit(logits.astype(np.float64))
        return scores

    def _inputs(self, reading: WordIds, counts: Vectors) -> Vectors:
        """The MLP's inputs. (examples, inputs)"""
        ones = np.ones(len(reading.words), np.float32)
        bag = csr_array((ones, reading.words, reading.offsets), shape=(STRETCHES * len(reading), len(self.table)))
        sums = (bag @ self._summands).reshape(len(reading), STRETCHES, -1)
        reply, last, before = (
            _mean(total) for total in (sums[:, REPLY], sums[:, LAST], sums[:, BEFORE] + sums[:, OWN])
        )
        r, to_last, to_before = _unit(reply), _unit(last), _unit(before)
        m = _unit(_product(r, self.bridge))
        products = (m * to_last, m * to_before, r * to_last)
        numbers = [product.sum(axis=1) for product in products]
        numbers += [np.linalg.norm(reply, axis=1), np.einsum("ij,j->i", r, self.centre)]
        scaled = (counts - self.shift) / self.scale
        return np.concatenate([r, to_last, *products, np.stack(numbers, axis=1), scaled], axis=1)


def _mean(sums: Vectors) -> Vectors:
    """Sums divided by their weight, which is the last column; zeros without words."""
    return (sums[:, :-1] / np.maximum(sums[:, -1:], TINY)).astype(np.float32, copy=False)


def _unit(vectors: Vectors) -> Vectors:
    unit: Vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), TINY)
    return unit


def _product(rows: Vectors, matrix: Vectors) -> Vectors:
    """rows @ matrix, in products of one fixed shape: libraries sum in a different order for a different shape."""
    whole = -(-len(rows) // _ROWS) * _ROWS
    filled = np.zeros((whole, rows.shape[1]), np.float32)
    filled[: len(rows)] = rows
    product = filled.reshape(-1, _ROWS, rows.shape[1]) @ matrix
    return product.reshape(whole, -1)[: len(rows)]

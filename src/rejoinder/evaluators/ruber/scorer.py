"""A trained network of s_U with the reader of its texts: scores pairs, and is saved in a folder.

A score does not depend on which other pairs are scored with it: texts of one length are read together, always the same
number of rows at a time, because libraries sum in another order for another shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rejoinder.arrays import Ragged, Vectors
from rejoinder.data.pairs import Pair
from rejoinder.encoders.text_encoder import TextEncoder
from rejoinder.errors import DataError
from rejoinder.evaluators.ruber.inputs import (
    FIRST_WORD,
    IdInput,
    PairInput,
    PairTable,
    TokenReader,
    VectorInput,
    WordReader,
)
from rejoinder.evaluators.ruber.network import PairNetwork, PairShape
from rejoinder.evaluators.ruber.words import TOKENISER_NAMES, require_tokeniser
from rejoinder.learning.saving import read_texts, write_texts
from rejoinder.learning.weights import loaded_network, save_weights
from rejoinder.loading.schema import check_range, member, record
from rejoinder.metrics.batch import TextOptions
from rejoinder.model_folder import CONFIG
from rejoinder.text.cleaning import parse_strip
from rejoinder.text.vocabulary import Vocabulary
from rejoinder.types import Scores

NETWORK, WORDS = "network.safetensors", "words.safetensors"
_ROWS = 64
_MOST_LAYERS = 64

Reader = WordReader | TokenReader | TextEncoder


@dataclass(frozen=True, eq=False)
class PairScorer:
    """s_U of pairs."""

    network: PairNetwork
    reader: Reader
    turns: int
    """The number of a context's last turns that are read."""

    def input(self, pairs: Sequence[Pair], *, quiet: bool) -> PairInput:
        """The pairs in the form that the network is trained on: as ids, or as vectors of an encoder that is frozen."""
        table = self._table(pairs)
        if isinstance(self.reader, TextEncoder):
            return PairInput(table, VectorInput(self.reader.encode(table.texts, quiet=quiet)))
        return PairInput(table, IdInput(self.reader.rows(table.texts)))

    def score(self, pairs: Sequence[Pair]) -> Scores:
        """One score per pair, from 0 to 1."""
        if not pairs:
            return np.empty(0)
        table = self._table(pairs)
        with torch.inference_mode():
            texts = self._vectors(table.texts)
            contexts = self._contexts(table, texts)
            return _in_parts(
                lambda left, right: self.network.scores(left, right[:, None])[:, 0], contexts, texts[table.replies]
            ).astype(np.float64)

    def _table(self, pairs: Sequence[Pair]) -> PairTable:
        return PairTable.of(pairs, self.turns, hierarchical=self.network.shape.hierarchical)

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        """One vector per text. (texts, width)"""
        if isinstance(self.reader, TextEncoder):
            return self.reader.encode(texts)
        rows = self.reader.rows(texts)
        vectors = np.empty((len(rows), self.network.shape.text_width), np.float32)
        for chosen, words in _by_length(rows):
            vectors[chosen] = _in_parts(
                lambda part: self.network.texts(part, torch.full((len(part),), part.shape[1])), words
            )
        return vectors

    def _contexts(self, table: PairTable, texts: Vectors) -> Vectors:
        """One vector per context. (pairs, width)"""
        vectors = np.empty((len(table), self.network.shape.context_width), np.float32)
        for chosen, turns in _by_length(table.turns):
            _, own, _ = table.padded(chosen)
            vectors[chosen] = _in_parts(
                lambda part, speakers: self.network.contexts(part, speakers, torch.full((len(part),), part.shape[1])),
                texts[turns],
                own,
            )
        return vectors

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the weights, and the words, tokens or encoder; return the other values that `load` needs."""
        save_weights(self.network, folder / NETWORK)
        plain: dict[str, Any] = {"shape": self.network.shape.plain, "turns": self.turns}
        plain |= {"reads": _KINDS[type(self.reader)], "max_length": self.reader.max_length}
        if isinstance(self.reader, WordReader):
            write_texts(folder / WORDS, self.reader.words)
            plain["text"] = asdict(self.reader.text)
        elif isinstance(self.reader, TokenReader):
            self.reader.vocabulary.save(folder)
        else:
            self.reader.save(folder)
        return plain

    @classmethod
    def load(cls, folder: Path, plain: Mapping[str, Any]) -> PairScorer:
        """What `save` wrote and returned."""
        file = str(folder / CONFIG)
        shape = record(PairShape, plain.get("shape"), file, "learned.shape")
        check_range(shape.layers, 1, _MOST_LAYERS, file, "learned.shape.layers")
        turns = member(plain, "turns", int, file)
        check_range(turns, 1, math.inf, file, "learned.turns")
        network = loaded_network(lambda: PairNetwork(shape), folder / NETWORK)
        reader = _reader(folder, plain, file)
        if _width(reader) != (shape.words or shape.dims):
            raise DataError("does not fit the words or the encoder of the folder", file=file, field="learned.shape")
        return cls(network, reader, turns)


_KINDS = {WordReader: "words", TokenReader: "pieces", TextEncoder: "vectors"}
"""The kind of reader, in config.json."""


def _reader(folder: Path, plain: Mapping[str, Any], file: str) -> Reader:
    reads, max_length = member(plain, "reads", str, file), member(plain, "max_length", int, file)
    check_range(max_length, 1, math.inf, file, "learned.max_length")
    if reads not in _KINDS.values():
        raise DataError(f"must be one of {', '.join(_KINDS.values())}", file=file, field="learned.reads")
    if reads == "words":
        text = record(TextOptions, plain.get("text"), file, "learned.text")
        if text.tokenise not in TOKENISER_NAMES:
            raise DataError(f"must be one of {', '.join(TOKENISER_NAMES)}", file=file, field="learned.text.tokenise")
        require_tokeniser(text.tokenise)
        parse_strip(text.strip)
        return WordReader(read_texts(folder / WORDS), text, max_length)
    if reads == "pieces":
        return TokenReader(Vocabulary.load(folder), max_length)
    return TextEncoder.load(folder, max_length)


def _width(reader: Reader) -> int:
    """Rows of the table of embeddings that a reader's ids need, or the size of its vectors."""
    if isinstance(reader, TextEncoder):
        return reader.width
    return len(reader.words) + FIRST_WORD if isinstance(reader, WordReader) else len(reader.vocabulary)


def _by_length(rows: Ragged) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """For each length the rows of that length, and their values. (rows,), (rows, length)"""
    found = []
    for length in np.unique(rows.lengths).tolist():
        chosen = np.flatnonzero(rows.lengths == length)
        found.append((chosen, rows.values[rows.offsets[chosen][:, None] + np.arange(length)]))
    return found


def _in_parts(compute: Callable[..., Tensor], *arrays: NDArray[Any]) -> NDArray[np.float32]:
    """The result of `compute`, `_ROWS` rows at a time; the last part is padded with zeros."""
    count = len(arrays[0])
    filled = []
    for array in arrays:
        whole = np.zeros((-(-count // _ROWS) * _ROWS, *array.shape[1:]), array.dtype)
        whole[:count] = array
        filled.append(torch.from_numpy(whole))
    parts = [compute(*part) for part in zip(*(torch.split(rows, _ROWS) for rows in filled), strict=True)]
    return torch.cat(parts).numpy()[:count]

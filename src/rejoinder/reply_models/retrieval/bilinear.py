"""Retrieval by p = sigmoid(c^T M r + b) with any encoder of contexts and replies: shared by both dual encoders."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rejoinder.arrays import Ints, Vectors
from rejoinder.learning.saving import read_arrays, write_arrays
from rejoinder.loading.array_schema import Array
from rejoinder.loading.schema import member
from rejoinder.model_folder import CONFIG
from rejoinder.reply_models.base import Context
from rejoinder.reply_models.retrieval.base import Corpus, Retrieval
from rejoinder.reply_models.retrieval.nearest import ExactIndex, GraphIndex, Index
from rejoinder.types import Scores

BILINEAR = "bilinear.safetensors"
GRAPH = "graph.safetensors"


@dataclasses.dataclass(frozen=True, kw_only=True)
class BilinearRetrieval(Retrieval):
    """Copies the reply r with the highest p = sigmoid(c^T M r + b)."""

    has_encoder: ClassVar[bool] = True
    extra: ClassVar[str] = "train"
    trains_in_steps: ClassVar[bool] = True

    matrix_: Vectors = dataclasses.field(init=False, repr=False, compare=False)
    """M. (width, width)"""
    bias_: float = dataclasses.field(init=False, repr=False, compare=False)
    vectors_: Vectors = dataclasses.field(init=False, repr=False, compare=False)
    """One per row of the corpus. (rows, width)"""
    index_: Index = dataclasses.field(init=False, repr=False, compare=False)

    @abstractmethod
    def encode_replies(self, texts: Sequence[str]) -> Vectors:
        """One vector per reply. (texts, width)"""

    def best_rows(self, contexts: Sequence[Context], left_out: Ints, seeds: Sequence[int]) -> Ints:
        """The row with the highest p; every row has one, so that the seeds are not used."""
        del seeds
        queries = self.encode_contexts(tuple(contexts)) @ self.matrix_
        found = self.index_.search(queries, 2)  # (contexts, 2)
        taken = found[:, 0] == left_out
        best: Ints = np.where(taken, found[:, 1], found[:, 0])
        return best

    def candidate_scores(self, contexts: Sequence[Context], candidates: Sequence[Sequence[str]]) -> list[Scores]:
        """The probability p of each candidate."""
        flat = [text for texts in candidates for text in texts]
        sizes = [len(texts) for texts in candidates]
        queries = np.repeat(self.encode_contexts(tuple(contexts)) @ self.matrix_, sizes, axis=0)
        logits = np.einsum("rw,rw->r", queries, self.encode_replies(flat)).astype(np.float64) + self.bias_
        return np.split(1 / (1 + np.exp(-logits)), np.cumsum(sizes)[:-1])

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write corpus, vectors and M; b is returned for config.json."""
        self.corpus_.save(folder)
        write_arrays(folder / BILINEAR, {"matrix": self.matrix_, "vectors": self.vectors_})
        graph = self.index_.arrays()
        if graph:
            write_arrays(folder / GRAPH, graph)
        return {"bias_": self.bias_}

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """What `save_learned` wrote."""
        corpus = Corpus.load(folder)
        expected = {"matrix": Array("f", ("width", "width")), "vectors": Array("f", ("rows", "width"))}
        arrays = read_arrays(folder / BILINEAR, expected, rows=len(corpus))
        vectors, path = arrays["vectors"], folder / GRAPH
        index: Index = ExactIndex(vectors)
        if path.is_file():
            index = GraphIndex.from_arrays(read_arrays(path, {"graph": Array("u1", ("bytes",))}), vectors, path)
        return {
            "corpus_": corpus,
            "matrix_": arrays["matrix"],
            "bias_": member(plain, "bias_", float, str(folder / CONFIG)),
            "vectors_": vectors,
            "index_": index,
        }

"""The rows of a matrix with the largest dot product with a query: exactly, or with a graph if there are many rows.

The graph is the HNSW index of faiss-cpu (Malkov and Yashunin 2016). Of the two common libraries, faiss-cpu is released
several times a year with wheels for every platform; hnswlib has had no release since 0.8.0 (2023) and has no wheels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ints, Vectors
from rejoinder.errors import DataError
from rejoinder.learning.extras import require_extra
from rejoinder.loading.foreign import faiss_index

EXACT_UP_TO = 300_000
"""Number of rows up to which all are compared: with 384 dimensions about 30 ms per query on one core."""
_BLOCK_CELLS = 1 << 23
_LINKS, _BUILD_BREADTH, _SEARCH_BREADTH = 32, 80, 128
"""HNSW's M, efConstruction and efSearch: links per node, and candidates examined in building and in searching."""


class Index(Protocol):
    """Finds the rows nearest to a query."""

    def search(self, queries: Vectors, k: int) -> Ints:
        """The k rows nearest to each query, best first; -1 where fewer are found. (queries, k)"""

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """The arrays to save in addition to the vectors."""


@dataclass(frozen=True, eq=False)
class ExactIndex:
    """Compares every row."""

    vectors: Vectors  # (rows, width)

    def search(self, queries: Vectors, k: int) -> Ints:
        """The k rows nearest to each query, best first. (queries, k)"""
        wanted = min(k, len(self.vectors))
        found = np.full((len(queries), k), -1, np.int64)
        size = max(1, _BLOCK_CELLS // len(self.vectors))
        for start in range(0, len(queries), size):
            products = queries[start : start + size] @ self.vectors.T
            best = np.argpartition(-products, wanted - 1, axis=1)[:, :wanted]
            order = np.argsort(-np.take_along_axis(products, best, 1), axis=1, kind="stable")
            found[start : start + size, :wanted] = np.take_along_axis(best, order, 1)
        return found

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """Nothing."""
        return {}


@dataclass(frozen=True, eq=False)
class GraphIndex:
    """Walks a graph of neighbouring rows; approximate: it sometimes misses the nearest row."""

    graph: Any

    @classmethod
    def of(cls, vectors: Vectors) -> GraphIndex:
        """Build the graph over the rows."""
        faiss = _faiss()
        graph = faiss.IndexHNSWFlat(vectors.shape[1], _LINKS, faiss.METRIC_INNER_PRODUCT)
        graph.hnsw.efConstruction = _BUILD_BREADTH
        graph.add(np.ascontiguousarray(vectors, np.float32))
        return cls(graph)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], vectors: Vectors, file: Path) -> GraphIndex:
        """The index from the arrays that `arrays` returned, which were read from a file, over these vectors."""
        _faiss()
        graph = faiss_index(arrays["graph"], str(file))
        if (graph.ntotal, graph.d) != vectors.shape or not hasattr(graph, "hnsw"):
            raise DataError(f"is not a graph over {len(vectors)} vectors", file=str(file), field="graph")
        return cls(graph)

    def search(self, queries: Vectors, k: int) -> Ints:
        """The k rows nearest to each query, best first; -1 where fewer are found. (queries, k)"""
        self.graph.hnsw.efSearch = max(_SEARCH_BREADTH, k)
        _, found = self.graph.search(np.ascontiguousarray(queries, np.float32), k)
        rows: Ints = found.astype(np.int64)
        return rows

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """The graph as bytes, which include the vectors."""
        return {"graph": _faiss().serialize_index(self.graph)}


def index_of(vectors: Vectors, exact_up_to: int = EXACT_UP_TO) -> Index:
    """An exact index, or a graph if there are more rows than `exact_up_to`."""
    return ExactIndex(vectors) if len(vectors) <= exact_up_to else GraphIndex.of(vectors)


def _faiss() -> Any:
    require_extra("retrieval", "nearest-neighbour search among many replies")
    import faiss

    return faiss

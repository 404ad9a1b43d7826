"""Models that copy a reply of their corpus: what they share, bags of words, nearest neighbours."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags_array

from rejoinder.arrays import Ints, Ragged, Vectors
from rejoinder.data.negatives import Place, places_of
from rejoinder.errors import DataError, NeedsError
from rejoinder.folders.array_schema import Array
from rejoinder.folders.foreign import faiss_graph
from rejoinder.folders.saved import read_arrays, read_texts, write_arrays, write_texts
from rejoinder.folders.sources import require_extra
from rejoinder.metrics.batch import TextOptions, encode
from rejoinder.replies.base import Context, ReplyModel, ReplyRequest
from rejoinder.text.tokens import writable
from rejoinder.types import Dialogue, Scores

# Models that copy a reply of their corpus, and how one occurrence of the true reply is ignored.
#
# Liu et al. 2016 (section 3) remove one occurrence of the true reply from the corpus before retrieving the best of the
# rest. The same text may still be found where it answered another context.


REPLIES = "replies.safetensors"
ROWS = "rows.safetensors"
_ROWS = {"occurrences": Array("i", ("rows",), low=0), "context_hashes": Array("i", ("any hashes",), low=0)}


@dataclasses.dataclass(frozen=True, eq=False)
class Corpus:
    """The replies that may be copied. A row is compared with contexts: it is a reply, or a context with its reply."""

    replies: tuple[str, ...]
    """The different ones."""
    reply_of_row: Ints  # (rows,)
    occurrences: Ints
    """How often each row occurs in the dialogues. (rows,)"""
    context_hashes: NDArray[np.uint64]
    """The context that each row answers; empty if rows are replies. (rows,) or (0,)"""

    @classmethod
    def of_replies(cls, places: Sequence[Place]) -> Corpus:
        """One row per different reply."""
        counted: dict[str, int] = {}
        for place in places:
            counted[place.response] = counted.get(place.response, 0) + 1
        counts = np.fromiter(counted.values(), np.int64, len(counted))
        return cls(tuple(counted), np.arange(len(counted)), counts, np.empty(0, np.uint64))

    @classmethod
    def of_contexts(cls, places: Sequence[Place]) -> Corpus:
        """One row per place, compared by its context."""
        numbers: dict[str, int] = {}
        owner = [numbers.setdefault(place.response, len(numbers)) for place in places]
        hashes = np.fromiter((context_hash(place.context) for place in places), np.uint64, len(places))
        return cls(tuple(numbers), np.array(owner, np.int64), np.ones(len(places), np.int64), hashes)

    @classmethod
    def load(cls, folder: Path) -> Corpus:
        """What `save` wrote into the folder."""
        replies, path = read_texts(folder / REPLIES), folder / ROWS
        if len(set(replies)) != len(replies) or not replies:
            raise DataError("must hold different replies", file=str(folder / REPLIES))
        arrays = read_arrays(path, {**_ROWS, "reply_of_row": Array("i", ("rows",), low=0, high=len(replies) - 1)})
        hashes = arrays["context_hashes"]
        if len(hashes) not in {0, len(arrays["reply_of_row"])}:
            raise DataError("must be one per row, or none", file=str(path), field="context_hashes")
        if len(np.unique(arrays["reply_of_row"])) != len(replies):
            raise DataError("must name every reply", file=str(path), field="reply_of_row")
        integers = {name: arrays[name].astype(np.int64) for name in ("reply_of_row", "occurrences")}
        return cls(replies, **integers, context_hashes=hashes.astype(np.uint64))

    def save(self, folder: Path) -> None:
        """Write the corpus into a folder."""
        write_texts(folder / REPLIES, self.replies)
        arrays = {name: getattr(self, name) for name in ("reply_of_row", "occurrences", "context_hashes")}
        write_arrays(folder / ROWS, arrays)

    def __len__(self) -> int:
        return len(self.reply_of_row)

    def left_out(self, request: ReplyRequest) -> Ints:
        """The row that each context must not be answered with; -1 for none. (contexts,)"""
        if request.true_replies is None:
            return np.full(len(request.contexts), -1)
        pairs = zip(request.contexts, request.true_replies, strict=True)
        return np.array([self._left_out(context, truth) for context, truth in pairs], np.int64)

    def text(self, row: int) -> str:
        """The reply of a row."""
        return self.replies[int(self.reply_of_row[row])]

    def _left_out(self, context: Context, truth: str) -> int:
        rows = self._rows_of_reply.get(truth)
        if rows is None:
            return -1
        if not len(self.context_hashes):  # one row stands for all occurrences
            return int(rows[0]) if self.occurrences[rows[0]] == 1 else -1
        own = rows[self.context_hashes[rows] == np.uint64(context_hash(context))]
        return int(own[0] if len(own) else rows[0])

    @cached_property
    def _rows_of_reply(self) -> Mapping[str, Ints]:
        order = np.argsort(self.reply_of_row, kind="stable")
        cuts = np.searchsorted(self.reply_of_row[order], np.arange(1, len(self.replies)))
        return dict(zip(self.replies, np.split(order, cuts), strict=True))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Retrieval(ReplyModel):
    """Copies the reply of the row nearest to the context."""

    corpus_: Corpus = dataclasses.field(init=False, repr=False, compare=False)

    @abstractmethod
    def best_rows(self, contexts: Sequence[Context], left_out: Ints, seeds: Sequence[int]) -> Ints:
        """The row nearest to each context, except the one left out; the seed decides where no row is near."""

    @abstractmethod
    def candidate_scores(self, contexts: Sequence[Context], candidates: Sequence[Sequence[str]]) -> list[Scores]:
        """How well each candidate answers its context; higher is better. One array per context."""

    def answer(self, request: ReplyRequest) -> list[str]:
        """The reply of the nearest row."""
        rows = self.best_rows(request.contexts, self.corpus_.left_out(request), request.seeds)
        return [self.corpus_.text(row) for row in rows.tolist()]


def places_to_learn(name: str, dialogues: Iterable[Dialogue]) -> list[Place]:
    """Every reply of the dialogues; NeedsError if there are fewer than two, because one may be left out."""
    places = places_of(dialogues)
    if len(places) < 2:
        raise NeedsError(f"{name} copies replies: expected dialogues with at least two replies, found {len(places)}")
    return places


def context_hash(context: Context) -> int:
    """A hash of a context's exact text."""
    text = "\n".join(context).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest())


def context_text(context: Context, turns: int | None) -> str:
    """The last turns of a context as one text; all of them if `turns` is None."""
    return "\n".join(context if turns is None else context[-turns:])


# Texts as bags of words: a vocabulary, and sparse rows of word counts.


WORDS = "words.safetensors"
_OPTIONS = TextOptions()


@dataclass(frozen=True, eq=False)
class WordNumbers:
    """The known words; a word's number is its position."""

    words: tuple[str, ...]

    @classmethod
    def of(cls, texts: Sequence[str]) -> WordNumbers:
        """Every word of the texts, in alphabetical order."""
        found, _ = _coded(texts)
        if not len(found):
            raise NeedsError("the dialogues contain no words: expected text to learn from")
        return cls(tuple(sorted(found)))

    @classmethod
    def load(cls, folder: Path) -> WordNumbers:
        """What `save` wrote into the folder."""
        words = read_texts(folder / WORDS)
        if len(set(words)) != len(words) or not words:
            raise DataError("must hold different words", file=str(folder / WORDS))
        return cls(words)

    def save(self, folder: Path) -> None:
        """Write the words into a folder."""
        write_texts(folder / WORDS, self.words)

    def __len__(self) -> int:
        return len(self.words)

    def counts(self, texts: Sequence[str]) -> Any:
        """How often each known word occurs in each text, as a sparse matrix. (texts, words)"""
        found, rows = _coded(texts)
        number = np.fromiter((self._numbers.get(word, -1) for word in found), np.int64, len(found))
        columns, owners = number[rows.values], rows.row_of_value
        known = columns >= 0
        cells = (np.ones(int(known.sum()), np.float32), (owners[known], columns[known]))
        counted = csr_matrix(cells, shape=(len(texts), len(self)), dtype=np.float32)
        counted.sum_duplicates()
        return counted

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        return {word: number for number, word in enumerate(self.words)}


def tfidf_rows(counts: Any, weights: NDArray[np.floating]) -> Any:
    """TF-IDF vectors of length 1, from word counts and the weight of each word; sparse. (texts, words)"""
    return of_length_one(times_columns(counts, weights))


def times_columns(matrix: Any, weights: NDArray[np.floating]) -> Any:
    """The sparse matrix with each column multiplied by its weight."""
    return csr_matrix(matrix @ diags_array(weights.astype(np.float32)))


def of_length_one(matrix: Any) -> Any:
    """The sparse matrix with its rows scaled to length 1; an empty row stays empty."""
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1), np.float64)).ravel()
    return csr_matrix(diags_array((1 / np.where(lengths > 0, lengths, 1)).astype(np.float32)) @ matrix)


def document_frequencies(counts: Any) -> NDArray[np.float64]:
    """In how many rows each column is non-zero. (words,)"""
    return np.bincount(counts.indices, minlength=counts.shape[1]).astype(np.float64)


def plain_arrays(matrix: Any) -> dict[str, NDArray[Any]]:
    """The arrays that a sparse matrix consists of, to be saved."""
    return {
        "values": matrix.data.astype(np.float32),
        "columns": matrix.indices.astype(np.int32),
        "offsets": matrix.indptr.astype(np.int64),
    }


def saved_matrix(columns: int) -> dict[str, Array]:
    """The arrays of a sparse matrix in a file."""
    return {
        "values": Array("f", ("any cells",)),
        "columns": Array("i", ("any cells",), low=0, high=columns - 1),
        "offsets": Array("i", ("offsets",), low=0),
    }


def matrix_of(arrays: Mapping[str, NDArray[Any]], columns: int, file: Path) -> Any:
    """The sparse matrix from the arrays that `plain_arrays` returned, which were read from a file."""
    offsets = arrays["offsets"].astype(np.int64)
    if offsets[0] != 0 or offsets[-1] != len(arrays["values"]) or (np.diff(offsets) < 0).any():
        raise DataError("does not divide the cells into rows", file=str(file), field="offsets")
    return csr_matrix((arrays["values"], arrays["columns"], offsets), shape=(len(offsets) - 1, columns))


def _coded(texts: Sequence[str]) -> tuple[pl.Series, Ragged]:
    return encode(pl.Series(list(map(writable, texts)), dtype=pl.String), _OPTIONS)


# The rows of a matrix with the largest dot product with a query: exactly, or with a graph if there are many rows.
#
# The graph is the HNSW index of faiss-cpu (Malkov and Yashunin 2016). Of the two common libraries, faiss-cpu is
# released several times a year with wheels for every platform; hnswlib has had no release since 0.8.0 (2023) and has
# no wheels.


EXACT_UP_TO = 300_000
"""Number of rows up to which all are compared: with 384 dimensions about 30 ms per query on one core."""
_BLOCK_CELLS = 1 << 23
_LINKS, _BUILD_BREADTH, _SEARCH_BREADTH = 32, 80, 128
"""HNSW's M, efConstruction and efSearch: links per node, and candidates examined in building and in searching."""


class RowIndex(Protocol):
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
        return cls(faiss_graph(arrays["graph"], vectors, str(file)))

    def search(self, queries: Vectors, k: int) -> Ints:
        """The k rows nearest to each query, best first; -1 where fewer are found. (queries, k)"""
        self.graph.hnsw.efSearch = max(_SEARCH_BREADTH, k)
        _, found = self.graph.search(np.ascontiguousarray(queries, np.float32), k)
        rows: Ints = found.astype(np.int64)
        return rows

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """The graph as bytes, which include the vectors."""
        return {"graph": _faiss().serialize_index(self.graph)}


def index_of(vectors: Vectors, exact_up_to: int = EXACT_UP_TO) -> RowIndex:
    """An exact index, or a graph if there are more rows than `exact_up_to`."""
    return ExactIndex(vectors) if len(vectors) <= exact_up_to else GraphIndex.of(vectors)


def _faiss() -> Any:
    require_extra("retrieval", "nearest-neighbour search among many replies")
    import faiss

    return faiss

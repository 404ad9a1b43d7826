"""ROUGE-L, chrF and length: what overlaps with the reference, and how long a reply is."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rejoinder.arrays import Ints, Ragged, offsets_of
from rejoinder.errors import CallError, shortened
from rejoinder.metrics.base import Metric, State, TextMetric, best_reference, check_choice, check_weight, settle_empty
from rejoinder.metrics.batch import Batch, BatchTokens
from rejoinder.metrics.ngrams import ngram_overlap
from rejoinder.text.tokens import WHITE_SPACE
from rejoinder.types import Scores

# ROUGE-L: F-measure of the longest common subsequence (Lin 2004).


_SURROGATES = 0xD800, 0x800  # first and number of the code points that cannot be decoded into a string
_CHARACTERS = 0x110000 - 0x800  # the number of all others


@dataclass(frozen=True, kw_only=True)
class RougeL(TextMetric):
    """ROUGE-L of a reply against its references.

    `beta` weights recall: 1.2 in coco-caption, 1 for F1. `refs=best` combines the best precision and the best recall
    over all references, as coco-caption does; `max` takes the best F-measure, as rouge-score does; `mean` their mean.
    """

    name: ClassVar[str] = "rouge-l"
    measures: ClassVar[str] = "longest common subsequence with the references, as an F-measure"
    citation: ClassVar[str] = "Lin 2004"
    needs: ClassVar[frozenset[str]] = frozenset({"references"})
    cannot_score: ClassVar[str] = "no references, or no token to compare"

    beta: float = 1.2
    refs: str = "best"

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_choice(self, "refs", ("best", "max", "mean"))
        check_weight(self, "beta")

    def score_batch(self, batch: Batch) -> Scores:
        """(1 + beta^2) P R / (R + beta^2 P)."""
        tokens = batch.tokens(self.text)
        common = batch.keep(("common subsequence", self.text), lambda: common_subsequence(tokens, batch))
        lengths = tokens.responses.lengths[batch.owner]
        precision = np.divide(common, lengths, out=np.zeros(len(common)), where=lengths > 0)
        lengths = tokens.references.lengths
        recall = np.divide(common, lengths, out=np.zeros(len(common)), where=lengths > 0)
        if self.refs == "best":
            scores = self._f_measure(best_reference(precision, batch, "max"), best_reference(recall, batch, "max"))
        else:
            scores = best_reference(self._f_measure(precision, recall), batch, self.refs)
        return settle_empty(scores, batch, tokens)

    def _f_measure(self, precision: Scores, recall: Scores) -> Scores:
        weight = self.beta**2
        below = recall + weight * precision
        above = (1 + weight) * precision * recall
        # F is 0 if both are 0, and stays NaN if both are NaN (no reference).
        return np.divide(above, below, out=above.copy(), where=below > 0)


def common_subsequence(tokens: BatchTokens, batch: Batch) -> Scores:
    """Length of the longest common subsequence of each reference with its reply. (references,)"""
    # With more distinct tokens than characters, the codes themselves are compared, which is slower.
    comparable = as_strings if len(tokens.vocabulary) <= _CHARACTERS else _as_arrays
    replies = comparable(tokens.responses)
    own = replies if (batch.reference_counts == 1).all() else [replies[row] for row in batch.owner.tolist()]
    from rapidfuzz.distance import LCSseq
    from rapidfuzz.process import cpdist

    return cpdist(own, comparable(tokens.references), scorer=LCSseq.similarity, dtype=np.int32).astype(np.float64)


def as_strings(rows: Ragged) -> list[str]:
    """Each row as a string with one character per token, the form that rapidfuzz compares fastest."""
    first, count = _SURROGATES
    codes = np.where(rows.values >= first, rows.values + count, rows.values)
    text = codes.astype("<u4").tobytes().decode("utf-32-le")
    ends = rows.offsets.tolist()
    return [text[start:end] for start, end in pairwise(ends)]


def _as_arrays(rows: Ragged) -> list[array[int]]:
    return [array("q", row.tobytes()) for row in rows]


# Length: the number of tokens, the simplest metric and a baseline for every other.


@dataclass(frozen=True, kw_only=True)
class Length(TextMetric):
    """Number of tokens in the reply."""

    name: ClassVar[str] = "length"
    measures: ClassVar[str] = "number of tokens in the reply; neither good nor bad in itself"
    citation: ClassVar[str] = "-"
    range: ClassVar[tuple[float, float]] = (0.0, float("inf"))

    def score_batch(self, batch: Batch) -> Scores:
        """One count per reply."""
        return batch.tokens(self.text).responses.lengths.astype(np.float64)


# chrF: F-measure of character n-grams (Popović 2015).
#
# Short texts are compared in tables of equal characters, as `ngrams` does with words. For long texts the n-grams are
# packed into integers, pair | n-gram | side, and sorted, so that equal n-grams of a pair are adjacent.


_LONGEST_IN_TABLE = 200  # characters; above this, sorting is faster
_CHUNK = 4096  # pairs that are sorted together
_PAIR_BITS = 12
_NGRAM_BITS = 64 - _PAIR_BITS - 1  # bits left for an n-gram, besides the pair and the side

_VISIBLE = np.ones(max(map(ord, WHITE_SPACE)) + 2, np.bool_)  # by code point; the last entry covers all higher ones
_VISIBLE[list(map(ord, WHITE_SPACE))] = False


@dataclass(frozen=True, kw_only=True)
class ChrF(Metric):
    """chrF of a reply against its references, as sacreBLEU computes it, from 0 to 1.

    Orders that a text is too short for are left out, so that an identical short reply scores 1.
    """

    name: ClassVar[str] = "chrf"
    measures: ClassVar[str] = "character n-grams shared with the references, as an F-measure"
    citation: ClassVar[str] = "Popović 2015"
    needs: ClassVar[frozenset[str]] = frozenset({"references"})

    n: int = 6
    beta: float = 2.0
    refs: str = "max"
    lowercase: bool = False
    whitespace: bool = False
    """Count white space as characters."""

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_choice(self, "refs", ("max", "mean"))
        if not 1 <= self.n <= 20 or not 0 < self.beta < 1e6:
            found = f"{shortened(self.n)} and {shortened(self.beta)}"
            raise CallError(f"chrf: n must be from 1 to 20 and beta from 0 to 1e6, not {found}")

    def score_batch(self, batch: Batch) -> Scores:
        """Sentence-level chrF."""
        return best_reference(self._pair_scores(batch), batch, self.refs)

    def counter(self) -> ChrFCounter | None:
        """Corpus-level chrF: counts of each reply's best reference are summed; with refs=mean it is the mean score."""
        return ChrFCounter(self) if self.refs == "max" else None

    def _counts(self, batch: Batch) -> Ints:
        """Numbers of n-grams in the reply, in the reference, in both. (3, orders, references)"""
        key = ("chrf", self.n, self.lowercase, self.whitespace)
        return batch.keep(key, lambda: _pair_counts(batch, self.n, self.lowercase, self.whitespace))

    def _pair_scores(self, batch: Batch) -> Scores:
        """One score per reference, which the score of a reply and the corpus-level score are made from."""
        key = ("chrf scores", self.n, self.beta, self.lowercase, self.whitespace)
        return batch.keep(key, lambda: self._f_measure(self._counts(batch)))

    def _f_measure(self, counts: Ints) -> Scores:
        own, theirs, shared = counts.astype(np.float64)
        used = (own > 0) & (theirs > 0)
        orders = np.maximum(used.sum(axis=0), 1)
        precision = np.divide(shared, own, out=np.zeros_like(own), where=used).sum(axis=0) / orders
        recall = np.divide(shared, theirs, out=np.zeros_like(own), where=used).sum(axis=0) / orders
        weight = self.beta**2
        below = weight * precision + recall
        above = (1 + weight) * precision * recall
        score: Scores = np.divide(above, below, out=np.zeros_like(below), where=below > 0)
        return score


@dataclass
class ChrFCounter:
    """Sums the counts for corpus-level chrF."""

    metric: ChrF
    total: Ints = field(init=False)
    added: int = 0

    def __post_init__(self) -> None:
        self.total = np.zeros((3, self.metric.n, 1), np.int64)

    def add(self, batch: Batch, rows: Ints) -> None:
        """Add the given rows of a batch; those without references are left out."""
        counts = self.metric._counts(batch)
        scores = self.metric._pair_scores(batch)
        # In this order the last row of an example is its best reference, the earlier one on a tie.
        order = np.lexsort((-np.arange(len(scores)), scores, batch.owner))
        last = np.append(batch.owner[order][1:] != batch.owner[order][:-1], True)[: len(order)]
        best = order[last]
        best = best[np.isin(batch.owner[best], rows)]
        self.total += counts[:, :, best].sum(axis=2, keepdims=True)
        self.added += len(best)

    def state(self) -> State:
        """All counts."""
        return {"total": self.total, "added": np.array(self.added)}

    def merge(self, state: State) -> None:
        """Add the counts of another part of the corpus."""
        self.total += state["total"]
        self.added += int(state["added"])

    def value(self) -> float:
        """Corpus chrF from 0 to 1; NaN if nothing was added."""
        return float(self.metric._f_measure(self.total)[0]) if self.added else float("nan")


def _pair_counts(batch: Batch, orders: int, lowercase: bool, whitespace: bool) -> Ints:
    characters = _characters(pl.concat([batch.responses, batch.references]), lowercase, whitespace)
    lengths = characters.lengths
    own, theirs = lengths[: len(batch)][batch.owner], lengths[len(batch) :]
    counts = np.zeros((3, orders, len(batch.owner)), np.int64)
    steps = np.arange(orders)[:, None]
    counts[1] = np.maximum(theirs - steps, 0)
    # As sacreBLEU: an order that the reference is too short for does not count against the reply.
    counts[0] = np.where(counts[1] > 0, np.maximum(own - steps, 0), 0)
    longest = np.maximum(own, theirs)
    short, long = np.flatnonzero(longest <= _LONGEST_IN_TABLE), np.flatnonzero(longest > _LONGEST_IN_TABLE)
    replies, references = characters.take(batch.owner[short]), characters.take(len(batch) + short)
    counts[2][:, short] = ngram_overlap(replies, references, np.arange(len(short)), orders).matches
    for start in range(0, len(long), _CHUNK):
        pairs = long[start : start + _CHUNK]
        texts = characters.take(np.concatenate([batch.owner[pairs], len(batch) + pairs]))
        counts[2][:, pairs] = list(_shared(texts, len(pairs), orders))
    return counts


def _characters(texts: pl.Series, lowercase: bool, whitespace: bool) -> Ragged:
    """Texts as code points."""
    if lowercase:
        texts = texts.str.to_lowercase()
    offsets = offsets_of(texts.str.len_chars().to_numpy().astype(np.int64))
    points = np.frombuffer("".join(texts.to_list()).encode("utf-32-le"), "<u4")
    if not whitespace:
        visible = points > ord(" ")
        rare = np.flatnonzero((points < ord(" ")) | (points > ord("~")))  # the others can be told by their order
        visible[rare] = _VISIBLE.take(points[rare], mode="clip")
        offsets = offsets - np.searchsorted(np.flatnonzero(~visible), offsets)
        points = points[visible]
    codes: Any = points  # four bytes are enough
    return Ragged(codes, offsets)


def _shared(texts: Ragged, pairs: int, orders: int) -> Iterator[Ints]:
    """For each order, how many n-grams each pair shares. The first half of the rows are replies. (pairs,)"""
    row = texts.row_of_value
    # The side is the lowest bit and the pair the highest ones, so that equal n-grams of a pair are adjacent.
    label = ((row % pairs) << (_NGRAM_BITS + 1) | (row >= pairs)).astype(np.uint64)
    characters, dense = np.unique(texts.values, return_inverse=True)
    letters, size = dense.astype(np.uint64), len(characters)
    codes, distinct = letters, size
    for n in range(1, orders + 1):
        if n > 1:
            if distinct * size >= 1 << _NGRAM_BITS:
                names, places = np.unique(codes, return_inverse=True)
                codes, distinct = places.astype(np.uint64), len(names)
            codes = codes[:-1] * np.uint64(size) + letters[n - 1 :]
            distinct *= size
        count = max(0, len(row) - n + 1)
        codes = codes[:count]
        inside = row[:count] == row[n - 1 :] if count else np.zeros(0, np.bool_)
        yield _matches(np.sort((label[:count] | codes << np.uint64(1))[inside]), pairs)


def _matches(keys: NDArray[np.uint64], pairs: int) -> Ints:
    """The clipped matches of each pair, from its sorted n-grams."""
    same = (keys[1:] >> np.uint64(1)) == (keys[:-1] >> np.uint64(1))
    edges = np.diff(np.concatenate([[False], same, [False]]).astype(np.int8))
    first, last = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)  # of each run of two or more
    in_reference = np.concatenate([[0], np.cumsum(keys & np.uint64(1), dtype=np.int64)])
    theirs = in_reference[last + 1] - in_reference[first]
    own = last + 1 - first - theirs
    pair = (keys[first] >> np.uint64(_NGRAM_BITS + 1)).astype(np.int64)
    return np.bincount(pair, weights=np.minimum(own, theirs), minlength=pairs).astype(np.int64)

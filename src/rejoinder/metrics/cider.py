"""CIDEr: the cosine of TF-IDF weighted n-grams with each reference, averaged (Vedantam et al. 2015).

For the n-grams of one order, with c and r counting an n-gram in the reply and in the reference and w its weight,
sum over n-grams of (c w)(r w) is the sum over *positions* of the reply of r w^2. So all that is needed are counts at
each position, which the tables of `ngrams` give, and weights, which need the document frequencies of the whole corpus.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import CallError
from rejoinder.metrics.base import Observer, TextMetric, best_reference, check_choice
from rejoinder.metrics.batch import Batch
from rejoinder.metrics.ngram_hashes import (
    FrequencyCounter,
    FrequencyTable,
    ngram_hashes,
    once_a_document,
    reference_hashes,
)
from rejoinder.metrics.ngrams import chunks_by_length, count_along, equal_ngrams, padded
from rejoinder.text.ragged import Ints, Ragged, offsets_of
from rejoinder.types import Scores

_ORDERS = 4
_SCALE = 10.0

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class DocumentFrequencies:
    """In how many documents (the references of one example) each n-gram stands."""

    documents: int
    table: FrequencyTable

    def squared_weights(self, hashes: NDArray[np.uint64]) -> Floats:
        """Inverse document frequency, squared; an n-gram of no document counts as one of a single document."""
        weights = np.log(self.documents) - np.log(np.maximum(self.table.lookup(hashes), 1))
        squared: Floats = weights**2
        return squared


@dataclass(frozen=True, kw_only=True)
class Cider(TextMetric):
    """CIDEr of a reply against its references, on a scale of 0 to 10.

    `variant=d` clips counts and punishes a difference in length, as every tool that prints "CIDEr" does
    (coco-caption, pycocoevalcap, nlg-eval); the paper calls it CIDEr-D. `variant=plain` is the paper's first
    definition, a plain cosine. Weights come from all examples that are scored together: an n-gram of many references
    says little. With fewer than two of them no weight is defined, and the score is NaN.
    """

    name: ClassVar[str] = "cider"
    measures: ClassVar[str] = "TF-IDF weighted n-gram similarity with the references, from 0 to 10"
    citation: ClassVar[str] = "Vedantam et al. 2015"
    needs: ClassVar[frozenset[str]] = frozenset({"references"})
    range: ClassVar[tuple[float, float]] = (0.0, _SCALE)

    variant: str = "d"
    sigma: float = 6.0
    """How wide the penalty on a difference in length is (variant d)."""
    frequencies: DocumentFrequencies | None = field(default=None, init=False, repr=False, compare=False)

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_choice(self, "variant", ("d", "plain"))
        if not self.sigma > 0:
            raise CallError(f"cider: sigma must be above 0, not {self.sigma}")

    def observer(self) -> Observer:
        """Counts in how many examples' references each n-gram stands."""
        return _FrequencyObserver(self)

    def score_batch(self, batch: Batch) -> Scores:
        """The mean over references of the mean over n = 1..4 of the similarity, times 10."""
        if self.frequencies is None:
            raise CallError("cider must see all examples before it scores the first: call score()")
        if self.frequencies.documents < 2:
            return np.full(len(batch), np.nan)
        tokens = batch.tokens(self.text)
        replies, references = tokens.responses, tokens.references
        similarity = np.zeros(len(references))
        orders = range(1, _ORDERS + 1)
        own = [ngram_hashes(tokens, replies, n)[0] for n in orders]
        theirs = [reference_hashes(batch, self.text, n)[0] for n in orders]
        own_weights = [_weights(self.frequencies, *item, replies) for item in enumerate(own)]
        their_weights = [_weights(self.frequencies, *item, references) for item in enumerate(theirs)]
        longest = np.maximum(replies.lengths[batch.owner], references.lengths)
        for pairs in chunks_by_length(longest, np.flatnonzero(longest > 0)):
            rows = batch.owner[pairs]
            similarity[pairs] = self._chunk(replies, references, rows, pairs, own_weights, their_weights)
        return best_reference(similarity * _SCALE, batch, "mean")

    def _chunk(
        self,
        replies: Ragged,
        references: Ragged,
        rows: Ints,
        pairs: Ints,
        own_weights: list[tuple[Floats, Ints]],
        their_weights: list[tuple[Floats, Ints]],
    ) -> Floats:
        reply, reference = padded(replies, rows, -1), padded(references, pairs, -2)
        tables = zip(
            equal_ngrams(reply, reference, _ORDERS),
            equal_ngrams(reply, reply, _ORDERS),
            equal_ngrams(reference, reference, _ORDERS),
            strict=True,
        )
        total = np.zeros(len(pairs))
        for order, (shared, own, theirs) in enumerate(tables):
            weight = _padded_weights(own_weights[order], rows, shared.shape[0])
            in_reply, in_reference = count_along(own, axis=1), count_along(shared, axis=1)
            met = in_reference.astype(np.float64)
            if self.variant == "d":
                # Each of c positions carries its share of min(c, r) r.
                met *= np.minimum(in_reply, in_reference) / np.maximum(in_reply, 1)
            length = (weight * in_reply).sum(axis=0)
            their_weight = _padded_weights(their_weights[order], pairs, theirs.shape[0])
            their_length = (their_weight * count_along(theirs, axis=1)).sum(axis=0)
            below = np.sqrt(length * their_length)
            total += np.divide((weight * met).sum(axis=0), below, out=np.zeros(len(pairs)), where=below > 0)
        return self._penalised(total / _ORDERS, replies.lengths[rows], references.lengths[pairs])

    def _penalised(self, similarity: Floats, length: Ints, reference_length: Ints) -> Floats:
        if self.variant == "plain":
            return similarity
        # coco-caption compares the numbers of bigrams; they differ as the lengths do, but for empty texts.
        apart = np.maximum(length - 1, 0) - np.maximum(reference_length - 1, 0)
        penalised: Floats = similarity * np.exp(-(apart**2) / (2 * self.sigma**2))
        return penalised


class _FrequencyObserver:
    """Sees the references of all batches."""

    def __init__(self, metric: Cider) -> None:
        self._metric = metric
        self._documents = 0
        self._counter = FrequencyCounter()

    def add(self, batch: Batch) -> None:
        """Count the n-grams of this batch's references, each once an example."""
        self._documents += int((batch.reference_counts > 0).sum())
        for n in range(1, _ORDERS + 1):
            hashes, row = reference_hashes(batch, self._metric.text, n)
            self._counter.add(once_a_document(hashes, batch.owner[row]))

    def finish(self) -> Cider:
        """The metric with its document frequencies."""
        ready = replace(self._metric)
        object.__setattr__(ready, "frequencies", DocumentFrequencies(self._documents, self._counter.table()))
        return ready


def _weights(
    frequencies: DocumentFrequencies, order: int, hashes: NDArray[np.uint64], texts: Ragged
) -> tuple[Floats, Ints]:
    """The squared weight of each n-gram, and where each row's begin."""
    return frequencies.squared_weights(hashes), offsets_of(np.maximum(texts.lengths - order, 0))


def _padded_weights(weights: tuple[Floats, Ints], rows: Ints, height: int) -> Floats:
    """The weights of some rows side by side, 0 where a row is shorter. (height, rows)"""
    values, offsets = weights
    lengths = offsets[rows + 1] - offsets[rows]
    position = np.arange(height)[:, None]
    inside = position < lengths
    place = np.where(inside, offsets[rows] + position, 0)
    return np.where(inside, values[place] if len(values) else 0.0, 0.0)

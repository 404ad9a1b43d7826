"""CIDEr: the cosine of TF-IDF weighted n-grams with each reference, averaged (Vedantam et al. 2015).

For the n-grams of one order, with c and r the counts of an n-gram in the reply and in the reference and w its weight,
the sum over n-grams of (c w)(r w) equals the sum over *positions* of the reply of r w^2. So only counts at each
position are needed, which `ngrams` computes, and weights, which need the document frequencies of the whole corpus.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import polars as pl

from rejoinder.arrays import Floats, Ints, Ragged
from rejoinder.errors import CallError, shortened
from rejoinder.metrics.base import Observer, State, TextMetric, best_reference, check_choice
from rejoinder.metrics.batch import Batch, TextOptions
from rejoinder.metrics.hashes import (
    FrequencyCounter,
    FrequencyTable,
    ngram_hashes,
    reference_hashes,
    repeats_within,
    reply_counts,
)
from rejoinder.metrics.ngrams import SharedNgrams, counts_within, ngram_offsets, shared_ngrams
from rejoinder.text.tokens import Hashes
from rejoinder.types import Scores

_ORDERS = 4
_SCALE = 10.0


@dataclass(frozen=True)
class DocumentFrequencies:
    """The number of documents of a corpus that contain each n-gram; a document is all references of one example."""

    documents: Mapping[str, int]
    """Corpus -> number of examples with references."""
    table: FrequencyTable
    by_system: bool
    """Whether each system is its own corpus; otherwise all examples form one."""

    def corpus_sizes(self, names: list[str]) -> Ints:
        """The number of documents of each corpus."""
        return np.array([self.documents.get(name, 0) for name in names], np.int64)

    def squared_weights(self, hashes: Hashes, example: Ints, batch: Batch) -> Floats:
        """Squared inverse document frequency; an unseen n-gram counts as if one document contained it."""
        names, corpus_of_example = _corpora(batch, self.by_system)
        corpus = corpus_of_example[example] if len(names) > 1 else 0
        log_sizes = np.log(np.maximum(self.corpus_sizes(names), 1))
        seen = self.table.lookup(hashes ^ _corpus_salts(names)[corpus])
        squared: Floats = (log_sizes[corpus] - self._logs.take(seen, mode="clip")) ** 2
        return squared

    @cached_property
    def _logs(self) -> Floats:
        """The logarithm of each number of documents that may contain an n-gram; 0 for none."""
        return np.log(np.maximum(np.arange(max(self.documents.values(), default=0) + 1), 1))


@dataclass(frozen=True, slots=True)
class _WeightedNgrams:
    """The n-grams of one order, text after text."""

    offsets: Ints  # (texts + 1,): where the n-grams of each text begin
    texts: Ints  # the text of each n-gram
    counts: Ints  # how often each n-gram occurs in its text
    squared_weights: Floats

    @property
    def norms(self) -> Floats:
        """The squared length of each text's vector: the sum over positions of c w^2. (texts,)"""
        weighted = self.counts * self.squared_weights
        return np.bincount(self.texts, weighted, minlength=len(self.offsets) - 1).astype(np.float64, copy=False)


@dataclass(frozen=True, kw_only=True)
class Cider(TextMetric):
    """CIDEr of a reply against its references, on a scale of 0 to 10.

    `variant=d` clips counts and penalises a difference in length, as every tool that prints "CIDEr" does
    (coco-caption, pycocoevalcap, nlg-eval); the paper calls it CIDEr-D. `variant=plain` is the paper's first
    definition, a plain cosine. Document frequencies come from the references of all examples that are scored together,
    so a system's score depends slightly on the other systems in the file; with `idf=system` it does not. With fewer
    than two examples no weight is defined, and the score is NaN.
    """

    name: ClassVar[str] = "cider"
    measures: ClassVar[str] = "TF-IDF weighted n-gram similarity with the references, from 0 to 10"
    citation: ClassVar[str] = "Vedantam et al. 2015"
    needs: ClassVar[frozenset[str]] = frozenset({"references"})
    cannot_score: ClassVar[str] = "no references, or only one example that has any"
    range: ClassVar[tuple[float, float]] = (0.0, _SCALE)

    variant: str = "d"
    idf: str = "all"
    """The corpus that weights come from: all examples scored together, or those of the same `system`."""
    sigma: float = 6.0
    """The width of the Gaussian penalty on a difference in length (variant d)."""
    frequencies: DocumentFrequencies | None = field(default=None, init=False, repr=False, compare=False)

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_choice(self, "variant", ("d", "plain"))
        check_choice(self, "idf", ("all", "system"))
        if not 1e-6 <= self.sigma <= 1e6:  # its square must neither vanish nor overflow
            raise CallError(f"cider: sigma must be from 1e-6 to 1e6, not {shortened(self.sigma)}")

    def observer(self) -> Observer:
        """Counts the examples whose references contain each n-gram."""
        return _FrequencyObserver(self)

    def score_batch(self, batch: Batch) -> Scores:
        """The mean over references of the mean over n = 1..4 of the similarity, times 10."""
        if self.frequencies is None:
            raise CallError("cider must see all examples before it scores the first: call score()")
        tokens = batch.tokens(self.text)
        replies, references = tokens.responses, tokens.references
        own = self._weighted(
            batch,
            replies,
            np.arange(len(batch)),
            ngram_hashes(tokens, replies, _ORDERS),
            reply_counts(batch, self.text, _ORDERS),
        )
        their_hashes, their_counts = reference_hashes(batch, self.text, _ORDERS), _reference_counts(batch, self.text)
        theirs = self._weighted(batch, references, batch.owner, their_hashes, their_counts)
        products = np.zeros((_ORDERS, len(references)))
        for shared in shared_ngrams(replies, references, batch.owner, _ORDERS):
            products[shared.n - 1] += self._products(shared, own[shared.n - 1], batch.owner)
        lengths = np.sqrt([mine.norms[batch.owner] * other.norms for mine, other in zip(own, theirs, strict=True)])
        cosines = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
        similarity = self._penalised(cosines.mean(axis=0), replies.lengths[batch.owner], references.lengths)
        scores = best_reference(similarity * _SCALE, batch, "mean")
        names, corpus = _corpora(batch, self.frequencies.by_system)
        # With a single document every n-gram has weight 0.
        scores[self.frequencies.corpus_sizes(names)[corpus] < 2] = np.nan
        return scores

    def _weighted(
        self,
        batch: Batch,
        texts: Ragged,
        example_of_text: Ints,
        hashes: Iterable[tuple[Hashes, Ints]],
        counts: Iterable[Ints],
    ) -> list[_WeightedNgrams]:
        """The n-grams of all texts, one item per order."""
        if self.frequencies is None:
            raise CallError("cider must see all examples before it scores the first: call score()")
        weights = self.frequencies.squared_weights
        return [
            _WeightedNgrams(ngram_offsets(texts, n), text, count, weights(of_order, example_of_text[text], batch))
            for n, ((of_order, text), count) in enumerate(zip(hashes, counts, strict=True), 1)
        ]

    def _products(self, shared: SharedNgrams, own: _WeightedNgrams, owner: Ints) -> Floats:
        """The dot product of reply and reference, for n-grams of one order. (references,)"""
        place = own.offsets[owner[shared.pair]] + shared.position
        met = shared.count * own.squared_weights[place]
        if self.variant == "d":
            # Each of the c positions contributes an equal share of min(c, r) r.
            met *= np.minimum(own.counts[place], shared.count) / own.counts[place]
        return np.bincount(shared.pair, met, minlength=len(owner)).astype(np.float64, copy=False)

    def _penalised(self, similarity: Floats, length: Ints, reference_length: Ints) -> Floats:
        if self.variant == "plain":
            return similarity
        # coco-caption compares the numbers of bigrams, which differ as the lengths do except for empty texts.
        apart = np.maximum(length - 1, 0) - np.maximum(reference_length - 1, 0)
        penalised: Floats = similarity * np.exp(-(apart**2) / (2 * self.sigma**2))
        return penalised


class _FrequencyObserver:
    """Collects document frequencies from the references of all batches."""

    def __init__(self, metric: Cider) -> None:
        self._metric = metric
        self._documents: Counter[str] = Counter()
        self._counter = FrequencyCounter()

    def add(self, batch: Batch) -> None:
        """Count the n-grams of this batch's references, each once per example."""
        by_system = self._metric.idf == "system"
        names, corpus = _corpora(batch, by_system)
        sizes = np.bincount(corpus[batch.reference_counts > 0], minlength=len(names))
        self._documents.update(dict(zip(names, sizes.tolist(), strict=True)))
        salts = _corpus_salts(names)[corpus]
        several = batch.reference_counts > 1
        ngrams = zip(
            reference_hashes(batch, self._metric.text, _ORDERS),
            _reference_counts(batch, self._metric.text),
            strict=True,
        )
        for (hashes, row), count in ngrams:
            document = batch.owner[row]
            suspects = np.flatnonzero((count > 1) | several[document])
            kept = np.ones(len(hashes), np.bool_)
            kept[suspects] = ~repeats_within(hashes[suspects], document[suspects])
            self._counter.add(hashes[kept] ^ salts[document[kept]])

    def state(self) -> State:
        """The number of examples with references in each corpus, and how many contain each n-gram."""
        table = self._counter.table()
        return {
            "names": np.array([*self._documents], np.str_),
            "documents": np.array([*self._documents.values()], np.int64),
            "hashes": table.hashes,
            "counts": table.counts,
        }

    def merge(self, state: State) -> None:
        """Add the examples of another part of the corpus."""
        self._documents.update(dict(zip(state["names"].tolist(), state["documents"].tolist(), strict=True)))
        self._counter.merge(FrequencyTable(state["hashes"], state["counts"]))

    def finish(self) -> Cider:
        """The metric with its document frequencies."""
        frequencies = DocumentFrequencies(self._documents, self._counter.table(), self._metric.idf == "system")
        ready = replace(self._metric)
        object.__setattr__(ready, "frequencies", frequencies)
        return ready


def _corpora(batch: Batch, by_system: bool) -> tuple[list[str], Ints]:
    """The names of the corpora, and the corpus of each example. (examples,)"""
    if not by_system:
        return [""], np.zeros(len(batch), np.int64)

    def of_systems() -> tuple[list[str], Ints]:
        names, corpus = np.unique([example.system for example in batch.examples], return_inverse=True)
        return names.tolist(), corpus

    return batch.keep("systems", of_systems)


def _corpus_salts(names: list[str]) -> Hashes:
    """A hash per corpus, which is combined with an n-gram's hash: the same in every batch of a run. (corpora,)"""
    return pl.Series(names, dtype=pl.String).hash(seed=1).to_numpy()


def _reference_counts(batch: Batch, options: TextOptions) -> list[Ints]:
    """How often each n-gram occurs in its reference, counted once per batch."""
    tokens = batch.tokens(options)
    return batch.keep(("counts in references", options), lambda: counts_within(tokens.references, _ORDERS))

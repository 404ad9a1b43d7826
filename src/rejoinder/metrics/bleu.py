"""BLEU: clipped n-gram precision with a brevity penalty, and its smoothings (Papineni et al. 2002)."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from rejoinder.arrays import Floats, Ints, Ragged
from rejoinder.errors import CallError, shortened
from rejoinder.metrics.base import State, TextMetric, best_reference, check_choice, settle_empty
from rejoinder.metrics.batch import Batch, TextOptions
from rejoinder.metrics.ngrams import NgramOverlap, ngram_overlap
from rejoinder.types import Scores

# BLEU: clipped n-gram precision with a brevity penalty (Papineni et al. 2002).


# Four orders are always counted, so that BLEU-1 to BLEU-4 share them; NLTK's methods 5 and 7 need one order more.
_SHARED_ORDERS = 4


@dataclass(frozen=True, kw_only=True)
class Bleu(TextMetric):
    """BLEU-n of a reply against its references.

    `smooth` is one of sacreBLEU's (none, floor, add-k, exp) or NLTK's nltk-0 .. nltk-7, after Chen & Cherry (2014).
    `effective_order` leaves out orders that the reply is too short for, so that an identical short reply scores 1;
    NLTK's methods have no such option and ignore it. `refs` sets how several references are used: `joint` clips
    against all of them at once, as BLEU is defined; `max` and `mean` score each one separately.
    """

    name: ClassVar[str] = "bleu"
    measures: ClassVar[str] = "n-gram precision against the references, with a brevity penalty"
    citation: ClassVar[str] = "Papineni et al. 2002; smoothing: Chen & Cherry 2014"
    needs: ClassVar[frozenset[str]] = frozenset({"references"})
    cannot_score: ClassVar[str] = "no references, or no token to compare"

    n: int = 4
    smooth: str = "exp"
    smooth_value: float | None = None
    effective_order: bool = True
    refs: str = "joint"

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_choice(self, "smooth", SMOOTHINGS)
        check_choice(self, "refs", ("joint", "max", "mean"))
        if not 1 <= self.n <= 9:
            raise CallError(f"bleu: n must be from 1 to 9, not {shortened(self.n)}")
        if self.smooth_value is not None and self.smooth not in {"floor", "add-k"}:
            raise CallError(f"bleu: smooth={self.smooth} takes no smooth_value")
        if self.smooth_value is not None and not 0 <= self.smooth_value < 1e6:
            raise CallError(f"bleu: smooth_value must be from 0 to 1e6, not {shortened(self.smooth_value)}")

    def score_batch(self, batch: Batch) -> Scores:
        """Sentence-level BLEU, smoothed."""
        tokens = batch.tokens(self.text)
        if self.refs == "joint":
            overlap = shared_overlap(batch, self.text, self.orders)
            scores = self.smoothed(overlap)
            scores[batch.reference_counts == 0] = np.nan
            return settle_empty(scores, batch, tokens)
        alone = tokens.responses.take(batch.owner)
        pairs = ngram_overlap(alone, tokens.references, np.arange(len(batch.owner)), self.orders)
        return settle_empty(best_reference(self.smoothed(pairs), batch, self.refs), batch, tokens)

    def counter(self) -> BleuCounter | None:
        """Corpus-level BLEU: counts are summed before any ratio is taken; with refs=max or mean it is the mean score.

        Smoothing is the same; it matters only if the whole corpus has no match of some order.
        """
        return BleuCounter(self) if self.refs == "joint" else None

    @property
    def orders(self) -> int:
        """The number of n-gram orders that are counted."""
        return max(_SHARED_ORDERS, self.n) + (self.smooth in {"nltk-5", "nltk-7"})

    def smoothed(self, overlap: NgramOverlap) -> Scores:
        """BLEU from n-gram counts."""
        return smoothed_bleu(
            overlap, self.n, self.smooth, value=self.smooth_value, effective_order=self.effective_order
        )


@dataclass
class BleuCounter:
    """Sums the counts for corpus-level BLEU."""

    metric: Bleu
    matches: Ints = field(init=False)
    totals: Ints = field(init=False)
    lengths: Ints = field(init=False)

    def __post_init__(self) -> None:
        self.matches = np.zeros(self.metric.orders, np.int64)
        self.totals = np.zeros(self.metric.orders, np.int64)
        self.lengths = np.zeros(2, np.int64)  # of the replies, of the references

    def add(self, batch: Batch, rows: Ints) -> None:
        """Add the given rows of a batch; those without references are left out."""
        rows = rows[batch.reference_counts[rows] > 0]
        overlap = shared_overlap(batch, self.metric.text, self.metric.orders).take(rows)
        self.matches += overlap.matches.sum(axis=1)
        totals = overlap.totals
        if self.metric.smooth.startswith("nltk-"):
            totals = np.maximum(totals, 1)  # NLTK counts one n-gram even in a reply that is too short for any
        self.totals += totals.sum(axis=1)
        self.lengths += (overlap.length.sum(), overlap.reference_length.sum())

    def state(self) -> State:
        """All counts."""
        return {"matches": self.matches, "totals": self.totals, "lengths": self.lengths}

    def merge(self, state: State) -> None:
        """Add the counts of another part of the corpus."""
        self.matches += state["matches"]
        self.totals += state["totals"]
        self.lengths += state["lengths"]

    def value(self) -> float:
        """Corpus BLEU from 0 to 1; NaN if nothing was added."""
        if not self.lengths[1]:
            return float("nan")
        overlap = NgramOverlap(
            self.matches[:, None], self.totals[:, None], self.lengths[:1].copy(), self.lengths[1:].copy()
        )
        return float(self.metric.smoothed(overlap)[0])


def shared_overlap(batch: Batch, options: TextOptions, orders: int) -> NgramOverlap:
    """The batch's n-gram matches for n = 1..orders, counted once for all metrics."""

    def count() -> NgramOverlap:
        tokens = batch.tokens(options)
        replies: Ragged = tokens.responses
        return ngram_overlap(replies, tokens.references, batch.owner, orders)

    return batch.keep(("ngram overlap", options, orders), count)


# From n-gram counts to BLEU: the smoothing methods that sacreBLEU and NLTK offer, over many examples at once.
#
# The numbered methods are those of Chen & Cherry (2014), "A Systematic Comparison of Smoothing Techniques for
# Sentence-Level BLEU", as NLTK implements them. Where NLTK departs from the paper, so does this module, so that scores
# equal those of NLTK.


SMOOTHINGS = ("none", "floor", "add-k", "exp", *map("nltk-{}".format, range(8)))


# NLTK's defaults for its methods 1, 6 and 4.
_EPSILON, _ALPHA, _K = 0.1, 5.0, 5.0


def smoothed_bleu(
    overlap: NgramOverlap, n: int, smooth: str, *, value: float | None = None, effective_order: bool
) -> Scores:
    """BLEU-n of each example, 0..1."""
    penalty = brevity_penalty(overlap)
    with np.errstate(divide="ignore", invalid="ignore"):
        if smooth.startswith("nltk-"):
            mean = _nltk_mean(overlap, n, int(smooth[5:]))
        else:
            mean = _sacrebleu_mean(overlap, n, smooth, value, effective_order)
    return np.where(overlap.matches[0] > 0, penalty * mean, 0.0)


def brevity_penalty(overlap: NgramOverlap) -> Floats:
    """exp(1 - r / c) if the reply (c tokens) is shorter than its reference (r); 0 for an empty reply."""
    length, reference = overlap.length.astype(np.float64), overlap.reference_length
    ratio = np.divide(reference, length, out=np.full(len(length), np.inf), where=length > 0)
    return np.where(length >= reference, np.where(length > 0, 1.0, 0.0), np.exp(1.0 - ratio))


def _sacrebleu_mean(overlap: NgramOverlap, n: int, smooth: str, value: float | None, effective: bool) -> Floats:
    matches = overlap.matches[:n].astype(np.float64)
    totals = overlap.totals[:n].astype(np.float64)
    if smooth == "add-k":
        added = 1.0 if value is None else value
        matches[1:] += added
        totals[1:] += added
    precisions = matches / totals
    if smooth == "exp":
        # Each order without a match gets half the value of the previous such order.
        halvings = np.cumsum(matches == 0, axis=0)
        precisions = np.where(matches == 0, 1.0 / (np.exp2(halvings) * totals), precisions)
    elif smooth == "floor":
        precisions = np.where(matches == 0, (0.1 if value is None else value) / totals, precisions)
    reached = totals > 0
    logs = np.where(reached, np.log(precisions), 0.0 if effective else -np.inf)
    orders = np.maximum(reached.sum(axis=0), 1) if effective else n
    mean: Floats = np.exp(logs.sum(axis=0) / orders)
    return mean


def _nltk_mean(overlap: NgramOverlap, n: int, method: int) -> Floats:
    matches = overlap.matches.astype(np.float64)
    totals = np.maximum(overlap.totals, 1).astype(np.float64)  # NLTK's denominators are at least 1
    length = overlap.length.astype(np.float64)
    precisions = (matches / totals)[:n]
    zero = matches[:n] == 0
    halvings = np.cumsum(zero, axis=0)
    if method == 0:
        precisions = np.where(zero, sys.float_info.min, precisions)
    elif method == 1:
        precisions = np.where(zero, _EPSILON / totals[:n], precisions)
    elif method == 2:
        precisions[1:] = (matches[1:n] + 1) / (totals[1:n] + 1)
    elif method == 3:
        precisions = np.where(zero, 1.0 / (np.exp2(halvings) * totals[:n]), precisions)
    if method in {4, 7}:
        shrunk = 1.0 / (np.exp2(halvings) * _K / np.log(length)) / totals[:n]
        precisions = np.where(zero & (length > 1), shrunk, precisions)
    if method in {5, 7}:
        precisions = _averaged_with_neighbours(precisions, (matches / totals)[_FIFTH])
    if method == 6:
        precisions = _with_prior(precisions, matches, overlap.totals.astype(np.float64))
    # NLTK skips a precision of 0 rather than let it make the score 0.
    logs = np.where(precisions > 0, np.log(precisions), 0.0)
    mean: Floats = np.exp(logs.sum(axis=0) / n)
    return mean


_FIFTH = 4  # NLTK uses 5-grams for every n


def _averaged_with_neighbours(precisions: Floats, fifth: Floats) -> Floats:
    """Method 5: m_n = (m_{n-1} + p_n + p_{n+1}) / 3 with m_0 = p_1 + 1."""
    following = np.vstack([precisions[1:], fifth[None]])
    averaged = np.empty_like(precisions)
    before = precisions[0] + 1
    for order in range(len(precisions)):
        before = averaged[order] = (before + precisions[order] + following[order]) / 3
    return averaged


def _with_prior(precisions: Floats, matches: Floats, totals: Floats) -> Floats:
    """Method 6: from the third order on, a prior p_{n-1}^2 / p_{n-2} worth five n-grams (Gao & He 2013)."""
    for order in range(2, len(precisions)):
        two_before = precisions[order - 2]
        prior = np.where(two_before == 0, 0.0, precisions[order - 1] ** 2 / two_before)
        precisions[order] = (matches[order] + _ALPHA * prior) / (totals[order] + _ALPHA)
    return precisions

"""From n-gram counts to BLEU: the smoothing methods that sacreBLEU and NLTK offer, over many examples at once.

The numbered methods are those of Chen & Cherry (2014), "A Systematic Comparison of Smoothing Techniques for
Sentence-Level BLEU", as NLTK implements them. Where NLTK departs from the paper, so does this module, so that scores
equal those of NLTK.
"""

from __future__ import annotations

import sys

import numpy as np

from rejoinder.arrays import Floats
from rejoinder.metrics.ngrams import NgramOverlap
from rejoinder.types import Scores

SMOOTHINGS = ("none", "floor", "add-k", "exp", *(f"nltk-{method}" for method in range(8)))


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

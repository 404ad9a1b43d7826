"""Interpolated Kneser-Ney smoothing with three discounts per order (Chen & Goodman 1998), as in KenLM's `lmplz`.

Below the highest order, the count of an n-gram is the number of different words that precede it; an n-gram at the start
of a sentence has no preceding word and keeps its count (Heafield et al. 2013).
"""

from __future__ import annotations

import numpy as np

from rejoinder.arrays import Ints
from rejoinder.language_models.ngram.counts import Counts
from rejoinder.language_models.ngram.model import START, UNKNOWN, Level, NgramModel

FALLBACK = (0.5, 1.0, 1.5)
"""Discounts of counts 1, 2 and 3 or more if a text is too small to estimate them: lmplz's --discount_fallback."""


def kneser_ney(counts: Counts, *, open_vocabulary: bool = True) -> NgramModel:
    """The interpolated model of some counts; without `open_vocabulary`, unknown words have no probability."""
    size = counts.size
    levels: list[Level] = []
    lower = np.zeros(0)
    for order, adjusted in enumerate(adjusted_counts(counts), start=1):
        keys = counts.levels[order - 1].keys
        context = keys // size if order > 1 else np.zeros(len(keys), np.int64)
        histories = len(counts.levels[order - 2]) if order > 1 else 1
        discount = np.array([0.0, *discounts(adjusted)])[np.minimum(adjusted, 3)]
        total = np.bincount(context, adjusted, histories)
        taken = np.bincount(context, discount, histories)
        weight = np.divide(taken, total, out=np.ones(histories), where=total > 0)
        own = np.divide(adjusted - discount, total[context], out=np.zeros(len(keys)), where=total[context] > 0)
        if order == 1:
            words = np.ones(size)
            words[START] = 0
            words[UNKNOWN] = open_vocabulary
            prob = np.where(words > 0, own + weight[0] / words.sum(), 0.0)
        else:
            prob = own + weight[context] * lower[suffixes(counts, order)]
            levels[-1] = Level(levels[-1].keys, levels[-1].log_prob, np.log10(weight))
        with np.errstate(divide="ignore"):
            levels.append(Level(keys, np.log10(prob), np.zeros(len(keys))))
        lower = prob
    return NgramModel(counts.words, tuple(levels))


def adjusted_counts(counts: Counts) -> list[Ints]:
    """The counts that are smoothed, for each order."""
    adjusted = [level.counts for level in counts.levels]
    for order in range(1, len(counts.levels)):
        before = np.bincount(suffixes(counts, order + 1), minlength=len(counts.levels[order - 1]))
        first = first_words(counts, order)
        adjusted[order - 1] = np.where(first == START, adjusted[order - 1], before)
    adjusted[0] = adjusted[0].copy()
    adjusted[0][START] = 0
    return adjusted


def discounts(adjusted: Ints) -> tuple[float, float, float]:
    """What is subtracted from a count of 1, of 2, and of 3 or more."""
    n1, n2, n3, n4 = np.bincount(np.minimum(adjusted, 5), minlength=6)[1:5].astype(float).tolist()
    if not (n1 and n2 and n3):
        return FALLBACK
    share = n1 / (n1 + 2 * n2)
    found = (1 - 2 * share * n2 / n1, 2 - 3 * share * n3 / n2, 3 - 4 * share * n4 / n3)
    return found if all(0 <= value <= most for value, most in zip(found, (1, 2, 3), strict=True)) else FALLBACK


def suffixes(counts: Counts, order: int) -> Ints:
    """The position, one level below, of each n-gram without its first word."""
    if order == 2:
        return counts.last_words(2)
    shorter = suffixes(counts, order - 1)[counts.contexts(order)]
    # An n-gram's suffix occurs wherever the n-gram does: every suffix is found.
    return np.searchsorted(counts.levels[order - 2].keys, shorter * counts.size + counts.last_words(order))


def first_words(counts: Counts, order: int) -> Ints:
    """The first word of each n-gram."""
    if order == 1:
        return counts.levels[0].keys
    return first_words(counts, order - 1)[counts.contexts(order)]

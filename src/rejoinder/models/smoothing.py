"""Smoothing of n-gram models: Good-Turing, SRILM's default, and modified Kneser-Ney."""

from __future__ import annotations

import numpy as np

from rejoinder.arrays import Floats, Ints
from rejoinder.models.ngram import EPSILON, START, UNKNOWN, NgramCounts, NgramLevel, NgramModel, level_of, with_back_off

# Katz's back-off model with Good-Turing discounts, the default of SRILM's `ngram-count`.
#
# A count c from 1 to the order's maximum m is discounted to d_c * c, with n_c the number of n-grams that occur c times:
#
#     d_c = (g_c - a) / (1 - a),  g_c = (c + 1) n_(c+1) / (c n_c),  a = (m + 1) n_(m+1) / n_1
#
# Larger counts are reliable and are not discounted (Katz 1987). N-grams below the order's minimum count are left out.


def min_count(order: int) -> int:
    """The smallest count of an n-gram that is kept: SRILM's -gt1min 1, -gt2min 1, -gt3min 2, and 2 for longer ones."""
    return 1 if order <= 2 else 2


def max_count(order: int) -> int:
    """The largest count that is discounted: SRILM's -gt1max 1, and 7 for all others."""
    return 1 if order == 1 else 7


def good_turing(counts: NgramCounts, *, open_vocabulary: bool = True) -> NgramModel:
    """The back-off model of some counts.

    With `open_vocabulary`, unknown words have the probability of a word that would occur once in a text one word longer
    (SRILM's -unk). If discounting is impossible because there are no rare n-grams, SRILM leaves a history without a
    back-off weight; here 1 is added to its total, as SRILM does in all other cases where no probability is left.
    """
    size = counts.size
    levels: list[NgramLevel] = []
    place = np.arange(size)  # new position in the level below, after rare n-grams were removed; -1: removed
    for order, level in enumerate(counts.levels, start=1):
        events = level.counts.copy()
        if order == 1:
            events[START] = 0
        discounted = events * good_turing_discounts(events, order)
        context = level.keys // size if order > 1 else np.zeros(len(level), np.int64)
        prob = _shares(discounted, events, context, counts.size - 1 - (not open_vocabulary))
        if order == 1:
            levels.append(level_of(level.keys, _logs(_shared_out(prob, open_vocabulary))))
            continue
        kept = (discounted > 0) & (place[context] >= 0)
        keys = place[context[kept]] * size + level.keys[kept] % size
        levels.append(level_of(keys, _logs(prob[kept])))
        place = np.where(kept, np.cumsum(kept) - 1, -1)
    return with_back_off(NgramModel(counts.words, tuple(levels)))


def good_turing_discounts(counts: Ints, order: int) -> Floats:
    """The factor by which each count is multiplied."""
    most = max_count(order)
    occur = np.bincount(np.minimum(counts, most + 2), minlength=most + 3).astype(np.float64)
    while most and not occur[most + 1]:  # cannot be estimated: the maximum is lowered by one
        most -= 1
    factors = np.ones(max_count(order) + 1)
    if most and occur[1]:
        reliable = (most + 1) * occur[most + 1] / occur[1]
        for count in range(1, most + 1):
            if not occur[count] or reliable == 1:
                continue
            ratio = (count + 1) * occur[count + 1] / (count * occur[count])
            factor = (ratio - reliable) / (1 - reliable)
            # Otherwise the factor is out of range and, as in SRILM, the count is not discounted.
            if EPSILON < factor <= 1 and ratio <= 1:
                factors[count] = factor
    factor_of = factors[np.minimum(counts, len(factors) - 1)]
    found: Floats = np.where(counts < min_count(order), 0.0, np.where(counts >= len(factors), 1.0, factor_of))
    return found


def _shares(discounted: Floats, events: Ints, context: Ints, vocabulary: int) -> Floats:
    """Discounted counts over their history's total, which grows until some probability is left for other words."""
    histories = int(context.max(initial=-1)) + 1
    total = np.bincount(context, events, histories)
    seen = np.bincount(context, events > 0, histories)
    mass = np.bincount(context, discounted, histories)
    while True:
        full = (mass > (1 - EPSILON) * total) & (seen < vocabulary) & (total > 0)
        if not full.any():
            break
        total[full] += 1
    shares: Floats = np.divide(discounted, total[context], out=np.zeros(len(context)), where=total[context] > 0)
    return shares


def _shared_out(prob: Floats, open_vocabulary: bool) -> Floats:
    """Unigram probabilities; what is left is shared among words without any, or among all words."""
    event = np.ones(len(prob), np.bool_)
    event[START] = False
    event[UNKNOWN] = open_vocabulary
    needy = event & (prob == 0)
    takers = needy if needy.any() else event
    shared: Floats = prob + takers * max(0.0, 1 - prob.sum()) / takers.sum()
    return shared


def _logs(prob: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        logs: Floats = np.log10(prob)
    return logs


# Interpolated Kneser-Ney smoothing with three discounts per order (Chen & Goodman 1998), as in KenLM's `lmplz`.
#
# Below the highest order, the count of an n-gram is the number of different words that precede it; an n-gram at the
# start of a sentence has no preceding word and keeps its count (Heafield et al. 2013).


FALLBACK = (0.5, 1.0, 1.5)
"""Discounts of counts 1, 2 and 3 or more if a text is too small to estimate them: lmplz's --discount_fallback."""


def kneser_ney(counts: NgramCounts, *, open_vocabulary: bool = True) -> NgramModel:
    """The interpolated model of some counts; without `open_vocabulary`, unknown words have no probability."""
    size = counts.size
    levels: list[NgramLevel] = []
    lower = np.zeros(0)
    for order, adjusted in enumerate(adjusted_counts(counts), start=1):
        keys = counts.levels[order - 1].keys
        context = keys // size if order > 1 else np.zeros(len(keys), np.int64)
        histories = len(counts.levels[order - 2]) if order > 1 else 1
        discount = np.array([0.0, *kneser_ney_discounts(adjusted)])[np.minimum(adjusted, 3)]
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
            levels[-1] = NgramLevel(levels[-1].keys, levels[-1].log_prob, np.log10(weight))
        with np.errstate(divide="ignore"):
            levels.append(NgramLevel(keys, np.log10(prob), np.zeros(len(keys))))
        lower = prob
    return NgramModel(counts.words, tuple(levels))


def adjusted_counts(counts: NgramCounts) -> list[Ints]:
    """The counts that are smoothed, for each order."""
    adjusted = [level.counts for level in counts.levels]
    for order in range(1, len(counts.levels)):
        before = np.bincount(suffixes(counts, order + 1), minlength=len(counts.levels[order - 1]))
        first = first_words(counts, order)
        adjusted[order - 1] = np.where(first == START, adjusted[order - 1], before)
    adjusted[0] = adjusted[0].copy()
    adjusted[0][START] = 0
    return adjusted


def kneser_ney_discounts(adjusted: Ints) -> tuple[float, float, float]:
    """What is subtracted from a count of 1, of 2, and of 3 or more."""
    n1, n2, n3, n4 = np.bincount(np.minimum(adjusted, 5), minlength=6)[1:5].astype(float).tolist()
    if not (n1 and n2 and n3):
        return FALLBACK
    share = n1 / (n1 + 2 * n2)
    found = (1 - 2 * share * n2 / n1, 2 - 3 * share * n3 / n2, 3 - 4 * share * n4 / n3)
    return found if all(0 <= value <= most for value, most in zip(found, (1, 2, 3), strict=True)) else FALLBACK


def suffixes(counts: NgramCounts, order: int) -> Ints:
    """The position, one level below, of each n-gram without its first word."""
    if order == 2:
        return counts.last_words(2)
    shorter = suffixes(counts, order - 1)[counts.contexts(order)]
    # An n-gram's suffix occurs wherever the n-gram does: every suffix is found.
    return np.searchsorted(counts.levels[order - 2].keys, shorter * counts.size + counts.last_words(order))


def first_words(counts: NgramCounts, order: int) -> Ints:
    """The first word of each n-gram."""
    if order == 1:
        return counts.levels[0].keys
    return first_words(counts, order - 1)[counts.contexts(order)]

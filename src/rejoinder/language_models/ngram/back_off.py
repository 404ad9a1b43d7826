"""The weights of a back-off model, and its pruning.

p(w | h) is stored for words seen after h, and is bow(h) * p(w | h') for others. h' is h without its first word, and
bow(h) = (1 - sum p(w | h)) / (1 - sum p(w | h')), both sums over the words seen after h (Katz 1987).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rejoinder.arrays import Floats, Ints
from rejoinder.language_models.ngram.model import END, START, Level, NgramModel

EPSILON = 3e-6
"""Probabilities below this count as 0: SRILM's Prob_Epsilon."""


def with_back_off(model: NgramModel) -> NgramModel:
    """The same n-grams and probabilities, with the weights that make every distribution sum to 1."""
    done = NgramModel(model.words, model.levels[:1])
    for level in model.levels[1:]:
        whole = NgramModel(model.words, (*done.levels, level))
        kept, below = left_over(whole)
        context = level.keys // len(model.words)
        log_prob = level.log_prob
        # Every word was seen after this history: they share the probability that is left.
        full = (below <= EPSILON) & (kept > EPSILON)
        if full.any():
            log_prob = log_prob - np.log10(np.where(full, 1 - kept, 1.0))[context]
        weight = np.divide(kept, below, out=np.ones(len(kept)), where=(below > EPSILON) & ~full)
        has = np.bincount(context, minlength=len(kept)) > 0
        with np.errstate(divide="ignore"):
            back_off = np.where(has, np.log10(weight), 0.0)
        history = replace(done.levels[-1], back_off=back_off)
        last = replace(level, log_prob=log_prob, back_off=np.zeros(len(level)))
        done = NgramModel(model.words, (*done.levels[:-1], history, last))
    return done


def left_over(model: NgramModel) -> tuple[Floats, Floats]:
    """For each history h of the highest order: 1 - sum p(w | h) and 1 - sum p(w | h') over the words w seen after h."""
    level, histories = model.levels[-1], len(model.levels[-2])
    context = level.keys // len(model.words)
    shorter = model.last_word_log_probs(model.ngrams(model.order)[:, 1:])
    kept = 1 - np.bincount(context, 10.0**level.log_prob, histories)
    below = 1 - np.bincount(context, 10.0**shorter, histories)
    return np.where(kept < EPSILON, 0.0, kept), np.where(below < EPSILON, 0.0, below)


def prune(model: NgramModel, threshold: float) -> NgramModel:
    """The model without n-grams whose removal changes its perplexity by less than a share `threshold` (Stolcke 1998).

    As in SRILM: orders are pruned from the highest down; each n-gram is examined as if it alone were removed; prefixes
    of longer n-grams and unigrams are kept. The back-off weights are recomputed at the end.
    """
    levels = list(model.levels)
    for order in range(model.order, 1, -1):
        part = NgramModel(model.words, model.levels[:order])
        gone = _perplexity_change(part) < threshold
        if order < len(levels):
            begins = np.unique(levels[order].keys // len(model.words))
            gone[begins] = False
        levels = _without(levels, order, gone, len(model.words))
    return with_back_off(NgramModel(model.words, tuple(levels)))


def _perplexity_change(model: NgramModel) -> Floats:
    """The relative increase in perplexity if an n-gram of the highest order were removed, for each alone."""
    level, below = model.levels[-1], model.levels[-2]
    context = level.keys // len(model.words)
    kept, lower = (array[context] for array in left_over(model))
    own = 10.0**level.log_prob
    shorter = model.last_word_log_probs(model.ngrams(model.order)[:, 1:])
    # Stolcke's equation, in base-10 logarithms as in SRILM: the n-gram's own loss, and that of all words whose
    # probability depends on the history's back-off weight.
    new_weight = np.log10(kept + own) - np.log10(lower + 10.0**shorter)
    old_weight = below.back_off[context]
    history = 10.0 ** _history_log_prob(model)[context]
    moved = kept * (new_weight - np.where(kept > 0, old_weight, 0.0))
    change: Floats = 10.0 ** (-history * (own * (shorter + new_weight - level.log_prob) + moved)) - 1
    return change


def _history_log_prob(model: NgramModel) -> Floats:
    """log10 p of each history of the highest order; the start of a sentence is as frequent as its end."""
    words = model.ngrams(model.order - 1)
    total = np.zeros(len(words))
    for width in range(1, words.shape[1] + 1):
        part = words[:, :width]
        if width == 1:
            part = np.where(part == START, END, part)
        log_prob = model.last_word_log_probs(part)
        total += np.where(np.isfinite(log_prob), log_prob, 0.0)
    return total


def _without(levels: list[Level], order: int, gone: np.typing.NDArray[np.bool_], size: int) -> list[Level]:
    """The levels without some n-grams of one order, none of which is the prefix of a longer one."""
    place = np.cumsum(~gone) - 1
    changed = list(levels)
    changed[order - 1] = _kept(levels[order - 1], ~gone)
    if order < len(levels):
        keys = levels[order].keys
        changed[order] = replace(levels[order], keys=place[keys // size] * size + keys % size)
    return changed


def _kept(level: Level, which: np.typing.NDArray[np.bool_]) -> Level:
    return Level(level.keys[which], level.log_prob[which], level.back_off[which])


def level_of(keys: Ints, log_prob: Floats) -> Level:
    """A level whose back-off weights are not computed yet."""
    return Level(keys, log_prob, np.zeros(len(keys)))

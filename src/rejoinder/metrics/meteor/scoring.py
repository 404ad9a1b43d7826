"""METEOR 1.5 scores of replies, from the statistics of their alignments.

A row of statistics describes one reply and one reference, with columns in the order of METEOR's option `-ssOut`:
words of the reply and of the reference, function words of each; then for each module (exact, stem, synonym,
paraphrase) the content words that it matches in the reply and in the reference, and likewise the function words;
then chunks, matched words of the reply, matched words of the reference.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ints, Ragged
from rejoinder.metrics.meteor.alignment import align, chunks
from rejoinder.metrics.meteor.lexicon import Lexicon, used_words
from rejoinder.metrics.meteor.limits import beginnings
from rejoinder.metrics.meteor.matching import Matches, word_matches
from rejoinder.metrics.meteor.parameters import MeteorParameters
from rejoinder.metrics.meteor.paraphrase import ParaphraseTable
from rejoinder.metrics.meteor.phrases import phrase_matches
from rejoinder.types import Scores

Statistics = NDArray[np.float64]  # (rows, 23)

_COLUMNS = 23
_LEFT_WORDS, _RIGHT_WORDS, _LEFT_FUNCTION, _RIGHT_FUNCTION = range(4)
_MATCHED = slice(4, 20)
_CHUNKS, _LEFT_MATCHED, _RIGHT_MATCHED = range(20, 23)
_ROWS_AT_ONCE = 1 << 14
_PAIRS_AT_ONCE = 1 << 22  # of words, each of which may match


def reference_statistics(
    vocabulary: Sequence[str],
    replies: Ragged,
    references: Ragged,
    owner: Ints,
    parameters: MeteorParameters,
    paraphrases: ParaphraseTable | None = None,
) -> Statistics:
    """The statistics of each reference with its reply. (references, 23)

    Rows contain codes into the vocabulary; reference j belongs to reply `owner[j]`. Of very long texts only the
    beginnings are compared, and only their words are counted.
    """
    words, place = used_words(vocabulary, replies.values, references.values)
    lexicon = Lexicon.of(words, parameters)
    in_table = paraphrases.codes(words) if paraphrases is not None else place
    statistics = np.zeros((len(references), _COLUMNS))
    for rows in _blocks(replies.lengths[owner] * references.lengths):
        left, right = _recoded(replies.take(owner[rows]), place), _recoded(references.take(rows), place)
        left, right = beginnings(lexicon, left, right)
        matches = word_matches(lexicon, left, right)
        if paraphrases is not None:
            matches += phrase_matches(paraphrases, _recoded(left, in_table), _recoded(right, in_table))
        alignment = align(matches.by_start(), left, right, parameters.beam)
        statistics[rows] = _statistics(lexicon.is_function, left, right, alignment)
    return statistics


def _blocks(pairs: Ints) -> list[Ints]:
    """The rows in blocks that fit into memory; `pairs` has the pairs of words of each row."""
    rows = np.arange(len(pairs))
    new = (np.diff(np.cumsum(pairs) // _PAIRS_AT_ONCE) > 0) | (np.diff(rows // _ROWS_AT_ONCE) > 0)
    return np.split(rows, np.flatnonzero(new) + 1) if len(rows) else []


def best_statistics(each: Statistics, owner: Ints, replies: int, parameters: MeteorParameters) -> Statistics:
    """The statistics of each reply with its best reference; NaN for a reply without references. (replies, 23)"""
    best = np.full((replies, _COLUMNS), np.nan)
    # From the worst to the best, and on a tie from the last to the first: later rows overwrite earlier ones.
    order = np.argsort(score_from_statistics(each, parameters)[::-1], kind="stable")
    order = len(each) - 1 - order
    best[owner[order]] = each[order]
    return best


def score_from_statistics(statistics: Statistics, parameters: MeteorParameters) -> Scores:
    """The score of each row; NaN for a row of NaN. (rows,)"""
    alpha, beta, gamma, delta = parameters.alpha, parameters.beta, parameters.gamma, parameters.delta
    matched = statistics[:, _MATCHED].reshape(-1, 4, 2, 2)  # (rows, module, content or function, side)
    # These sums are in the order of the original, so that the last digit agrees.
    weighted = np.zeros((len(statistics), 2))
    for kind, kind_weight in enumerate((delta, 1.0 - delta)):
        for module, weight in enumerate(parameters.weights):
            weighted += matched[:, module, kind] * weight * kind_weight
    words, function_words = statistics[:, :_LEFT_FUNCTION], statistics[:, _LEFT_FUNCTION:4]
    lengths = delta * (words - function_words) + (1.0 - delta) * function_words
    with np.errstate(divide="ignore", invalid="ignore"):
        precision, recall = (weighted / lengths).T
        mean = 1.0 / ((1.0 - alpha) / precision + alpha / recall)
        fragments = statistics[:, _CHUNKS] / (statistics[:, _LEFT_MATCHED:].sum(axis=1) / 2)
        penalty = gamma * np.where(_is_perfect(statistics), 0.0, fragments) ** beta
        scores: Scores = np.maximum(mean * (1.0 - penalty), 0.0)
    scores[np.isnan(scores) & ~np.isnan(statistics[:, 0])] = 0.0
    return scores


def corpus_statistics(statistics: Statistics) -> NDArray[np.float64]:
    """The sums over all rows but those of NaN; the single chunk of a perfect match is not counted. (23,)

    The sums of several parts of a corpus may be added; `score_from_statistics` of the total is its score.
    """
    known = statistics[~np.isnan(statistics[:, 0])]
    total: NDArray[np.float64] = known.sum(axis=0)
    total[_CHUNKS] -= np.count_nonzero(_is_perfect(known))
    return total


def _is_perfect(statistics: Statistics) -> NDArray[np.bool_]:
    """Which rows match every word in one chunk. (rows,)"""
    complete = statistics[:, _LEFT_MATCHED:] == statistics[:, :_LEFT_FUNCTION]
    perfect: NDArray[np.bool_] = complete.all(axis=1) & (statistics[:, _CHUNKS] == 1)
    return perfect


def _statistics(is_function: NDArray[np.bool_], left: Ragged, right: Ragged, alignment: Matches) -> Statistics:
    """The statistics of aligned rows."""
    statistics = np.zeros((len(right), _COLUMNS))
    sides = ((left, alignment.left_start, alignment.left_length), (right, alignment.start, alignment.length))
    row_of_match = right.row_of_value[alignment.start]
    for side, (rows, start, length) in enumerate(sides):
        of_function = is_function[rows.values]
        statistics[:, side] = rows.lengths
        statistics[:, 2 + side] = np.bincount(rows.row_of_value[of_function], minlength=len(rows))
        function_before = np.append(0, np.cumsum(of_function))
        function = function_before[start + length] - function_before[start]
        column = row_of_match * 8 + alignment.module * 2
        for kind, count in enumerate((length - function, function)):
            counts = np.bincount(column + kind, count, minlength=len(rows) * 8).reshape(len(rows), 8)
            statistics[:, _MATCHED][:, side::2] += counts
        statistics[:, _LEFT_MATCHED + side] = np.bincount(row_of_match, length, minlength=len(rows))
    statistics[:, _CHUNKS] = chunks(alignment, right)
    return statistics


def _recoded(rows: Ragged, new_code: Ints) -> Ragged:
    return Ragged(new_code[rows.values], rows.offsets)

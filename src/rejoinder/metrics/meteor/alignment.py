"""The alignment of a reply with its reference: the matches that METEOR 1.5 chooses.

A match whose words have no other match is certain. Where there is a choice, a beam search goes through the reference
from left to right (see `beam`). Identical rows are aligned word by word.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ints, Ragged
from rejoinder.metrics.batch import identical_rows
from rejoinder.metrics.meteor.beam import resolve
from rejoinder.metrics.meteor.matching import Matches
from rejoinder.metrics.meteor.parameters import EXACT


def align(matches: Matches, left: Ragged, right: Ragged, beam: int) -> Matches:
    """The matches in the best alignment of each row; `matches` must be sorted by start."""
    matches = matches.take(_worth_trying(matches, left, right))
    certain = _certain(matches, len(left.values), len(right.values))
    chosen = certain.copy()
    if not certain.all():
        chosen[~certain] = resolve(matches.take(~certain), matches.take(certain), left, right, beam)
    return matches.take(chosen)


def chunks(alignment: Matches, right: Ragged) -> Ints:
    """The number of chunks: maximal runs of matches that are contiguous and in the same order on both sides. (rows,)"""
    row = right.row_of_value[alignment.start]
    goes_on = (alignment.start[1:] == alignment.end[:-1]) & (alignment.left_start[1:] == alignment.left_end[:-1])
    begins = np.append(True, ~goes_on | (row[1:] != row[:-1]))[: len(row)]
    return np.bincount(row[begins], minlength=len(right))


def _worth_trying(matches: Matches, left: Ragged, right: Ragged) -> NDArray[np.bool_]:
    """Which matches to consider: all of them, but in identical rows only those of each word with itself."""
    row = right.row_of_value[matches.start]
    same_place = matches.start - right.offsets[row] == matches.left_start - left.offsets[row]
    kept: NDArray[np.bool_] = ~identical_rows(left, right)[row] | (same_place & (matches.module == EXACT))
    return kept


def _certain(matches: Matches, left_words: int, right_words: int) -> NDArray[np.bool_]:
    """Which matches cover only words that no other match covers."""
    return _alone(matches.start, matches.end, right_words) & _alone(matches.left_start, matches.left_end, left_words)


def _alone(start: Ints, end: Ints, words: int) -> NDArray[np.bool_]:
    """Which spans of words overlap with no other span."""
    depth = np.cumsum(np.bincount(start, minlength=words + 1) - np.bincount(end, minlength=words + 1))
    crowded_before = np.append(0, np.cumsum(depth > 1))
    alone: NDArray[np.bool_] = crowded_before[end] == crowded_before[start]
    return alone

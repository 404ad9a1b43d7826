"""How much of very long texts is compared.

METEOR's cost grows with the pairs of words and with the possible matches among them, and so with the product of two
lengths. Beyond a limit only the beginnings are compared: the first half of both texts, or the first quarter, ... Two
English texts of 3,000 tokens are within the limits, and so is a reply of 200,000 tokens with a reference of fifty.
"""

from __future__ import annotations

import numpy as np

from rejoinder.arrays import Ints, Ragged, offsets_of
from rejoinder.metrics.meteor.lexicon import Lexicon
from rejoinder.metrics.meteor.matching import word_matches

MOST_PAIRS = 1 << 26
MOST_MATCHES = 1 << 19
"""Each takes about a second."""


def beginnings(lexicon: Lexicon, left: Ragged, right: Ragged) -> tuple[Ragged, Ragged]:
    """The rows of both sides, as far as they are compared: as a whole, or the same share of both."""
    halvings = np.zeros(len(left), np.int64)
    # A pair of words has two matches at most: by stem and as synonyms.
    for row in np.flatnonzero(left.lengths * right.lengths > min(MOST_PAIRS, MOST_MATCHES // 2)).tolist():
        while not _is_affordable(lexicon, *(_beginning(side[row], halvings[row]) for side in (left, right))):
            halvings[row] += 1
    if not halvings.any():
        return left, right
    return _beginnings(left, halvings), _beginnings(right, halvings)


def _is_affordable(lexicon: Lexicon, left: Ints, right: Ints) -> bool:
    if len(left) * len(right) > MOST_PAIRS:
        return False
    left_words, left_counts = np.unique(left, return_counts=True)
    right_words, right_counts = np.unique(right, return_counts=True)
    matches = word_matches(lexicon, _one_row(left_words), _one_row(right_words))
    return int((left_counts[matches.left_start] * right_counts[matches.start]).sum()) <= MOST_MATCHES


def _one_row(values: Ints) -> Ragged:
    return Ragged(values, np.array([0, len(values)]))


def _beginning(words: Ints, halvings: int) -> Ints:
    return words[: max(1, len(words) >> halvings)]


def _beginnings(rows: Ragged, halvings: Ints) -> Ragged:
    lengths = np.minimum(rows.lengths, np.maximum(1, rows.lengths >> halvings))
    place = np.arange(len(rows.values)) - np.repeat(rows.offsets[:-1], rows.lengths)
    return Ragged(rows.values[place < np.repeat(lengths, rows.lengths)], offsets_of(lengths))

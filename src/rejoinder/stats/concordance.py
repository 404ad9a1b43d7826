"""Concordant minus discordant pairs under example weights, for thousands of weightings of the same data.

Kendall's tau of a bootstrap resample is a weighted count over pairs. Only the weights change between resamples, not
which pairs agree, so the pairs are arranged once, and each resample costs a few passes over the examples.

The arrangement: write the rank of y among its distinct values as a binary number. Two examples with different y share
a prefix of bits, then one has 0 and the other 1, so each pair is counted at exactly one bit. Among the examples that
share a prefix, ordered by x, a running sum of the weights with bit 0 gives for each example with bit 1 the weight
before it in x (concordant) and after it (discordant). The number of passes is log2 of the number of distinct y: 6 for
human means on 41 levels, 16 for 40,000 distinct scores.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Floats, Ints
from rejoinder.stats.correlation import dense_codes, dot


@dataclass(frozen=True, slots=True)
class _Pass:
    """The examples with bit 0 and with bit 1, and where each of the latter reads the running sum."""

    zeros: Ints
    ones: Ints
    first: Ints  # before the first zero of the same prefix
    before: Ints  # before the zeros of the same prefix and x
    after: Ints  # after them
    last: Ints  # after the last zero of the same prefix


class Concordance:
    """Weighted concordance and tau-b of two vectors without NaN."""

    def __init__(self, x: Floats, y: Floats) -> None:
        by_levels = sorted((dense_codes(x), dense_codes(y)), key=_levels)
        self._few, self._many = by_levels  # tau is symmetric, so the passes run over the side with fewer values
        bits = int(_levels(self._few) - 1).bit_length()
        self._passes = [_arrange(self._many, self._few, bit) for bit in range(bits)]

    def balance(self, weights: NDArray[np.int64]) -> float:
        """The weight of concordant minus that of discordant pairs, under whole-number example weights."""
        total = 0.0
        for step in self._passes:
            running = np.zeros(step.zeros.size + 1, np.int64)
            np.cumsum(weights[step.zeros], out=running[1:])
            read = running[step.before] + running[step.after] - running[step.first] - running[step.last]
            total += dot(weights[step.ones], read)
        return total

    def tau_b(self, weights: NDArray[np.int64]) -> float:
        """Kendall's tau-b with each example repeated `weights` times; NaN where one side is constant."""
        n = float(weights.sum())
        pairs = n * (n - 1) / 2
        untied = [pairs - _tied_pairs(codes, weights) for codes in (self._few, self._many)]
        if min(untied) <= 0:
            return float("nan")
        return self.balance(weights) / float(np.sqrt(untied[0]) * np.sqrt(untied[1]))


def _levels(codes: Ints) -> int:
    return int(codes.max()) + 1 if codes.size else 0


def _tied_pairs(codes: Ints, weights: NDArray[np.int64]) -> float:
    sizes = np.bincount(codes, weights=weights)
    return dot(sizes, sizes - 1) / 2


def _arrange(x: Ints, y: Ints, bit: int) -> _Pass:
    """The pass over one bit of y."""
    prefix, is_one = y >> (bit + 1), (y >> bit & 1).astype(bool)
    place = prefix * (_levels(x) + 1) + x  # orders by prefix, then by x
    order = np.argsort(place, kind="stable")
    zeros, ones = order[~is_one[order]], order[is_one[order]]
    return _Pass(
        zeros,
        ones,
        first=np.searchsorted(prefix[zeros], prefix[ones], "left"),
        before=np.searchsorted(place[zeros], place[ones], "left"),
        after=np.searchsorted(place[zeros], place[ones], "right"),
        last=np.searchsorted(prefix[zeros], prefix[ones], "right"),
    )

"""Histogram bins: the same edges for all groups, aligned to integers where the values are whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rejoinder.figures.axes import EQUAL, tick_step
from rejoinder.types import Scores

TAIL = 0.99
"""Where there are outliers, the axis ends at this quantile, and the last bin includes them."""
FAR = 2.0
"""The largest value is an outlier if it is more than this many times as far from the lowest as that quantile."""


@dataclass(frozen=True, slots=True)
class Bins:
    """Edges of equal width."""

    edges: Scores
    beyond: int
    """Number of values above the last edge, which count in the last bin."""

    def shares(self, values: Scores) -> tuple[Scores, Scores]:
        """The number and the share of the values in each bin."""
        inside = np.minimum(values, self.edges[-1])
        counts = np.histogram(inside, self.edges)[0].astype(np.float64)
        return counts, counts / max(len(values), 1)


def bins_for(values: Scores, most: int = 28) -> Bins:
    """At most about `most` bins over the finite values."""
    known = values[np.isfinite(values)]
    if not len(known):
        return Bins(np.array([0.0, 1.0]), 0)
    low, high = float(known.min()), float(known.max())
    usual = float(np.quantile(known, TAIL))
    if usual > low and high - low > FAR * (usual - low):
        high = usual
    whole = bool(np.array_equal(known, np.round(known)))
    edges = _whole_edges(low, high, most) if whole else _even_edges(low, high, most)
    return Bins(edges, int(np.count_nonzero(known > edges[-1])))


def _whole_edges(low: float, high: float, most: int) -> Scores:
    step = max(1, math.ceil((high - low + 1) / most))
    count = math.ceil((high - low + 1) / step)
    return low - 0.5 + step * np.arange(count + 1, dtype=np.float64)


def _even_edges(low: float, high: float, most: int) -> Scores:
    size = max(1.0, abs(low), abs(high))
    if high - low <= EQUAL * size:
        return np.array([low - 0.05 * size, low + 0.05 * size])
    step = tick_step(low, high, most)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return step * np.arange(first, max(last, first + 1) + 1, dtype=np.float64)

"""Many comparisons at once: corrected p-values, and clusters of items without significant differences."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Floats, Ints

ALPHA = 0.05
"""The significance level of every verdict."""


def holm(p_values: ArrayLike) -> Floats:
    """The p-values, corrected to control the probability of any false positive (Holm 1979); NaN stays NaN.

    The k-th smallest of m is multiplied by m - k + 1, and the results are made non-decreasing.
    """
    given = np.asarray(p_values, np.float64)
    adjusted = np.full(given.shape, np.nan)
    known = np.flatnonzero(~np.isnan(given.reshape(-1)))
    flat = given.reshape(-1)[known]
    order = np.argsort(flat, kind="stable")
    steps = flat[order] * np.arange(flat.size, 0, -1)
    adjusted.reshape(-1)[known[order]] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def significance_clusters(estimates: ArrayLike, p_values: ArrayLike, alpha: float = ALPHA) -> Ints:
    """The cluster of each item, 1 for the best.

    From the highest estimate down, a new cluster starts where an item is significantly worse than any item of the
    current cluster, as in the metrics tasks of WMT (Freitag et al. 2022): no two items of one cluster differ
    significantly, but items of different clusters may not differ either. `p_values[i, j]` is the p-value of the
    difference between items i and j. An item without an estimate gets 0.
    """
    values, table = np.asarray(estimates, np.float64), np.asarray(p_values, np.float64)
    if values.ndim != 1 or table.shape != (values.size, values.size):
        raise ValueError(f"{values.shape} estimates need a square table of p-values, not {table.shape}")
    clusters = np.zeros(values.size, np.int64)
    members: list[int] = []
    cluster = 1
    for item in [int(i) for i in np.argsort(-values, kind="stable") if not np.isnan(values[i])]:
        if (table[members, item] < alpha).any():
            cluster += 1
            members = []
        clusters[item] = cluster
        members.append(item)
    return clusters

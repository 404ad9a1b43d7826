"""Many comparisons at once: p-values that account for it, and ranks with ties where nothing is settled."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Floats, Ints

ALPHA = 0.05
"""The level of every verdict."""


def holm(p_values: ArrayLike) -> Floats:
    """The p-values adjusted so that the chance of any false alarm stays at the level (Holm 1979); NaN stays
    NaN.

    The k-th smallest of m is multiplied by m - k + 1, and none may be below a smaller one.
    """
    given = np.asarray(p_values, np.float64)
    adjusted = np.full(given.shape, np.nan)
    known = np.flatnonzero(~np.isnan(given.reshape(-1)))
    flat = given.reshape(-1)[known]
    order = np.argsort(flat, kind="stable")
    steps = flat[order] * np.arange(flat.size, 0, -1)
    adjusted.reshape(-1)[known[order]] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def significance_clusters(
    estimates: ArrayLike, p_values: ArrayLike, alpha: float = ALPHA, *, rule: str = "every"
) -> Ints:
    """The cluster of each item, 1 for the best: from the top down, a new one starts where an item is clearly
    worse.

    `p_values[i, j]` is the p-value of the difference between items i and j. With the rule `every`, clearly worse means
    significantly worse than every item above, as in the human rankings of WMT: that holds for the first item of a
    cluster, the next ones need not differ from those above, and two items of one cluster may differ significantly. With
    `any`, it means significantly worse than any item of the current cluster, as in the metrics tasks of WMT (Freitag et
    al. 2022): no cluster holds two items that differ significantly, but items of different clusters need not differ. An
    item without an estimate gets 0.
    """
    if rule not in ("every", "any"):
        raise ValueError(f"rule must be 'every' or 'any', not {rule!r}")
    values, table = np.asarray(estimates, np.float64), np.asarray(p_values, np.float64)
    if values.ndim != 1 or table.shape != (values.size, values.size):
        raise ValueError(f"{values.shape} estimates need a square table of p-values, not {table.shape}")
    clusters = np.zeros(values.size, np.int64)
    above: list[int] = []  # with `any`: of the current cluster only
    cluster = 1
    for item in [int(i) for i in np.argsort(-values, kind="stable") if not np.isnan(values[i])]:
        worse = table[above, item] < alpha
        if above and (worse.all() if rule == "every" else worse.any()):
            cluster += 1
            above = above if rule == "every" else []
        clusters[item] = cluster
        above.append(item)
    return clusters

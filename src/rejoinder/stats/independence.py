"""Is a correlation with people more than chance: permutation tests of independence that keep contexts together.

Each context gets the human scores of another one, in random order. Replies to one context stay together, so that they
are not taken for independent; and a permutation test needs no approximation for ties or rare labels. A context with
fewer replies than the one whose scores it gets takes some of them, one with more replies takes some of them twice.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Floats, Ints
from rejoinder.stats.correlation import KINDS, midranks
from rejoinder.stats.permutation import chunk_sizes
from rejoinder.stats.resampling import Groups, group_codes

MOST_FOR_KENDALL = 200
"""With more replies Kendall's p-value is that of Spearman's test: the two differ less than the draws of either."""


def independence_p_values(
    scores: ArrayLike,
    human: ArrayLike,
    groups: Groups = None,
    kind: str = "pearson",
    *,
    n_permutations: int = 1999,
    seed: int = 0,
) -> Floats:
    """For each metric the two-sided p-value of its correlation with the human scores. (metrics,)

    `scores` is (examples, metrics), without NaN. NaN where a metric or people give only one value.
    """
    if kind not in KINDS:
        raise ValueError(f"unknown correlation {kind!r}; known: {', '.join(KINDS)}")
    matrix, target = np.asarray(scores, np.float64), np.asarray(human, np.float64)
    codes, _ = group_codes(groups, target.size)
    by_group = np.argsort(codes, kind="stable")
    matrix, target, codes = matrix[by_group], target[by_group], codes[by_group]
    p_values = np.full(matrix.shape[1], np.nan)
    varied = np.array([target.size > 1 and np.ptp(column) > 0 < np.ptp(target) for column in matrix.T])
    if not varied.any():
        return p_values
    by_pairs = kind == "kendall" and target.size <= MOST_FOR_KENDALL
    if kind != "pearson" and not by_pairs:
        matrix, target = np.stack([midranks(column) for column in matrix.T], axis=1), midranks(target)
    columns = _unit(_pair_signs(matrix.T[varied]) if by_pairs else matrix.T[varied], centre=not by_pairs)
    observed = np.abs(columns @ _unit(_pair_signs(target[None]) if by_pairs else target[None], centre=not by_pairs)[0])
    extreme = np.zeros(observed.size)
    rng = np.random.default_rng(seed)
    for size in chunk_sizes(columns.shape[1], n_permutations):
        rows = target[_block_permutations(codes, size, rng)]
        permuted = _unit(_pair_signs(rows) if by_pairs else rows, centre=not by_pairs) @ columns.T
        extreme += np.count_nonzero(np.abs(permuted) >= observed * (1 - 1e-9), axis=0)
    p_values[varied] = (extreme + 1) / (n_permutations + 1)
    return p_values


def _block_permutations(codes: Ints, size: int, rng: np.random.Generator) -> Ints:
    """For each example, sorted by group, another one, so that a group gets examples of one group. (size, examples)"""
    sizes = np.bincount(codes)
    starts: Ints = np.cumsum(sizes) - sizes
    place = np.arange(codes.size) - starts[codes]
    source = rng.random((size, sizes.size)).argsort(axis=1)[:, codes]  # the group that each example's group draws from
    shuffled = np.argsort(codes + rng.random((size, codes.size)), axis=1)  # the examples in random order within groups
    drawn = (starts[source] + place % sizes[source]).astype(np.int64)
    return np.take_along_axis(shuffled, drawn, axis=1)


def _unit(rows: Floats, *, centre: bool) -> Floats:
    """The rows scaled to length 1, less their means if `centre`; a constant row is all 0."""
    centred = rows - rows.mean(axis=1, keepdims=True) if centre else rows
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    unit: Floats = np.divide(centred, length, out=np.zeros(centred.shape), where=length > 1e-12)
    return unit


def _pair_signs(rows: Floats) -> Floats:
    """Which of each two values is larger: (rows, n) -> (rows, pairs)."""
    left, right = np.triu_indices(rows.shape[1], 1)
    signs: Floats = np.sign(rows[:, left] - rows[:, right])
    return signs

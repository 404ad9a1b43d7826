"""Splits that keep groups together: replies to one context are never on both sides of a split."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rejoinder.arrays import Ints
from rejoinder.errors import NeedsError

Seed = int | Sequence[int]


def held_out(
    groups: ArrayLike, share: float, seed: Seed, *, fewest: int = 1, most: int | None = None
) -> NDArray[np.bool_]:
    """Which rows to hold out: those of a random share of the groups, at most `most` groups.

    With fewer than `fewest` groups no row is held out.
    """
    names, codes = np.unique(np.asarray(groups), return_inverse=True)
    count = round(share * len(names)) if len(names) >= fewest else 0
    return drawn_groups(codes, count if most is None else min(count, most), seed)


def drawn_groups(groups: ArrayLike, count: int, seed: Seed) -> NDArray[np.bool_]:
    """Which rows belong to `count` random groups; all rows where there are no more groups than that."""
    names, codes = np.unique(np.asarray(groups), return_inverse=True)
    return np.isin(codes, np.random.default_rng(seed).permutation(len(names))[:count])


def fold_of_groups(groups: ArrayLike, folds: int, seed: Seed, *, by_size: bool = True) -> Ints:
    """The fold of each row; groups are kept whole, and assigned in random order.

    With `by_size` each group goes to the fold with the fewest rows so far; otherwise folds have equal numbers of
    groups, regardless of their sizes.
    """
    names, codes = np.unique(np.asarray(groups), return_inverse=True)
    if len(names) < folds:
        raise NeedsError(f"{len(names)} contexts cannot be split into {folds} folds: expected at least {folds}")
    order = np.random.default_rng(seed).permutation(len(names))
    if not by_size:
        return np.asarray(order[codes] % folds, np.int64)
    sizes = np.bincount(codes)
    filled, fold_of = np.zeros(folds, np.int64), np.empty(len(names), np.int64)
    for group in order:
        fold_of[group] = np.argmin(filled)
        filled[fold_of[group]] += sizes[group]
    return fold_of[codes]

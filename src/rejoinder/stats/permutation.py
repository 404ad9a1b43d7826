"""Random swaps and shuffles, in chunks, and the p-value of a permutation test.

Where there are no more different swaps or shuffles than were asked for, each comes once, except for the one that
changes nothing: the p-value is then exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Floats

CHUNK_VALUES = 4_000_000

SORTED_UNITS = 1000
"""Up to so many units, the members of many permutations are drawn at once, by sorting random numbers."""


def swap_chunks(n_units: int, n_permutations: int, seed: int) -> Iterator[Floats]:
    """For each permutation and unit 0 or 1 with equal probability, in chunks of shape (permutations, n_units)."""
    if n_swaps(n_units, n_permutations) < n_permutations:
        numbers = np.arange(1, 2**n_units)[:, None]
        yield (numbers >> np.arange(n_units) & 1).astype(np.float64)
        return
    rng = np.random.default_rng(seed)
    width = -(-n_units // 8)
    for size in chunk_sizes(n_units, n_permutations):
        random_bytes = rng.integers(0, 256, (size, width), dtype=np.uint8)
        yield np.unpackbits(random_bytes, axis=1, count=n_units).astype(np.float64)


def membership_chunks(n_units: int, n_members: int, n_permutations: int, seed: int) -> Iterator[Floats]:
    """For each permutation 1 at `n_members` random units, else 0, in chunks of shape (permutations, n_units).

    The last `n_members` units are those of the data.
    """
    if n_memberships(n_units, n_members, n_permutations) < n_permutations:
        chosen = np.array(list(combinations(range(n_units), n_members)))[:-1]  # the last are those of the data
        every = np.zeros((len(chosen), n_units))
        np.put_along_axis(every, chosen, 1, axis=1)
        yield every
        return
    rng = np.random.default_rng(seed)
    for size in chunk_sizes(n_units, n_permutations):
        chunk = np.zeros((size, n_units))
        if n_units <= SORTED_UNITS:
            chosen = rng.random((size, n_units)).argpartition(n_members - 1, axis=1)[:, :n_members]
            np.put_along_axis(chunk, chosen, 1, axis=1)
        else:
            for row in chunk:
                row[rng.choice(n_units, n_members, replace=False, shuffle=False)] = 1
        yield chunk


def n_swaps(n_units: int, n_permutations: int) -> int:
    """How many swaps are drawn: at most all that change something."""
    return min((1 << n_units) - 1, n_permutations)


def n_memberships(n_units: int, n_members: int, n_permutations: int) -> int:
    """How many memberships are drawn: at most all but that of the data."""
    return min(math.comb(n_units, n_members) - 1, n_permutations)


def permutation_p_value(observed: float, permuted: NDArray[np.float64]) -> float:
    """The two-sided p-value: the share of permuted statistics at least as extreme as the observed one.

    The observed one counts as one of them: otherwise p could be 0, and the test would reject too often (Phipson and
    Smyth 2010).
    """
    if np.isnan(observed):
        return float("nan")
    # A permutation that equals the data must count as extreme, although summing in another order may change its bits.
    extreme = np.count_nonzero(np.abs(permuted) >= abs(observed) * (1 - 1e-9))
    return float((extreme + 1) / (permuted.size + 1))


def chunk_sizes(width: int, n_permutations: int) -> Iterator[int]:
    """How many permutations to make at a time, so that memory stays bounded."""
    if n_permutations < 1:
        raise ValueError(f"n_permutations must be at least 1, not {n_permutations}")
    rows = max(1, CHUNK_VALUES // max(width, 1))
    for start in range(0, n_permutations, rows):
        yield min(rows, n_permutations - start)

"""How often a metric decides which of two systems is better as people do.

*Pairwise accuracy* (Kocmi et al. 2021, "To ship or not to ship") is the share of pairs of systems whose mean scores are
in the human order. A pair that people can barely tell apart counts as much as a clear one. *Soft pairwise accuracy*
(Thompson et al. 2024, WMT24) compares how sure the two are: the mean over pairs of 1 - |p_human - p_metric|, where p is
the one-sided p-value of "the first system is better" in a permutation test that swaps the two systems by context.
Permutations as extreme as the data count half, so that the order of the two systems does not matter. Two systems
without common contexts are compared by Welch's statistic and the normal distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np

from rejoinder.arrays import Floats
from rejoinder.stats.fixed_systems import FixedSystems
from rejoinder.stats.permutation import swap_chunks
from rejoinder.stats.sums import ROUNDING, Sums

PERMUTATIONS = 1000


@dataclass(frozen=True, slots=True)
class SystemPairs:
    """One metric's agreement with people on pairs of systems."""

    accuracy: float
    soft_accuracy: float
    n_pairs: int


def pairwise_accuracies(systems: FixedSystems, n_permutations: int = PERMUTATIONS, seed: int = 0) -> list[SystemPairs]:
    """The accuracies of each metric; NaN with fewer than two systems."""
    means = systems.means
    first, second = np.triu_indices(len(means), 1)
    if not first.size:
        return [SystemPairs(np.nan, np.nan, 0) for _ in range(means.shape[1] - 1)]
    order = np.sign(_clean(means[first] - means[second], means))  # (pairs, 1 + metrics)
    p_values = np.stack(
        [_p_values(systems, int(a), int(b), n_permutations, seed) for a, b in zip(first, second, strict=True)]
    )
    right = (order[:, 1:] == order[:, :1]).mean(axis=0)
    soft = 1 - np.abs(p_values[:, 1:] - p_values[:, :1]).mean(axis=0)
    return [SystemPairs(float(a), float(b), first.size) for a, b in zip(right, soft, strict=True)]


def _p_values(systems: FixedSystems, a: int, b: int, n_permutations: int, seed: int) -> Floats:
    """The one-sided p-values of people and of each metric that system a is better than b. (1 + metrics,)"""
    shared = (systems.sizes[:, a] > 0) & (systems.sizes[:, b] > 0)
    if shared.sum() < 2:
        return _unpaired(systems, a, b)
    of_a, of_b = (systems.sums[shared, one] / systems.sizes[shared, one][:, None] for one in (a, b))
    gains = of_a - of_b  # (contexts, 1 + metrics)
    rounding = ROUNDING * np.abs(gains).sum(axis=0)
    total = gains.sum(axis=0)
    beyond, drawn = np.zeros(gains.shape[1]), 0
    unchanged = np.zeros((1, len(gains)))  # which `swap_chunks` leaves out where it gives all swaps
    for swaps in chain([unchanged], swap_chunks(len(gains), n_permutations, seed)):
        swapped = swaps @ gains
        # Swapping these contexts, or all others, changes the sum by twice theirs: it is larger where theirs is below 0.
        for moved in (swapped, total - swapped):
            beyond += (moved < -rounding).sum(axis=0) + (np.abs(moved) <= rounding).sum(axis=0) / 2
            drawn += len(moved)
    p_values: Floats = beyond / drawn
    return p_values


def _unpaired(systems: FixedSystems, a: int, b: int) -> Floats:
    from scipy.special import ndtr

    p_values = []
    for column in range(systems.sums.shape[2]):
        of_a, of_b = (_sums(systems, one, column) for one in (a, b))
        gap, error = of_a.mean - of_b.mean, float(np.sqrt(of_a.variance + of_b.variance))
        p_values.append(float(ndtr(-gap / error)) if error > 0 else (1 - np.sign(gap)) / 2)
    return np.array(p_values)


def _sums(systems: FixedSystems, system: int, column: int) -> Sums:
    answered = systems.sizes[:, system] > 0
    return Sums(systems.sums[answered, system, column], systems.sizes[answered, system])


def _clean(differences: Floats, means: Floats) -> Floats:
    """The differences, with 0 for those that are rounding errors."""
    return np.where(np.abs(differences) > ROUNDING * np.abs(means).max(axis=0), differences, 0.0)

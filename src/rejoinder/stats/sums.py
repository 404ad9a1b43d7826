"""Values summed by group, with the mean and its cluster-robust variance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rejoinder.arrays import Floats

ROUNDING = 1e-9
"""Relative size of sums that differ from 0 only by rounding."""


@dataclass(frozen=True, slots=True)
class Sums:
    """The sum of the values of each group, and how many they are."""

    sums: Floats  # (groups,)
    sizes: Floats  # (groups,)

    @property
    def present(self) -> Sums:
        """The same without groups that have no values."""
        known = self.sizes > 0
        return self if known.all() else Sums(self.sums[known], self.sizes[known])

    @property
    def mean(self) -> float:
        """The mean value; NaN without values."""
        return float(self.sums.sum() / self.sizes.sum()) if self.sums.size else math.nan

    @property
    def variance(self) -> float:
        """The cluster-robust variance of the mean; NaN with fewer than two groups.

        The mean is a ratio of two sums, so its variance is that of the groups' residuals: G / (G - 1) times the sum of
        (s_g - mean n_g)^2, over n^2.
        """
        n_groups = self.sums.size
        if n_groups < 2:
            return math.nan
        residuals = self.sums - self.mean * self.sizes
        residuals[np.abs(residuals) <= ROUNDING * np.abs(self.sums).max()] = 0
        return float(n_groups / (n_groups - 1) * np.sum(residuals**2) / self.sizes.sum() ** 2)

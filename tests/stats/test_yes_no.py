"""Intervals of yes/no scores, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm, t

from rejoinder.stats.intervals import Sums, share_interval, unpaired_bounds


@pytest.mark.parametrize("values", [(0.0, 1.0), (1.0, 5.0)])
def test_replies_of_one_context_count_as_fewer(values: tuple[float, float]) -> None:
    """Four contexts with two replies each: both good, one good, one good, none.

    The variance of the share is 4/3 * (1 + 0 + 0 + 1) / 64 = 1/24, as of 1/4 * 24 = 6 independent replies instead of 8.
    """
    low, high = values
    good = np.array([2.0, 1.0, 1.0, 0.0])
    found = share_interval(Sums(good * high + (2 - good) * low, np.full(4, 2.0)), values)
    z = t.ppf(0.975, 3)
    reach = z * math.sqrt(0.25 / (6 + z**2))
    assert found.estimate == pytest.approx((low + high) / 2)
    assert found.low == pytest.approx(low + (high - low) * (0.5 - reach))
    assert found.high == pytest.approx(low + (high - low) * (0.5 + reach))


def test_the_difference_of_two_shares_is_that_of_agresti_and_caffo() -> None:
    """7 of 10 against 3 of 12: two replies are added to each side, of which one is good."""
    first, second = (Sums(np.repeat([0.0, 1.0], [n - good, good]), np.ones(n)) for good, n in ((3, 12), (7, 10)))
    low, high = unpaired_bounds(first, second, (0.0, 1.0))
    p, q = 4 / 14, 8 / 12
    reach = norm.ppf(0.975) * math.sqrt(p * (1 - p) / 14 + q * (1 - q) / 12)
    assert (low, high) == pytest.approx((q - p - reach, q - p + reach))

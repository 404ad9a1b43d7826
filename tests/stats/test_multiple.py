"""Holm's correction and significance clusters."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rejoinder.stats.resampling import holm, significance_clusters


def test_holm_on_a_hand_checked_case() -> None:
    # Sorted .005 x 4, .01 x 3, .03 x 2, .04 x 1; the last may not be below .06.
    assert holm([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_never_exceeds_one_and_leaves_nan_uncounted() -> None:
    assert holm([0.6, math.nan, 0.9]).tolist() == pytest.approx([1, math.nan, 1], nan_ok=True)
    assert holm([0.04, math.nan])[0] == pytest.approx(0.04)
    assert holm([]).size == 0
    assert holm([[0.01, 0.5], [0.02, 0.03]]).shape == (2, 2)


def p_table(significant: set[tuple[int, int]], n: int) -> np.ndarray:
    table = np.ones((n, n))
    for i, j in significant:
        table[i, j] = table[j, i] = 0.001
    return table


def test_one_significant_difference_within_a_cluster_starts_a_new_one() -> None:
    """0 beats 2, and 1 differs from neither; then 3 differs from 2, but not from 1."""
    assert significance_clusters([0.9, 0.8, 0.7], p_table({(0, 2)}, 3)).tolist() == [1, 1, 2]
    table = p_table({(0, 2), (1, 2), (2, 3)}, 4)
    assert significance_clusters([0.9, 0.8, 0.7, 0.6], table).tolist() == [1, 1, 2, 3]


def test_clusters_follow_the_estimates_not_the_order_given() -> None:
    table = p_table({(0, 1), (1, 2), (0, 3), (2, 3)}, 4)  # items 1 and 3 above 0 and 2
    assert significance_clusters([0.1, 0.9, 0.2, 0.8], table).tolist() == [2, 1, 2, 1]


def test_an_item_without_an_estimate_is_in_no_cluster() -> None:
    assert significance_clusters([0.5, math.nan], np.ones((2, 2))).tolist() == [1, 0]


def test_bad_calls_are_told() -> None:
    with pytest.raises(ValueError, match="square"):
        significance_clusters([1.0, 2.0], [0.5])

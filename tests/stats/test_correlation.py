"""Correlations with p-values, against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rejoinder.stats.correlation import KINDS, correlate, midranks

PEERS = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [3, 8, 50, 1000])
@pytest.mark.parametrize("ties", [False, True])
def test_coefficient_and_p_value_are_those_of_scipy(kind: str, n: int, ties: bool) -> None:
    rng = np.random.default_rng(n)
    x = rng.normal(size=n)
    y = 0.3 * x + rng.normal(size=n)
    if ties:
        x, y = np.round(2 * x), np.round(y)
    theirs = PEERS[kind](x, y)
    ours = correlate(x, y, kind)
    assert ours.coefficient == pytest.approx(theirs.statistic, abs=1e-12, nan_ok=True)
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-6, abs=1e-12, nan_ok=True)
    assert ours.n == n


@pytest.mark.parametrize("kind", KINDS)
def test_an_example_with_a_gap_on_either_side_is_left_out(kind: str) -> None:
    x = [1.0, 2.0, math.nan, 4.0, 5.0, 3.0]
    y = [2.0, 1.0, 9.0, 5.0, math.nan, 4.0]
    assert correlate(x, y, kind) == correlate([1.0, 2.0, 4.0, 3.0], [2.0, 1.0, 5.0, 4.0], kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("x", "y"), [([], []), ([1.0], [2.0]), ([1.0, 1.0, 1.0], [1.0, 2.0, 3.0])])
def test_without_variation_there_is_no_correlation(kind: str, x: list[float], y: list[float]) -> None:
    result = correlate(x, y, kind)
    assert math.isnan(result.coefficient)
    assert math.isnan(result.p_value)


def test_a_perfect_line_and_two_points() -> None:
    assert correlate([1.0, 2.0, 3.0, 4.0], [3.0, 5.0, 7.0, 9.0]).coefficient == 1
    assert correlate([1.0, 2.0, 3.0, 4.0], [3.0, 5.0, 7.0, 9.0]).p_value == 0
    assert correlate([1.0, 2.0], [5.0, 3.0]).p_value == 1  # two points always lie on a line


def test_huge_values_do_not_overflow() -> None:
    assert correlate([1e200, 2e200, 3e200], [1e200, 3e200, 2e200]).coefficient == pytest.approx(0.5)


def test_midranks_share_tied_ranks() -> None:
    assert midranks(np.array([10.0, 20.0, 10.0, 5.0])).tolist() == [2.5, 4, 2.5, 1]


def test_bad_calls_are_told() -> None:
    with pytest.raises(ValueError, match="equal length"):
        correlate([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="unknown correlation 'person'"):
        correlate([1.0, 2.0], [1.0, 2.0], "person")

"""Tests of two metrics' correlations with people."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rejoinder.stats.correlation import KINDS, correlate
from rejoinder.stats.correlation_tests import SWAPPED, compare_correlations, standardised, williams, williams_test


def test_williams_on_steigers_example() -> None:
    """Steiger 1980: n = 103, correlations .5 and .4, metrics .1; R psych's r.test gives t = -.89, p = .37."""
    result = williams_test(0.5, 0.4, 0.1, 103)
    assert result.t == pytest.approx(-0.8913, abs=5e-4)
    assert result.p_value == pytest.approx(0.375, abs=5e-4)
    assert williams_test(0.4, 0.5, 0.1, 103).t == -result.t


def test_williams_keeps_its_level() -> None:
    """Two metrics of equal worth: the test rejects in about 5 % of samples."""
    rng = np.random.default_rng(0)
    rejected = 0
    for _ in range(1000):
        human, shared = rng.normal(size=60), rng.normal(size=60)
        a, b = (0.5 * human + 0.6 * shared + 0.6 * rng.normal(size=60) for _ in range(2))
        rejected += williams(a, b, human).p_value < 0.05
    assert 30 <= rejected <= 71  # three standard errors about 50


def test_williams_of_scores_uses_their_correlations() -> None:
    rng = np.random.default_rng(1)
    human = rng.normal(size=50)
    a, b = human + rng.normal(size=50), human + 2 * rng.normal(size=50)
    a[3] = np.nan
    known = ~np.isnan(a)
    r_a, r_b, r_ab = (stats.spearmanr(x[known], y[known]).statistic for x, y in ((a, human), (b, human), (a, b)))
    assert williams(a, b, human, "spearman").t == pytest.approx(williams_test(r_a, r_b, r_ab, 49).t)


def test_one_metric_does_not_differ_from_itself() -> None:
    assert williams_test(0.5, 0.5, 1.0, 50).p_value == 1
    assert math.isnan(williams_test(0.5, 0.4, 0.1, 3).t)
    assert math.isnan(williams_test(math.nan, 0.4, 0.1, 30).t)
    with pytest.raises(ValueError, match="between -1 and 1"):
        williams_test(1.5, 0.4, 0.1, 30)


@pytest.mark.parametrize("kind", KINDS)
def test_swapped_correlations_are_those_of_the_scores_written_out(kind: str) -> None:
    rng = np.random.default_rng(2)
    human = rng.integers(1, 6, 40).astype(float)
    a, b = (standardised(np.round(human + rng.normal(size=40), 1)) for _ in range(2))
    codes = rng.integers(0, 12, 40)
    swaps = rng.integers(0, 2, (8, 12)).astype(float)
    differences = SWAPPED[kind](a, b, human, codes)(swaps)
    for swap, difference in zip(swaps, differences, strict=True):
        swapped = swap[codes] == 1
        first, second = np.where(swapped, b, a), np.where(swapped, a, b)
        expected = correlate(second, human, kind).coefficient - correlate(first, human, kind).coefficient
        assert difference == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_clearly_better_metric_is_found(kind: str) -> None:
    rng = np.random.default_rng(3)
    human = rng.normal(size=100)
    good, poor = human + 0.5 * rng.normal(size=100), human + 3 * rng.normal(size=100)
    result = compare_correlations(100 * poor, good, human, kind=kind, n_permutations=99, n_resamples=100)
    assert result.p_value == 0.01
    assert result.difference.low > 0
    assert result.difference.estimate == pytest.approx(result.correlation_b - result.correlation_a)
    assert result.n == 100


def test_the_permutation_test_keeps_its_level_by_context() -> None:
    """Both metrics err alike within a context; swapped by context the test is honest."""
    rng = np.random.default_rng(4)
    contexts = np.repeat(np.arange(30), 4)
    rejected = 0
    for seed in range(300):
        human = rng.normal(size=30).repeat(4) + rng.normal(size=120)
        a, b = (human + 2 * rng.normal(size=30).repeat(4) + rng.normal(size=120) for _ in range(2))
        result = compare_correlations(a, b, human, contexts, n_permutations=99, n_resamples=1, seed=seed)
        rejected += result.p_value <= 0.05
    assert rejected <= 27  # 15 expected, plus three standard errors


def test_without_variation_there_is_nothing_to_compare() -> None:
    result = compare_correlations([1.0, 1.0, 1.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], n_resamples=5)
    assert math.isnan(result.p_value)
    assert math.isnan(compare_correlations([], [], []).p_value)
    with pytest.raises(ValueError, match="equal length"):
        compare_correlations([1.0], [1.0, 2.0], [1.0, 2.0])

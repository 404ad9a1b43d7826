"""Pairwise accuracy with ties; the worked cases are those of mt-metrics-eval's own tests."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rejoinder.stats import pairs
from rejoinder.stats.pairs import calibrate_ties, pairs_within, pairwise_agreement

NAN = math.nan
# google-research/mt-metrics-eval, tau_optimization_test.py, test_regression_example: five items, five systems.
METRIC = np.array([[0, 5, 2, 3, 2], [NAN, 2, 1, 5, 3], [9, 1, 5, 3, 8], [9, 3, 4, 4, 1], [NAN] * 5]).ravel()
HUMAN = np.array([[1, 5, 2, 1, 1], [4, 2, 2, 1, 4], [5, 9, 2, 8, 7], [7, 6, NAN, 3, 2], [NAN] * 5]).ravel()
ITEMS = np.repeat(np.arange(5), 5)
BY_EPSILON = [0.466667, 0.491667, 0.383333, 0.291667, 0.266667, 0.2, 0.158333, 0.158333, 0.116667]


@pytest.mark.parametrize(("epsilon", "accuracy"), list(enumerate(BY_EPSILON)))
def test_accuracy_is_that_of_mt_metrics_eval(epsilon: int, accuracy: float) -> None:
    result = pairwise_agreement(METRIC, HUMAN, ITEMS, epsilon, n_resamples=50)
    assert result.accuracy.estimate == pytest.approx(accuracy, abs=1e-6)
    assert result.tau_eq == pytest.approx(2 * accuracy - 1, abs=2e-6)
    assert result.n_contexts == 4  # the item without scores does not count
    assert result.n_pairs == 10 + 6 + 10 + 6


@pytest.mark.parametrize(
    ("metric", "human", "epsilon"),
    [
        ([0, 2, 6, 8], [1, 2, 3, 4], 0),  # test_zero_threshold_is_best
        ([0, 2, 6, 8], [1, 1, 1, 4], 4),  # test_nonzero_threshold_is_best: 4/6 at 4 and at 6
    ],
)
def test_calibration_finds_the_smallest_best_epsilon(metric: list[float], human: list[float], epsilon: float) -> None:
    assert calibrate_ties(metric, human, [0] * 4) == epsilon


def test_calibration_over_several_contexts_is_that_of_mt_metrics_eval() -> None:
    assert calibrate_ties(METRIC, HUMAN, ITEMS) == 1


def test_the_variants_of_tau() -> None:
    """mt-metrics-eval, stats_test.py, testKendallVariants and testKendallWithTiesOpt: b .3162, acc23 .6, .4, .7."""
    human, metric, context = [1, 2, 2, 3, 4], [2, 1, 1.5, 5, 3], [0] * 5
    plain = pairwise_agreement(metric, human, context)
    assert plain.tau_b == pytest.approx(0.316227766)
    assert plain.accuracy.estimate == pytest.approx(0.6)
    assert math.isnan(plain.accuracy.low)  # one context says nothing about others
    assert pairwise_agreement(metric, human, context, 2).accuracy.estimate == pytest.approx(0.4)
    best = calibrate_ties(metric, human, context)
    assert pairwise_agreement(metric, human, context, best).accuracy.estimate == pytest.approx(0.7)


def test_tau_b_is_the_mean_of_scipys_over_contexts() -> None:
    rng = np.random.default_rng(0)
    human, metric = rng.integers(0, 4, 60).astype(float), np.round(rng.normal(size=60), 1)
    groups = rng.integers(0, 9, 60)
    taus = [stats.kendalltau(metric[groups == g], human[groups == g]).statistic for g in range(9)]
    assert pairwise_agreement(metric, human, groups, n_resamples=10).tau_b == pytest.approx(np.nanmean(taus))


def test_calibration_matches_a_search_over_all_thresholds() -> None:
    rng = np.random.default_rng(1)
    human, metric = rng.integers(0, 3, 40).astype(float), np.round(rng.normal(size=40), 2)
    groups = rng.integers(0, 8, 40)
    left, right = pairs_within(groups)
    candidates = np.unique(np.append(0, np.abs(metric[right] - metric[left])))
    accuracies = [pairwise_agreement(metric, human, groups, e, n_resamples=2).accuracy.estimate for e in candidates]
    found = pairwise_agreement(metric, human, groups, calibrate_ties(metric, human, groups), n_resamples=2)
    assert found.accuracy.estimate == pytest.approx(max(accuracies))


def test_pairs_are_all_pairs_within_groups() -> None:
    left, right = pairs_within(np.array([7, 3, 7, 3, 7, 1]))
    assert sorted(zip(left.tolist(), right.tolist(), strict=True)) == [(0, 2), (0, 4), (1, 3), (2, 4)]


def test_contexts_with_one_reply_have_no_pairs() -> None:
    result = pairwise_agreement([1.0, 2.0], [1.0, 2.0], ["a", "b"])
    assert math.isnan(result.accuracy.estimate)
    assert math.isnan(result.tau_b)
    assert math.isnan(calibrate_ties([1.0, 2.0], [1.0, 2.0], ["a", "b"]))


def test_too_many_pairs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "MOST_PAIRS", 5)
    with pytest.raises(ValueError, match="6 pairs"):
        pairwise_agreement([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], [0] * 4)
    with pytest.raises(ValueError, match="epsilon"):
        pairwise_agreement([1.0], [1.0], [0], epsilon=-1)

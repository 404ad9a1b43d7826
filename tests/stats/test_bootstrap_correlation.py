"""Bootstrapped correlations: every replicate must equal scipy's on the written-out resample."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rejoinder.stats.correlation import KINDS, Concordance, correlate
from rejoinder.stats.correlation_intervals import (
    _fisher_error,
    bootstrap_correlations,
    correlation_bounds,
    correlation_replicates,
)
from rejoinder.stats.resampling import bootstrap_counts

PEERS = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
N, RESAMPLES, SEED = 90, 40, 3


@pytest.fixture(scope="module")
def judged() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three metrics (continuous, tied, with gaps), ratings on five levels, groups of unequal size."""
    rng = np.random.default_rng(0)
    human = rng.integers(1, 6, N).astype(float)
    scores = 0.5 * human[:, None] + rng.normal(size=(N, 3))
    scores[:, 1] = np.round(scores[:, 1])
    scores[rng.choice(N, 15, replace=False), 2] = np.nan
    return scores, human, rng.integers(0, 25, N)


@pytest.mark.parametrize("kind", KINDS)
def test_each_replicate_is_the_correlation_of_the_resample_written_out(
    judged: tuple[np.ndarray, np.ndarray, np.ndarray], kind: str
) -> None:
    scores, human, groups = judged
    replicates = correlation_replicates(scores, human, groups, RESAMPLES, SEED, [kind])[kind]
    counts = bootstrap_counts(groups, RESAMPLES, SEED)
    codes = np.unique(groups, return_inverse=True)[1]
    for draw, row in zip(counts, replicates, strict=True):
        rows = np.repeat(np.arange(N), draw[codes].astype(int))
        for j in range(3):
            known = rows[~np.isnan(scores[rows, j])]
            assert row[j] == pytest.approx(PEERS[kind](scores[known, j], human[known]).statistic, abs=1e-12)


def test_the_intervals_hold_the_estimates(judged: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    scores, human, groups = judged
    intervals = bootstrap_correlations(scores, human, groups, 300, kinds=KINDS)
    for kind in KINDS:
        for j, interval in enumerate(intervals[kind]):
            assert interval.estimate == correlate(scores[:, j], human, kind).coefficient
            assert interval.low < interval.estimate < interval.high


def test_metrics_share_their_resamples(judged: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    scores, human, groups = judged
    together = bootstrap_correlations(scores, human, groups, 100)
    alone = bootstrap_correlations(scores[:, 1], human, groups, 100)
    for kind, intervals in alone.items():
        assert together[kind][1].low == pytest.approx(intervals[0].low, abs=1e-12)


def test_pearson_agrees_with_the_normal_theory() -> None:
    rng = np.random.default_rng(1)
    human = rng.normal(size=800)
    scores = 0.6 * human + 0.8 * rng.normal(size=800)
    interval = bootstrap_correlations(scores, human, n_resamples=3000)["pearson"][0]
    theirs = stats.pearsonr(scores, human).confidence_interval()
    assert interval.low == pytest.approx(theirs.low, abs=0.008)
    assert interval.high == pytest.approx(theirs.high, abs=0.008)


def test_no_examples_and_constant_scores_give_nan() -> None:
    for scores, human in (([], []), ([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]), ([math.nan] * 3, [1.0, 2.0, 3.0])):
        for intervals in bootstrap_correlations(scores, human, n_resamples=20, kinds=KINDS).values():
            assert math.isnan(intervals[0].estimate)
            assert math.isnan(intervals[0].low)


def test_bad_calls_are_told() -> None:
    with pytest.raises(ValueError, match="unknown correlation 'tau'"):
        bootstrap_correlations([1.0, 2.0], [1.0, 2.0], kinds=["tau"])
    with pytest.raises(ValueError, match="examples, metrics"):
        bootstrap_correlations([1.0, 2.0], [1.0, 2.0, 3.0])


small = st.integers(0, 4)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(small, small, st.integers(0, 3)), min_size=2, max_size=25))
def test_weighted_concordance_equals_the_sum_over_all_pairs(rows: list[tuple[int, int, int]]) -> None:
    x, y, weights = (np.array(column) for column in zip(*rows, strict=True))
    signs = np.sign(x[:, None] - x) * np.sign(y[:, None] - y)
    expected = weights @ signs @ weights / 2
    concordance = Concordance(x.astype(float), y.astype(float))
    assert concordance.balance(weights) == expected
    written_out = np.repeat(np.arange(x.size), weights)
    if written_out.size > 1 and np.ptp(x[written_out]) and np.ptp(y[written_out]):
        tau = stats.kendalltau(x[written_out], y[written_out]).statistic
        assert concordance.tau_b(weights) == pytest.approx(tau)
    else:
        assert math.isnan(concordance.tau_b(weights))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [12, 20])
def test_intervals_cover_a_correlation_of_tied_scores_with_rare_labels(kind: str, n: int) -> None:
    """Resamples of a few such replies are too much alike: 53 to 86 % were covered."""
    rng = np.random.default_rng(0)
    covered = []
    for seed in range(200):
        score, human = np.maximum(rng.normal(size=n), 0), (rng.random(n) < 0.2).astype(float)
        (interval,) = bootstrap_correlations(score, human, None, 200, seed=seed, kinds=[kind])[kind]
        if not np.isnan(interval.estimate):
            covered.append(interval.covers(0))
    assert np.mean(covered) > 0.91


def test_many_replies_get_the_bounds_of_fisher_where_the_bootstrap_agrees() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    y = 0.5 * x + rng.normal(size=400)
    (interval,) = bootstrap_correlations(x, y, None, 2000, kinds=["pearson"])["pearson"]
    theirs = stats.pearsonr(x, y).confidence_interval()
    assert (interval.low, interval.high) == pytest.approx((theirs.low, theirs.high), abs=0.02)
    assert interval.low < theirs.low + 1e-9
    assert interval.high > theirs.high - 1e-9


def test_the_error_of_fishers_z() -> None:
    """Bonett and Wright 2000: Spearman's has half of the squared correlation more."""
    assert _fisher_error(0.6, 28, "pearson") == pytest.approx(math.sqrt(1 / 25))
    assert _fisher_error(0.6, 28, "spearman") == pytest.approx(math.sqrt((1 + 0.36 / 2) / 25))


def test_the_error_of_tau_is_that_of_scipys_test() -> None:
    """scipy's asymptotic p-value is of z = S / sd(S), ties included: with n = 40, tau / error is the same z."""
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 4, 40).astype(float), rng.integers(0, 3, 40).astype(float)
    z = stats.norm.isf(stats.kendalltau(x, y, method="asymptotic").pvalue / 2)
    tau = abs(correlate(x, y, "kendall").coefficient)
    replicates = np.full(10, tau)  # of no width: the bounds are Fisher's
    interval = correlation_bounds(x, y, "kendall", replicates, 40)
    assert interval.half_width > 0
    reach = (math.atanh(interval.high) - math.atanh(interval.low)) / 2
    assert tau / (reach / stats.norm.isf(0.025)) == pytest.approx(z)

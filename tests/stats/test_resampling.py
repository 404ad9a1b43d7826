"""Cluster bootstrap counts and the intervals of means."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rejoinder.stats import resampling
from rejoinder.stats.intervals import Interval, acceleration, bootstrap_bounds, t_quantile
from rejoinder.stats.resampling import bootstrap_counts, group_codes, linear_interval, mean_interval, mean_intervals


def test_each_resample_draws_as_many_groups_as_there_are() -> None:
    counts = bootstrap_counts(["a", "b", "b", "c"], n_resamples=200, seed=1)
    assert counts.shape == (200, 3)
    assert (counts.sum(axis=1) == 3).all()
    assert counts.mean() == pytest.approx(1)
    assert len(np.unique(counts, axis=0)) == 10  # all multisets of 3 out of 3 turn up in 200 draws


def test_counts_depend_on_the_seed_and_not_on_the_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = bootstrap_counts(None, 50, seed=3, n=20)
    assert not np.array_equal(whole, bootstrap_counts(None, 50, seed=4, n=20))
    monkeypatch.setattr(resampling, "CHUNK_VALUES", 60)
    assert np.array_equal(whole, bootstrap_counts(None, 50, seed=3, n=20))


def test_group_codes_follow_the_sorted_names() -> None:
    codes, n_groups = group_codes(["b", "a", "b"], 3)
    assert codes.tolist() == [1, 0, 1]
    assert n_groups == 2
    with pytest.raises(ValueError, match="2 groups for 3 examples"):
        group_codes(["b", "a"], 3)
    with pytest.raises(ValueError, match="one name"):
        group_codes([("b", 1), ("a", 2)], 2)


@pytest.mark.parametrize(("values", "estimate"), [([], math.nan), ([math.nan], math.nan), ([2.5], 2.5)])
def test_too_few_values_have_no_bounds(values: list[float], estimate: float) -> None:
    interval = mean_interval(values)
    assert interval.estimate == pytest.approx(estimate, nan_ok=True)
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)


def test_one_group_has_no_bounds_however_many_values() -> None:
    interval = mean_interval([1.0, 2.0, 3.0], groups=["x", "x", "x"])
    assert interval.estimate == 2
    assert math.isnan(interval.low)


def test_nan_is_left_out_of_its_own_column_only() -> None:
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(60, 2))
    matrix[:20, 1] = np.nan
    first, second = mean_intervals(matrix)
    assert first.estimate == pytest.approx(matrix[:, 0].mean())
    assert second.estimate == pytest.approx(matrix[20:, 1].mean())
    assert second.half_width > first.half_width


def test_the_interval_agrees_with_the_t_interval_on_normal_values() -> None:
    values = np.random.default_rng(0).normal(size=400)
    low, high = stats.t.interval(0.95, 399, values.mean(), stats.sem(values))
    interval = mean_interval(values, n_resamples=4000)
    assert interval.low == pytest.approx(low, abs=0.006)
    assert interval.high == pytest.approx(high, abs=0.006)


def test_a_mean_of_few_groups_is_covered() -> None:
    """Bounds within the range of five values hold the mean in 15 of 16 cases at best; the bootstrap's do in 90 %."""
    rng = np.random.default_rng(0)
    covered = [mean_interval(rng.normal(size=5), n_resamples=100).covers(0) for _ in range(800)]
    assert np.mean(covered) >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / 800)


def test_no_interval_is_shorter_than_the_t_interval_of_the_groups() -> None:
    rng = np.random.default_rng(0)
    for values in (rng.normal(size=9), rng.exponential(size=9), rng.exponential(size=30)):
        low, high = stats.t.interval(0.95, values.size - 1, values.mean(), stats.sem(values))
        repeated = mean_interval(np.repeat(values, 4), np.repeat(np.arange(values.size), 4))
        assert repeated.low <= low + 1e-9
        assert repeated.high >= high - 1e-9


@pytest.mark.parametrize(("n", "share"), [(10, 0.1), (20, 0.05), (50, 0.02)])
def test_intervals_of_rare_scores_cover_the_share(n: int, share: float) -> None:
    """Often all of them are 0: an interval of width 0 covered the share in 40 to 66 % of samples."""
    rng = np.random.default_rng(0)
    found = [mean_interval((rng.random(n) < share).astype(float), limits=(0, 1)) for _ in range(300)]
    assert np.mean([interval.covers(share) for interval in found]) > 0.91
    assert all(0 <= interval.low < interval.high <= 1 for interval in found)


def test_equal_scores_have_an_interval_only_where_they_are_yes_or_no() -> None:
    """That of Agresti and Coull: with z^2 = 3.84, (0 + 1.92) / 13.84 and its error of a share of 13.84."""
    for value, limits in ((0.0, None), (0.3, (0, 1))):
        found = mean_interval([value] * 10, limits=limits)
        assert (found.low, found.high) == pytest.approx((value, value))
    centre = stats.norm.isf(0.025) ** 2 / 2 / (10 + stats.norm.isf(0.025) ** 2)
    high = centre + stats.norm.isf(0.025) * math.sqrt(centre * (1 - centre) / (10 + stats.norm.isf(0.025) ** 2))
    never, always = mean_interval([0.0] * 10, limits=(0, 1)), mean_interval([5.0] * 10, limits=(1, 5))
    assert (never.low, never.high) == pytest.approx((0, high))
    assert (always.low, always.high) == pytest.approx((5 - 4 * high, 5))


def test_yes_or_no_scores_of_one_context_count_once() -> None:
    rng = np.random.default_rng(0)
    values, groups = (rng.random(40) < 0.3).astype(float), np.arange(40)
    alone, repeated = mean_interval(values, groups), mean_interval(np.repeat(values, 6), np.repeat(groups, 6))
    assert repeated.half_width == pytest.approx(alone.half_width, rel=0.05)
    assert mean_interval(np.repeat(values, 6)).half_width < 0.5 * alone.half_width


def test_groups_of_equal_values_count_once() -> None:
    """Each value repeated ten times in one group carries no more evidence than the value itself."""
    values = np.random.default_rng(0).normal(size=50)
    groups = np.arange(50)
    alone = mean_interval(values, groups)
    repeated = mean_interval(np.repeat(values, 10), np.repeat(groups, 10))
    assert repeated.low == pytest.approx(alone.low)
    assert repeated.high == pytest.approx(alone.high)
    assert mean_interval(np.repeat(values, 10)).half_width < 0.5 * alone.half_width


def test_a_skewed_mean_has_the_longer_arm_on_the_side_of_the_tail() -> None:
    values = np.random.default_rng(0).exponential(size=40)
    interval = mean_interval(values, n_resamples=4000)
    assert interval.high - interval.estimate > 1.1 * (interval.estimate - interval.low)


def test_many_groups_get_the_normal_interval_and_it_agrees_with_the_bootstrap() -> None:
    values = np.random.default_rng(0).exponential(size=(resampling.LARGE, 1))
    fewer = mean_intervals(values[:-1], n_resamples=2000)[0]
    many = mean_intervals(values)[0]
    assert many.low == pytest.approx(fewer.low, abs=5e-4)
    assert many.high == pytest.approx(fewer.high, abs=5e-4)


def test_linear_interval_is_the_t_interval_for_groups_of_one() -> None:
    values = np.array([1.0, 4.0, 2.0, 7.0, 3.0])
    low, high = stats.t.interval(0.9, 4, values.mean(), stats.sem(values))
    interval = linear_interval(values, np.ones(5), 0.9)
    assert [interval.low, interval.high] == pytest.approx([low, high])


def test_bca_agrees_with_scipy_once_the_expansion_is_undone() -> None:
    """scipy's BCa uses normal quantiles, ours t quantiles times sqrt(G / (G - 1)): the levels are matched."""
    values = np.random.default_rng(5).exponential(size=80)
    wider = 2 * stats.norm.cdf(math.sqrt(80 / 79) * t_quantile(0.95, 79)) - 1
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, confidence_level=wider, method="BCa", rng=np.random.default_rng(0)
    ).confidence_interval
    drawn = bootstrap_counts(None, 20_000, n=80) @ values / 80
    ours = bootstrap_bounds(drawn, float(values.mean()), 80, leave_one_out=(values.sum() - values) / 79)
    assert ours.low == pytest.approx(theirs.low, abs=0.01)
    assert ours.high == pytest.approx(theirs.high, abs=0.01)


def test_acceleration_is_a_sixth_of_the_skewness() -> None:
    values = np.array([0.0, 0.0, 0.0, 1.0])
    without = (values.sum() - values) / 3
    # Mean without each: 1/3, 1/3, 1/3, 0; influences -1/12 three times and 1/4: 12 / 864 over 6 (1/12)^1.5.
    assert acceleration(without) == pytest.approx((12 / 864) / (6 * (1 / 12) ** 1.5))
    assert acceleration(np.ones(4)) == 0


def test_replicates_that_are_undefined_are_left_out() -> None:
    replicates = np.append(np.linspace(0, 1, 1001), np.nan)
    interval = bootstrap_bounds(replicates, 0.5, n_groups=10_000)
    assert interval.low == pytest.approx(0.025, abs=1e-3)
    assert interval.high == pytest.approx(0.975, abs=1e-3)


def test_an_interval_knows_what_it_covers() -> None:
    interval = Interval(1.0, 0.5, 2.0)
    assert interval.covers(0.5)
    assert not interval.covers(2.1)
    assert interval.half_width == 0.75


@pytest.mark.parametrize("confidence", [0, 1, 95])
def test_confidence_is_a_share(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence"):
        mean_interval([1.0, 2.0], confidence=confidence)


def test_a_vector_is_no_matrix() -> None:
    with pytest.raises(ValueError, match="examples, metrics"):
        mean_intervals([1.0, 2.0])
    with pytest.raises(ValueError, match="n_resamples"):
        mean_interval([1.0, 2.0], n_resamples=0)
    with pytest.raises(ValueError, match="needs groups"):
        bootstrap_counts(None)


@pytest.mark.parametrize("labels", [[3, 0, 3, 5], [0, 1, 0, 2], [-1, 4, -1, 4], [10**12, 5, 5, 0], [7, 7, 7, 7]])
def test_groups_are_numbered_in_the_order_of_their_names(labels: list[int]) -> None:
    codes, count = group_codes(np.array(labels), len(labels))
    names = sorted(set(labels))
    assert (codes.tolist(), count) == ([names.index(label) for label in labels], len(names))

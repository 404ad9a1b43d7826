"""Intervals of agreement, and agreement figures of other packages."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rated_items import RATINGS
from rejoinder.stats.rater_intervals import alpha_interval, one_against_rest_interval, split_half_interval
from rejoinder.stats.raters import intraclass_correlation, krippendorff_alpha, one_against_rest, split_half


# krippendorff 0.9.0: krippendorff.alpha(RATINGS.T, level_of_measurement=level)
@pytest.mark.parametrize(
    ("level", "theirs"), [("nominal", 0.2669961066), ("ordinal", 0.5316439950), ("interval", 0.5318461990)]
)
def test_alpha_equals_the_krippendorff_package(level: str, theirs: float) -> None:
    interval = alpha_interval(RATINGS, level, n_resamples=200)
    assert krippendorff_alpha(RATINGS, level) == pytest.approx(theirs, abs=1e-9)
    assert interval.estimate == krippendorff_alpha(RATINGS, level)
    assert -1 < interval.low < theirs < interval.high < 1


def test_intraclass_correlations_equal_pingouin() -> None:
    """pingouin.intraclass_corr (0.7.0) of the nine complete rows: ICC(1,1), ICC(A,1), ICC(C,1) and the same with k."""
    found = intraclass_correlation(RATINGS)
    single = (found.single_1, found.single_2, found.single_3)
    average = (found.average_1, found.average_2, found.average_3)
    assert single == pytest.approx((0.522763, 0.517970, 0.497967), abs=1e-6)
    assert average == pytest.approx((0.814181, 0.811258, 0.798696), abs=1e-6)


def test_sums_by_group_give_the_alphas_of_the_resampled_ratings() -> None:
    """On an interval scale alpha is computed from sums; leaving one group out must equal alpha without its rows."""
    from rejoinder.stats.rater_intervals import _alpha_of_sums, _alpha_sums

    codes = np.arange(len(RATINGS)) // 2
    sums = _alpha_sums(RATINGS, codes, 8)
    expected = [krippendorff_alpha(RATINGS[codes != group]) for group in range(8)]
    assert _alpha_of_sums(sums.sum(axis=0) - sums).tolist() == pytest.approx(expected)


def test_intervals_cover_about_as_often_as_they_should() -> None:
    """The true alpha is .5; of 100 intervals, fewer than 88 would have a probability of .003 at 95 %."""
    hits = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        hits += alpha_interval(rng.normal(size=(30, 1)) + rng.normal(size=(30, 3)), n_resamples=200).covers(0.5)
    assert hits >= 88


def test_replies_to_one_context_are_drawn_together() -> None:
    rng = np.random.default_rng(0)
    contexts = np.repeat(np.arange(20), 10)
    ratings = rng.normal(size=20)[contexts][:, None] + 0.5 * rng.normal(size=(200, 3))
    alone = alpha_interval(ratings, n_resamples=300)
    grouped = alpha_interval(ratings, groups=contexts, n_resamples=300)
    assert grouped.half_width > 1.3 * alone.half_width


def test_ceilings_have_the_estimates_of_the_plain_functions() -> None:
    rng = np.random.default_rng(0)
    ratings = rng.normal(size=(80, 1)) + rng.normal(size=(80, 4))
    halves = split_half_interval(ratings, n_resamples=200)
    assert not math.isnan(split_half_interval(ratings, n_splits=1, n_resamples=20).low), "one split is enough"
    assert halves.estimate == pytest.approx(split_half(ratings, n_splits=25, within_items=True).mean)
    assert halves.low < halves.estimate < halves.high
    one = one_against_rest_interval(ratings, n_resamples=200)
    assert one.estimate == pytest.approx(one_against_rest(ratings).mean)
    assert one.low < one.estimate < one.high


@pytest.mark.parametrize("noise", [1.0, 2.0])
def test_the_interval_of_few_items_contains_that_of_the_jackknife(noise: float) -> None:
    """Four ratings of each of eight items, on Fisher's scale for groups of four: log((1 + 3 a) / (1 - a))."""
    rng = np.random.default_rng(3)
    ratings = rng.normal(size=(8, 1)) + noise * rng.normal(size=(8, 4))
    alphas = np.array([krippendorff_alpha(np.delete(ratings, item, axis=0)) for item in range(8)])
    values = np.log((1 + 3 * alphas) / (1 - alphas))
    error = math.sqrt(7 / 8 * np.sum((values - values.mean()) ** 2))
    alpha = krippendorff_alpha(ratings)
    ends = np.exp(math.log((1 + 3 * alpha) / (1 - alpha)) + 2.364624 * error * np.array([-1, 1]))  # t, 7 degrees
    low, high = (ends - 1) / (ends + 3)
    found = alpha_interval(ratings, n_resamples=200)
    assert found.low <= low + 1e-6
    assert found.high >= high - 1e-6
    assert found.low == pytest.approx(low, abs=1e-5) or found.high == pytest.approx(high, abs=1e-5)


def test_no_agreement_without_two_ratings() -> None:
    lonely = np.array([[1.0, np.nan], [np.nan, 2.0]])
    assert math.isnan(alpha_interval(lonely, n_resamples=10).estimate)
    assert math.isnan(one_against_rest_interval(lonely, n_resamples=10).estimate)

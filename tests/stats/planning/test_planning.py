"""Planned sample sizes, against statsmodels, published tables, and simulations with the package's own tests."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rejoinder.arrays import Floats
from rejoinder.stats.means import compare_paired
from rejoinder.stats.planning import (
    Spread,
    contexts_needed,
    detectable_difference,
    fewest_contexts,
    items_for_agreement,
    items_for_correlation,
    paired_power,
    pilot_spread,
    spread_of_icc,
)
from rejoinder.stats.raters import krippendorff_alpha


@pytest.mark.parametrize("effect", [0.15, 0.3, 0.5, 0.8])
@pytest.mark.parametrize("alpha", [0.05, 0.05 / 28])
def test_contexts_are_those_of_statsmodels(effect: float, alpha: float) -> None:
    power = pytest.importorskip("statsmodels.stats.power")
    theirs = power.TTestPower().solve_power(effect_size=effect, alpha=alpha, power=0.8)
    assert contexts_needed(effect, 1.0, alpha=alpha) == math.ceil(theirs)
    n = math.ceil(theirs)
    assert paired_power(effect, 1.0, n, alpha) == pytest.approx(power.TTestPower().power(effect, n, alpha), abs=1e-6)


def test_a_detectable_difference_is_detected() -> None:
    gap = detectable_difference(1.3, 57, power=0.9, alpha=0.01)
    assert paired_power(gap, 1.3, 57, 0.01) == pytest.approx(0.9, abs=1e-6)
    assert contexts_needed(gap, 1.3, power=0.9, alpha=0.01) == 57
    assert detectable_difference(1.3, 57) == detectable_difference(1.3, 57, power=0.8, alpha=0.05)


def test_power_rises_with_contexts_without_a_gap() -> None:
    for alpha in (0.05, 0.05 / 28, 1e-4):
        values = np.array([paired_power(0.3, 1.0, n, alpha) for n in range(20, 2000, 7)])
        assert np.isfinite(values).all()
        assert (np.diff(values) > -1e-6).all()


def test_extremes() -> None:
    assert fewest_contexts(0.05) == 6
    assert contexts_needed(100.0, 1.0) == 6  # sign flips of 5 pairs are never significant
    assert contexts_needed(1e-9, 1.0) == math.inf
    assert contexts_needed(0.0, 1.0) == math.inf
    assert contexts_needed(1.0, 0.0) == 6
    assert math.isnan(detectable_difference(1.0, 5))
    assert paired_power(5.0, 1.0, 10_000) == 1


def rated(rng: np.random.Generator, contexts: int, raters: int, gap: float, between: float, noise: float) -> Floats:
    """Ratings (contexts, 2 systems, raters); the true difference has the variance `between` over contexts."""
    ease = rng.normal(size=(contexts, 1))
    true = ease + np.sqrt(between / 2) * rng.normal(size=(contexts, 2)) + [0, gap]
    ratings: Floats = true[:, :, None] + np.sqrt(noise) * rng.normal(size=(contexts, 2, raters))
    return ratings


@pytest.mark.parametrize("raters", [1, 3])
def test_the_planned_number_of_contexts_has_the_planned_power(raters: int) -> None:
    """With the test that `compare` runs; 400 data sets have a standard error of 2 points."""
    rng, spread = np.random.default_rng(0), Spread(0.8, 1.0)
    n = int(contexts_needed(0.5, spread.deviation(raters)))
    detected = 0
    for _ in range(400):
        means = rated(rng, n, raters, 0.5, spread.between, spread.rating).mean(axis=2)
        result = compare_paired(means[:, 0], means[:, 1], n_permutations=199, seed=int(rng.integers(2**31)))
        detected += result.p_value < 0.05
    assert 0.74 <= detected / 400 <= 0.86


def test_a_pilot_gives_the_variances_it_was_made_with() -> None:
    rng = np.random.default_rng(1)
    ratings = rated(rng, 3000, 3, 0.2, 0.7, 1.5)
    ratings[rng.random(ratings.shape) < 0.2] = np.nan
    systems, contexts = np.tile([0, 1], 3000), np.repeat(np.arange(3000), 2)
    found = pilot_spread(ratings.reshape(-1, 3), systems, contexts)
    assert found.spread.between == pytest.approx(0.7, rel=0.1)
    assert found.spread.rating == pytest.approx(1.5, rel=0.05)
    assert found.paired
    assert found.rated_twice
    assert found.contexts > 2900
    alone = pilot_spread(ratings.reshape(-1, 3), systems, np.arange(6000))
    assert not alone.paired
    assert alone.spread.between == pytest.approx(2 * (1 + 0.35), rel=0.1)  # contexts differ in ease, which stays


def test_one_rating_per_reply_leaves_its_noise_in_the_difference() -> None:
    ratings = rated(np.random.default_rng(2), 4000, 1, 0.0, 0.5, 1.0)
    found = pilot_spread(ratings.reshape(-1, 1), np.tile([0, 1], 4000), np.repeat(np.arange(4000), 2))
    assert not found.rated_twice
    assert found.spread.rating == 0
    assert found.spread.between == pytest.approx(2.5, rel=0.1)


def test_a_spread_from_an_intraclass_correlation() -> None:
    spread = spread_of_icc(1.2, 0.4)
    assert spread.icc == pytest.approx(0.4)
    assert spread.between == pytest.approx(1.44)
    assert Spread(0.02, 0.04).icc == pytest.approx(0.2), "on a small scale too"
    assert math.isnan(Spread(0.0, 0.0).icc)


def test_items_for_agreement_are_those_of_other_programs() -> None:
    """Bonett's own example, 19.2 items for .85 and 4 raters, as the R package presize quotes it; and the documented
    result of `size.ci.icc(.05, .70, 3, .2)` of the R package statpsych, which is by Bonett."""
    assert items_for_agreement(0.85, 0.2, 4) == 20
    assert items_for_agreement(0.7, 0.2, 3) == 68


def test_alpha_varies_as_planned() -> None:
    rng = np.random.default_rng(3)
    n = int(items_for_agreement(0.5, 0.25, 3))
    values = []
    for _ in range(300):
        items = rng.normal(size=(n, 1)) + rng.normal(size=(n, 3))
        values.append(krippendorff_alpha(items))
    assert 2 * 1.96 * np.std(values) == pytest.approx(0.25, rel=0.15)


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.8])
def test_items_for_a_correlation_give_the_width(kind: str, correlation: float) -> None:
    n = items_for_correlation(correlation, 0.2, kind)
    variance = {"pearson": 1.0, "spearman": 1 + correlation**2 / 2, "kendall": 0.437}[kind]
    lost = 4 if kind == "kendall" else 3

    def width(items: float) -> float:
        half = 1.959964 * math.sqrt(variance / (items - lost))
        return math.tanh(math.atanh(correlation) + half) - math.tanh(math.atanh(correlation) - half)

    assert width(n) <= 0.2 < width(n - 1)


def test_bad_precision() -> None:
    for agreement, width, raters in ((1.0, 0.2, 3), (-0.1, 0.2, 3), (0.5, 2.0, 3), (0.5, 0.0, 3), (0.5, 0.2, 1)):
        with pytest.raises(ValueError, match="agreement must be"):
            items_for_agreement(agreement, width, raters)
    with pytest.raises(ValueError, match="correlation must be"):
        items_for_correlation(0.5, 2.5)
    with pytest.raises(ValueError, match="kind must be"):
        items_for_correlation(0.5, 0.2, "tau")

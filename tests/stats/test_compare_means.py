"""Comparisons of two systems' means, against scipy, worked examples and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rejoinder.stats import compare_means, permutation
from rejoinder.stats.compare_means import compare_paired, compare_unpaired
from rejoinder.stats.effect_size import cohens_dz, hedges_g, needed_examples, unpaired_outcomes
from rejoinder.stats.permutation import permutation_p_value


def test_the_sign_flip_test_agrees_with_all_sign_flips() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=12), rng.normal(0.7, size=12)
    exact = stats.permutation_test(
        (b, a), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf, vectorized=False
    ).pvalue
    assert compare_paired(a, b, n_permutations=40_000).p_value == pytest.approx(exact, abs=0.006)


def test_the_unpaired_test_agrees_with_scipys_permutation_of_welchs_t() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=14), rng.normal(0.8, 2, size=9)

    def welch(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
        t: np.ndarray = np.abs(stats.ttest_ind(x, y, axis=axis, equal_var=False).statistic)
        return t

    theirs = stats.permutation_test(
        (b, a), welch, n_resamples=20_000, rng=np.random.default_rng(0), vectorized=True, alternative="greater"
    ).pvalue
    assert compare_unpaired(a, b, n_permutations=20_000).p_value == pytest.approx(theirs, abs=0.01)


@pytest.mark.parametrize("paired", [True, False])
def test_large_samples_agree_with_the_t_test(paired: bool) -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=500), rng.normal(0.1, size=500)
    result = compare_paired(a, b) if paired else compare_unpaired(a, b)
    theirs = stats.ttest_rel(b, a) if paired else stats.ttest_ind(b, a, equal_var=False)
    bounds = theirs.confidence_interval()
    assert result.p_value == pytest.approx(theirs.pvalue, abs=0.015)
    assert result.bootstrap_p_value == pytest.approx(theirs.pvalue, abs=0.05)
    assert result.difference.low == pytest.approx(bounds.low, abs=0.02)
    assert result.difference.high == pytest.approx(bounds.high, abs=0.02)
    assert result.difference.estimate == pytest.approx(b.mean() - a.mean())


@pytest.mark.parametrize("paired", [True, False])
def test_beyond_the_permutations_the_t_test_takes_over(paired: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=300), rng.normal(0.15, size=300)
    compare = compare_paired if paired else compare_unpaired
    by_permutation = compare(a, b)
    monkeypatch.setattr(compare_means, "LARGE", 100)
    by_t = compare(a, b)
    theirs = stats.ttest_rel(b, a) if paired else stats.ttest_ind(b, a, equal_var=False)
    assert by_t.p_value == pytest.approx(theirs.pvalue, abs=1e-3)
    assert by_t.p_value == pytest.approx(by_permutation.p_value, abs=0.02)
    assert by_t.difference.low == pytest.approx(by_permutation.difference.low, abs=0.02)


@pytest.mark.parametrize("paired", [True, False])
def test_groups_guard_against_false_alarms(paired: bool) -> None:
    """No difference, but values of one context are alike: without groups the test would cry wolf far too often."""
    rng = np.random.default_rng(4)
    groups = np.repeat(np.arange(15), 8)
    rejected = np.zeros(2)
    for seed in range(100):
        a, b = (rng.normal(size=15).repeat(8) + 0.3 * rng.normal(size=120) for _ in range(2))
        for column, known in enumerate((groups, None)):
            if paired:
                result = compare_paired(a, b, known, n_permutations=199, n_resamples=2, seed=seed)
            else:
                result = compare_unpaired(a, b, known, known, n_permutations=199, n_resamples=2, seed=seed)
            rejected[column] += result.p_value <= 0.05
    with_groups, without = rejected / 100
    assert with_groups < 0.12  # .05 plus three standard errors
    assert without > 0.3


@pytest.mark.parametrize("paired", [True, False])
def test_a_difference_of_few_groups_is_covered(paired: bool) -> None:
    rng = np.random.default_rng(8)
    compare = compare_paired if paired else compare_unpaired
    covered = [
        compare(rng.normal(size=5), rng.normal(size=5), n_resamples=50, n_permutations=1).difference.covers(0)
        for _ in range(800)
    ]
    assert np.mean(covered) >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / 800)


@pytest.mark.parametrize("paired", [True, False])
def test_few_groups_get_the_interval_and_the_p_value_of_the_t_test(paired: bool) -> None:
    rng = np.random.default_rng(9)
    a, b = rng.normal(size=6), rng.normal(0.5, 2, size=6)
    result = compare_paired(a, b) if paired else compare_unpaired(a, b)
    theirs = stats.ttest_rel(b, a) if paired else stats.ttest_ind(b, a, equal_var=False)
    bounds = theirs.confidence_interval()
    assert [result.difference.low, result.difference.high] == pytest.approx([bounds.low, bounds.high])
    assert result.bootstrap_p_value == pytest.approx(theirs.pvalue)


@pytest.mark.parametrize("paired", [True, False])
def test_more_permutations_where_few_are_extreme(paired: bool) -> None:
    rng = np.random.default_rng(10)
    a = rng.normal(size=30)
    compare = compare_paired if paired else compare_unpaired
    far, near = a + 5 + 0.1 * rng.normal(size=30), a[::-1]
    assert compare(a, far, n_permutations=99).p_value == 0.01
    assert compare(a, far, n_permutations=99, most_permutations=1999).p_value == 0.0005
    assert compare(a, near, n_permutations=99, most_permutations=1999) == compare(a, near, n_permutations=99)


def test_a_pair_with_a_gap_is_left_out_and_groups_follow() -> None:
    a, b = [1.0, 2.0, math.nan, 3.0, 9.0], [2.0, 2.0, 5.0, 5.0, math.nan]
    result = compare_paired(a, b, ["x", "x", "y", "z", "w"])
    assert (result.n_a, result.n_b, result.n_groups) == (3, 3, 2)
    assert result.difference.estimate == pytest.approx(1)
    assert (result.outcomes.wins, result.outcomes.ties, result.outcomes.losses) == pytest.approx((2 / 3, 1 / 3, 0))


def test_the_order_of_the_systems_only_turns_the_sign() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=40), rng.normal(0.4, size=40)
    forth, back = compare_paired(a, b), compare_paired(b, a)
    assert back.difference.estimate == -forth.difference.estimate
    assert back.p_value == forth.p_value
    assert back.outcomes.wins == forth.outcomes.losses


@pytest.mark.parametrize("values", [[], [1.0], [math.nan, 1.0]])
def test_too_few_examples_give_nan(values: list[float]) -> None:
    for result in (compare_paired(values, values), compare_unpaired(values, values)):
        assert math.isnan(result.p_value)
        assert math.isnan(result.bootstrap_p_value)
        assert math.isnan(result.difference.low)
        assert math.isnan(result.needed_examples)


def test_equal_systems_do_not_differ() -> None:
    for result in (compare_paired([1.0, 2.0], [1.0, 2.0]), compare_unpaired([1.0, 1.0], [1.0, 1.0])):
        assert result.p_value == 1
        assert result.effect_size == 0
        assert result.needed_examples == math.inf


def test_values_that_never_overlap_are_told_apart() -> None:
    result = compare_unpaired([0.1] * 8, [0.7] * 8)
    assert result.p_value < 0.001  # 2 of the 12,870 ways to deal them are as extreme
    assert compare_unpaired([0.1] * 3, [0.7] * 3).p_value == pytest.approx(0.1, abs=0.01)  # 2 of 20
    assert result.outcomes.wins == 1


def test_the_p_value_counts_the_observed_one() -> None:
    assert permutation_p_value(2.0, np.array([0.0, 1.0, -3.0])) == 0.5
    assert permutation_p_value(5.0, np.zeros(999)) == 0.001
    assert math.isnan(permutation_p_value(math.nan, np.zeros(3)))


def test_swaps_are_fair_and_memberships_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permutation, "CHUNK_VALUES", 100)
    swaps = np.concatenate(list(permutation.swap_chunks(11, 5000, seed=0)))
    assert swaps.shape == (5000, 11)
    assert np.abs(swaps.mean(axis=0) - 0.5).max() < 0.03
    members = np.concatenate(list(permutation.membership_chunks(11, 4, 3000, seed=0)))
    assert (members.sum(axis=1) == 4).all()
    assert np.abs(members.mean(axis=0) - 4 / 11).max() < 0.03
    with pytest.raises(ValueError, match="n_permutations"):
        next(permutation.swap_chunks(3, 0, seed=0))


def test_effect_sizes_on_hand_checked_values() -> None:
    assert cohens_dz(np.array([1.0, 2.0, 3.0])) == 2  # mean 2, deviation 1
    assert math.isnan(cohens_dz(np.array([1.0])))
    # Means 2 and 4, both of variance 1, 4 degrees of freedom: 2 (1 - 3 / 15).
    assert hedges_g(np.array([1.0, 2.0, 3.0]), np.array([3.0, 4.0, 5.0])) == pytest.approx(1.6)
    assert cohens_dz(np.array([1.0, 1.0])) == math.inf


def test_cliffs_delta_is_the_rescaled_u_statistic() -> None:
    rng = np.random.default_rng(6)
    a, b = rng.integers(1, 6, 30).astype(float), rng.integers(2, 6, 20).astype(float)
    u = stats.mannwhitneyu(b, a).statistic
    outcomes = unpaired_outcomes(a, b)
    assert outcomes.wins - outcomes.losses == pytest.approx(2 * u / 600 - 1)
    assert outcomes.wins + outcomes.ties + outcomes.losses == pytest.approx(1)


@pytest.mark.parametrize(
    # G*Power 3.1, two-sided t-tests at alpha .05 and power .8.
    ("effect", "paired", "needed"),
    [(0.5, True, 34), (0.2, True, 199), (0.5, False, 64), (0.2, False, 394), (0.8, False, 26)],
)
def test_needed_examples_are_those_of_power_tables(effect: float, paired: bool, needed: int) -> None:
    assert needed_examples(effect, paired=paired) == needed
    assert needed_examples(-effect, paired=paired) == needed


def test_needed_examples_grow_with_the_design_effect_and_power() -> None:
    assert needed_examples(0.5, design_effect=2) == pytest.approx(2 * needed_examples(0.5), abs=1)
    assert needed_examples(0.5, power=0.95) > needed_examples(0.5)
    assert needed_examples(0.0) == math.inf
    with pytest.raises(ValueError, match="power"):
        needed_examples(0.5, power=80)


def test_the_needed_examples_deliver_their_power() -> None:
    """With as many pairs as were asked for, about 80 % of experiments find the difference."""
    n = int(needed_examples(0.4))
    rng = np.random.default_rng(7)
    p_values = stats.ttest_1samp(rng.normal(0.4, size=(4000, n)), 0, axis=1).pvalue
    assert np.mean(p_values < 0.05) == pytest.approx(0.8, abs=0.025)


def test_bad_shapes_are_told() -> None:
    with pytest.raises(ValueError, match="equal length"):
        compare_paired([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="vector"):
        compare_unpaired([[1.0]], [1.0])

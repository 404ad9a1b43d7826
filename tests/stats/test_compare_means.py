"""Comparisons of two systems' means, against scipy, worked examples and simulation."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from rejoinder.stats import mean_tests, resampling
from rejoinder.stats.intervals import Interval, Sums
from rejoinder.stats.mean_tests import Draws, sign_flip_test
from rejoinder.stats.means import (
    Equivalence,
    Outcomes,
    compare_paired,
    compare_unpaired,
    hedges_g,
    needed_examples,
    standardised_difference,
    unpaired_outcomes,
)
from rejoinder.stats.resampling import permutation_p_value


def test_the_sign_flip_test_agrees_with_all_sign_flips() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=12), rng.normal(0.7, size=12)
    exact = stats.permutation_test(
        (b, a), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf, vectorized=False
    ).pvalue
    assert compare_paired(a, b).p_value == pytest.approx(exact)  # 2^12 swaps are fewer than 9,999: all of them are made
    assert compare_paired(a, b, n_permutations=4000).p_value == pytest.approx(exact, abs=0.02)


def test_the_unpaired_test_agrees_with_scipy() -> None:
    """The larger one of the p-values of Welch's t-test and of its permutation."""
    rng = np.random.default_rng(1)

    def welch(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
        t: np.ndarray = np.abs(stats.ttest_ind(x, y, axis=axis, equal_var=False).statistic)
        return t

    for a, b in (
        (rng.normal(size=14), rng.normal(0.8, 2, size=9)),
        (rng.exponential(size=8), rng.normal(0.1, 0.02, size=4)),
    ):
        permuted = stats.permutation_test(
            (b, a), welch, n_resamples=20_000, rng=np.random.default_rng(0), vectorized=True, alternative="greater"
        ).pvalue
        by_t = stats.ttest_ind(b, a, equal_var=False).pvalue
        found = compare_unpaired(a, b, n_permutations=20_000).p_value
        assert found == pytest.approx(max(permuted, by_t), abs=0.01)


@pytest.mark.parametrize("paired", [True, False])
def test_large_samples_agree_with_the_t_test(paired: bool) -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=500), rng.normal(0.1, size=500)
    result = compare_paired(a, b) if paired else compare_unpaired(a, b)
    theirs = stats.ttest_rel(b, a) if paired else stats.ttest_ind(b, a, equal_var=False)
    bounds = theirs.confidence_interval()
    assert result.p_value == pytest.approx(theirs.pvalue, abs=0.015)
    assert result.difference.low == pytest.approx(bounds.low, abs=0.02)
    assert result.difference.high == pytest.approx(bounds.high, abs=0.02)
    assert result.difference.estimate == pytest.approx(b.mean() - a.mean())


@pytest.mark.parametrize("paired", [True, False])
def test_beyond_the_permutations_the_t_test_takes_over(paired: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=300), rng.normal(0.15, size=300)
    compare = compare_paired if paired else compare_unpaired
    by_permutation = compare(a, b)
    monkeypatch.setattr(mean_tests, "LARGE", 100)
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
                result = compare_paired(a, b, known, n_permutations=199, seed=seed)
            else:
                result = compare_unpaired(a, b, known, known, n_permutations=199, seed=seed)
            rejected[column] += result.p_value <= 0.05
    with_groups, without = rejected / 100
    assert with_groups < 0.12  # .05 plus three standard errors
    assert without > 0.3


def scores(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Scores whose mean is 0, or .1 for the rare ones."""
    if kind == "skewed":
        return rng.exponential(size=n) - 1
    return (rng.random(n) < 0.1).astype(float) if kind == "rare" else rng.normal(size=n)


@pytest.mark.slow
@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("kind", ["normal", "skewed", "rare"])
@pytest.mark.parametrize("n", [7, 15])
def test_intervals_of_a_difference_cover_it_and_agree_with_the_p_value(kind: str, n: int, paired: bool) -> None:
    """The bootstrap's covered 90 % for skewed and 60 % for rare scores, and contradicted p in up to 9 % of verdicts."""
    rng = np.random.default_rng(8)
    compare = compare_paired if paired else compare_unpaired
    covered = 0
    for seed in range(300):
        a, b = scores(kind, n, rng), scores(kind, n, rng)
        found = compare(a, b, n_permutations=499, seed=seed, limits=(0, 1) if kind == "rare" else None)
        gap = found.difference
        covered += gap.covers(0)
        assert (found.p_value < 0.05) == (gap.low > 0 or gap.high < 0)
        assert gap.low <= gap.estimate <= gap.high
        assert gap.low < gap.high
    assert covered >= 0.915 * 300  # .95 less three standard errors


def test_skewed_differences_of_few_contexts_hold_the_level() -> None:
    """Sign flips alone reject about 10 % of exponential differences with mean 0."""
    rng, rejected, alone = np.random.default_rng(11), 0, 0
    for seed in range(800):
        gains = Sums(rng.exponential(size=10) - 1, np.ones(10))
        rejected += sign_flip_test(gains, Draws(255, seed=seed)).p_value < 0.05
        alone += sign_flip_test(gains, Draws(255, seed=seed), skewed=False).p_value < 0.05
    assert rejected <= 0.07 * 800 < alone


def test_the_paired_interval_holds_the_differences_that_are_not_rejected() -> None:
    rng = np.random.default_rng(9)
    a, b = rng.normal(size=9), rng.normal(0.5, 2, size=9)
    low, high = (getattr(compare_paired(a, b).difference, end) for end in ("low", "high"))
    for bound, inward in ((low, 1e-6), (high, -1e-6)):
        assert compare_paired(a, b - bound - inward).p_value >= 0.05
        assert compare_paired(a, b - bound + inward).p_value < 0.05


def test_the_unpaired_interval_is_that_of_welch_for_few_normal_scores() -> None:
    rng = np.random.default_rng(9)
    a, b = rng.normal(size=6), rng.normal(0.5, 2, size=6)
    bounds = stats.ttest_ind(b, a, equal_var=False).confidence_interval()
    found = compare_unpaired(a, b).difference
    assert found.low <= bounds.low + 1e-12
    assert found.high >= bounds.high - 1e-12
    assert found.half_width < 1.1 * (bounds.high - bounds.low) / 2


@pytest.mark.parametrize(("pairs", "smallest"), [(3, 0.25), (5, 0.0625), (6, 0.03125)])
def test_few_pairs_cannot_be_significant(pairs: int, smallest: float) -> None:
    found = compare_paired(np.zeros(pairs), 1 + np.arange(pairs) / 10)
    assert found.p_value == found.smallest_p == smallest
    assert math.isnan(found.difference.low) == (smallest > 0.05)


def test_rare_scores_get_the_interval_of_bonett_and_price() -> None:
    """Of 20 pairs B wins 3 and loses 1: with one more of each, 4 / 22 and 2 / 22."""
    a, b = np.zeros(20), np.zeros(20)
    b[:3], a[5] = 1, 1
    difference = 2 / 22
    margin = stats.norm.isf(0.025) * math.sqrt((6 / 22 - difference**2) / 22)
    found = compare_paired(a, b).difference
    assert found.high == pytest.approx(difference + margin)
    assert found.low == pytest.approx(-0.125)  # that of the test, which reaches further than -0.124
    assert found.estimate == pytest.approx(0.1)
    assert compare_paired(-2 * a, -2 * b, limits=(-2, 0)).difference.low == pytest.approx(-2 * found.high)


def test_weights_make_the_means_those_of_all_replies() -> None:
    """Contexts with 1 to 3 replies of each system, as their means or one by one."""
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 4, (12, 2))
    replies = [[rng.normal(size=n) for n in column] for column in sizes.T]
    a, b = ([of.mean() for of in column] for column in replies)
    found = compare_paired(a, b, weights=sizes)
    mean_a, mean_b = (np.concatenate(column).mean() for column in replies)
    assert (found.mean_a, found.mean_b) == pytest.approx((mean_a, mean_b))
    assert found.difference.estimate == pytest.approx(mean_b - mean_a)
    assert found.difference.low < found.difference.estimate < found.difference.high
    assert (found.p_value < 0.05) == (not found.difference.covers(0))
    moved = compare_paired(np.add(a, 0.3), np.add(b, 0.3), weights=sizes)
    assert moved.standard_error == pytest.approx(found.standard_error), "whatever the level of the scores"
    same = compare_paired(a, b, weights=np.full((12, 2), 5))
    assert same.p_value == compare_paired(a, b).p_value
    with pytest.raises(ValueError, match="weights"):
        compare_paired(a, b, weights=sizes[:, 0])


def test_weighted_means_hold_the_level() -> None:
    """Context effects, and numbers of replies that differ between systems."""
    rng = np.random.default_rng(5)
    rejected = 0
    for seed in range(200):
        sizes = rng.integers(1, 6, (20, 2))
        ease = rng.normal(size=(20, 1))
        values = ease + rng.normal(size=(20, 2)) / np.sqrt(sizes)
        rejected += compare_paired(*values.T, weights=sizes, n_permutations=499, seed=seed).p_value < 0.05
    assert rejected <= 20


@pytest.mark.parametrize("paired", [True, False])
def test_more_permutations_where_few_are_extreme(paired: bool) -> None:
    rng = np.random.default_rng(10)
    a = rng.normal(size=30)
    compare = compare_paired if paired else compare_unpaired
    far, near = a + 5 + 0.1 * rng.normal(size=30), a[::-1]
    assert compare(a, far, n_permutations=99).p_value == 0.01
    assert compare(a, far, n_permutations=99, most_permutations=1999).p_value == 0.0005
    few, more = (compare(a, near, n_permutations=99, most_permutations=most) for most in (0, 1999))
    assert few.p_value == more.p_value


def test_the_design_effect_of_two_sides_is_that_of_the_more_clustered_one() -> None:
    rng = np.random.default_rng(7)
    a, b = rng.normal(size=20), rng.normal(size=15)
    assert compare_unpaired(a, b).design_effect == pytest.approx(1)
    copies, contexts = np.repeat(a, 4), np.repeat(np.arange(20), 4)
    expected = (a.var(ddof=1) / 20) / (copies.var(ddof=1) / 80)
    assert expected > 3.5
    assert compare_unpaired(copies, b, contexts).design_effect == pytest.approx(expected)
    assert compare_unpaired(b, copies, None, contexts).design_effect == pytest.approx(expected)
    assert compare_unpaired(np.ones(9), np.ones(9)).design_effect == 1, "nothing varies"


@pytest.mark.parametrize(("size", "smallest"), [(4, 2 / math.comb(8, 4)), (5, 1 / math.comb(9, 4))])
def test_the_smallest_p_value_of_unpaired_groups(size: int, smallest: float) -> None:
    """With sides of equal size, the other side can be as extreme in the other direction."""
    assert compare_unpaired(np.arange(4.0), np.arange(size) + 0.5).smallest_p == pytest.approx(smallest)


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
        assert math.isnan(result.difference.low)
        assert math.isnan(result.needed())


def test_equal_systems_do_not_differ() -> None:
    for result in (compare_paired([1.0, 2.0], [1.0, 2.0]), compare_unpaired([1.0, 1.0], [1.0, 1.0])):
        assert result.p_value == 1
        assert result.effect_size == 0
        assert result.needed() == math.inf


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
    monkeypatch.setattr(resampling, "CHUNK_VALUES", 100)
    swaps = np.concatenate(list(resampling.swap_chunks(13, 5000, seed=0)))
    assert swaps.shape == (5000, 13)
    assert np.abs(swaps.mean(axis=0) - 0.5).max() < 0.03
    assert len(np.unique(swaps[:, :8], axis=0)) == 256, "each way to swap eight units occurs"
    for most in (1000, 10):
        monkeypatch.setattr(resampling, "SORTED_UNITS", most)
        members = np.concatenate(list(resampling.membership_chunks(16, 6, 3000, seed=0)))
        assert (members.sum(axis=1) == 6).all()
        assert np.abs(members.mean(axis=0) - 6 / 16).max() < 0.03
    with pytest.raises(ValueError, match="n_permutations"):
        next(resampling.swap_chunks(3, 0, seed=0))


def test_the_detectable_difference_by_hand() -> None:
    gains = np.arange(12.0)
    found = compare_paired(np.zeros(12), gains)
    error = gains.std(ddof=1) / math.sqrt(12)
    assert found.detectable() == pytest.approx((stats.t.ppf(0.975, 11) + stats.t.ppf(0.8, 11)) * error)
    assert math.isnan(compare_paired(gains, gains).detectable())
    assert found.paired
    assert not compare_unpaired(np.zeros(12), gains).paired


def test_five_losses_of_five_are_no_significant_difference() -> None:
    """Bonett and Price's upper bound is below 0, but p cannot be below 2 / 2^5."""
    found = compare_paired(np.ones(5), np.zeros(5), limits=(0, 1))
    assert found.p_value == found.smallest_p == 2 / 2**5
    assert found.difference.high == 0


def test_few_units_are_permuted_in_every_way_but_one() -> None:
    assert (resampling.n_swaps(4, 5000), resampling.n_memberships(6, 2, 5000)) == (15, 14)
    (swaps,) = resampling.swap_chunks(4, 5000, seed=0)
    assert {tuple(row) for row in swaps} == set(product((0.0, 1.0), repeat=4)) - {(0.0,) * 4}
    (members,) = resampling.membership_chunks(6, 2, 5000, seed=0)
    assert len({tuple(row) for row in members}) == 14
    assert (members.sum(axis=1) == 2).all()
    assert not (members[:, 4:] == 1).all(axis=1).any()  # the last two are those of the data


def test_effect_sizes_on_hand_checked_values() -> None:
    assert compare_paired([0.0, 0.0, 0.0], [1.0, 2.0, 3.0]).power_effect == 2  # mean 2, deviation 1
    assert math.isnan(compare_paired([0.0], [1.0]).power_effect)
    assert math.isnan(compare_paired([0.0], [1.0]).effect_size)
    # Means 2 and 4, both of variance 1, 4 degrees of freedom: 2 (1 - 3 / 15).
    assert hedges_g(np.array([1.0, 2.0, 3.0]), np.array([3.0, 4.0, 5.0])) == pytest.approx(1.6)


def test_a_constant_difference_has_no_effect_size() -> None:
    """.1 + .2 is not quite .3: the deviation of such differences is rounding, and not what to divide by."""
    a = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9])
    found = compare_paired(a, a + 0.2)
    assert math.isnan(found.power_effect)
    assert found.effect_size == pytest.approx(hedges_g(a, a + 0.2))
    assert math.isnan(found.needed())
    assert found.p_value == found.smallest_p
    assert math.isnan(standardised_difference(1.0, 0.0))
    assert math.isnan(hedges_g(np.full(4, 0.1), np.full(4, 0.3)))


def test_an_effect_has_one_size_whatever_the_pairing() -> None:
    rng = np.random.default_rng(8)
    a = rng.normal(size=40)
    b = a + rng.normal(0.3, 0.2, size=40)
    paired, unpaired = compare_paired(a, b), compare_unpaired(a, b)
    assert paired.effect_size == pytest.approx(unpaired.effect_size)
    assert paired.power_effect > 2 * unpaired.power_effect  # pairing helps to detect it


def test_differences_below_the_resolution_are_ties() -> None:
    rng = np.random.default_rng(9)
    a = rng.uniform(1, 5, 64)
    b = a + rng.uniform(-4e-7, 4e-7, 64)
    for found in (compare_paired(a, b, limits=(1.0, 5.0)), compare_paired(a, b)):
        assert found.outcomes == Outcomes(0.0, 1.0, 0.0)
        assert found.p_value == 1
        assert found.difference.estimate == 0
    assert compare_paired(a, a + 1e-3, limits=(1.0, 5.0)).outcomes == Outcomes(1.0, 0.0, 0.0)
    unpaired = compare_unpaired(a, b, limits=(1.0, 5.0)).outcomes
    assert unpaired.ties == 1 / 64  # each with its own copy
    assert unpaired.wins + unpaired.ties + unpaired.losses == 1


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


@pytest.mark.parametrize(
    ("low", "high", "not_lower", "not_higher"),
    [(-0.1, 0.1, True, True), (-0.3, 0.1, False, True), (-0.1, 0.3, True, False), (-0.2, 0.2, False, False)],
)
def test_equivalence_needs_both_bounds_within_the_margin(
    low: float, high: float, not_lower: bool, not_higher: bool
) -> None:
    found = Equivalence(0.2, Interval(0.0, low, high), 0.9)
    assert (found.not_lower, found.not_higher) == (not_lower, not_higher)
    assert found.equivalent == (not_lower and not_higher)


def test_without_any_variance_there_is_no_design_effect() -> None:
    assert compare_paired([1.0, 2.0, 3.0], [2.0, 3.0, 4.0]).design_effect == 1


def test_bad_shapes_are_told() -> None:
    with pytest.raises(ValueError, match="equal length"):
        compare_paired(1.0, 2.0)
    with pytest.raises(ValueError, match="equal length"):
        compare_paired([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="vector"):
        compare_unpaired([[1.0]], [1.0])

"""How well people agree with people, on simulated raters of known reliability."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rejoinder.stats.raters import half_means, one_against_rest, row_means, split_half


@pytest.fixture(scope="module")
def ratings() -> np.ndarray:
    """Six raters who see the truth (variance 1) under noise of variance 1, on 4,000 items."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(4000, 1)) + rng.normal(size=(4000, 6))


def test_halves_reach_what_theory_says(ratings: np.ndarray) -> None:
    """Means of three raters have noise of 1/3: r = 1 / (1 + 1/3)."""
    assert split_half(ratings, n_splits=20).mean == pytest.approx(0.75, abs=0.015)
    assert split_half(ratings, n_splits=20, within_items=True).mean == pytest.approx(0.75, abs=0.015)


def test_one_annotator_reaches_what_theory_says(ratings: np.ndarray) -> None:
    """One has noise 1, the mean of five 1/5: r = 1 / sqrt(2 x 1.2)."""
    result = one_against_rest(ratings)
    assert result.mean == pytest.approx(1 / math.sqrt(2.4), abs=0.015)
    assert result.raters.shape == (6,)
    assert result.maximum == result.raters.max()
    assert result.median == pytest.approx(np.median(result.raters))


def test_one_against_rest_is_the_plain_correlation(ratings: np.ndarray) -> None:
    few = ratings[:50]
    theirs = stats.spearmanr(few[:, 2], few[:, [0, 1, 3, 4, 5]].mean(axis=1)).statistic
    assert one_against_rest(few, kind="spearman").raters[2] == pytest.approx(theirs)


def test_gaps_are_left_out(ratings: np.ndarray) -> None:
    gappy = ratings.copy()
    rng = np.random.default_rng(1)
    gappy[rng.random(gappy.shape) < 0.4] = np.nan
    gappy[0] = np.nan
    for result in (split_half(gappy, n_splits=5), split_half(gappy, n_splits=5, within_items=True)):
        assert 0.5 < result.mean < 0.75  # fewer ratings a half, so less than without gaps
        assert result.n_splits == 5
    assert 0.5 < one_against_rest(gappy).mean < 0.65


def test_within_items_two_ratings_always_make_two_halves() -> None:
    """Each item has two of many raters: a split of columns loses most items, a split of ratings none."""
    rng = np.random.default_rng(2)
    sparse = np.full((300, 30), np.nan)
    truth = rng.normal(size=300)
    for item in range(300):
        sparse[item, rng.choice(30, 2, replace=False)] = truth[item] + rng.normal(size=2)
    assert split_half(sparse, n_splits=30, within_items=True).mean == pytest.approx(0.5, abs=0.1)


def test_the_seed_settles_the_splits(ratings: np.ndarray) -> None:
    few = ratings[:60]
    assert split_half(few, n_splits=5, seed=1) == split_half(few, n_splits=5, seed=1)
    assert split_half(few, n_splits=5, seed=1) != split_half(few, n_splits=5, seed=2)


def test_one_annotator_has_no_rest() -> None:
    lonely = [[1.0], [2.0], [3.0]]
    assert math.isnan(split_half(lonely, n_splits=3).mean)
    assert math.isnan(one_against_rest(lonely).mean)
    with pytest.raises(ValueError, match="n_splits"):
        split_half(lonely, n_splits=0)


def test_row_means_of_nothing_are_nan() -> None:
    assert row_means(np.array([[1.0, np.nan], [np.nan, np.nan]])).tolist() == pytest.approx([1, math.nan], nan_ok=True)


def test_a_rater_with_a_handful_of_ratings_is_not_the_best_one() -> None:
    """15 of 300 ratings, by chance the same as the mean of the others; the others agree at .5."""
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(300, 1)) + np.sqrt(2) * rng.normal(size=(300, 4))
    matrix[15:, 3] = np.nan
    matrix[:15, 3] = matrix[:15, :3].mean(axis=1)
    found = one_against_rest(matrix)
    assert found.raters[3] == pytest.approx(1)
    assert found.counts.tolist() == [300, 300, 300, 15]
    assert found.maximum == max(found.raters[:3]) < 0.6
    assert found.mean == pytest.approx(found.raters[:3].mean())


def test_where_all_have_few_ratings_those_with_half_of_the_most_count() -> None:
    matrix = np.random.default_rng(1).normal(size=(20, 1)) + np.random.default_rng(2).normal(size=(20, 3))
    matrix[8:, 2] = np.nan
    found = one_against_rest(matrix)
    assert found.maximum == max(found.raters[:2])
    matrix[8:10, 2] = 0.0
    assert one_against_rest(matrix).counts.tolist() == [20, 20, 10]
    assert one_against_rest(matrix).median == np.median(one_against_rest(matrix).raters)


def test_raters_stay_whole_unless_told_otherwise() -> None:
    """Two raters, of whom one is stricter: each half is one of them, for all items."""
    ratings = np.stack([np.arange(6.0), np.arange(6.0) + 10], axis=1)
    first, second = half_means(ratings, n_splits=4)
    assert (np.abs(second - first) == 10).all()
    assert (np.diff(first, axis=0) == 1).all()

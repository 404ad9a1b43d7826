"""Agreement of raters on published worked examples, and outlier removal on published data."""

from __future__ import annotations

import gzip
import json
import math

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from places import JUDGED
from rejoinder.stats.raters import (
    LEVELS,
    cohens_kappa,
    fleiss_kappa,
    intraclass_correlation,
    krippendorff_alpha,
    mad_outliers,
    mean_reliability,
    perfect_correlation,
    without_outliers,
)

NAN = math.nan
ZHAO = JUDGED / "zhao2020_dailydialog.jsonl.gz"

# Krippendorff 2011, "Computing Krippendorff's alpha-reliability", example C: 4 observers, 12 units.
OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
).T


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_on_krippendorffs_example(level: str, alpha: float) -> None:
    assert krippendorff_alpha(OBSERVERS, level) == pytest.approx(alpha, abs=5e-4)


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_equals_the_coincidence_tables(level: str) -> None:
    """The definition, by brute force over all pairs of values, against the closed forms."""
    rng = np.random.default_rng(0)
    ratings = rng.integers(1, 6, (30, 1)) + rng.integers(-1, 2, (30, 5)).astype(float)
    ratings[rng.random(ratings.shape) < 0.3] = NAN
    units = [row[~np.isnan(row)] for row in ratings]
    units = [unit for unit in units if unit.size > 1]
    everything = np.concatenate(units)

    def difference(c: float, k: float) -> float:
        if level == "nominal":
            return float(c != k)
        if level == "interval":
            return float((c - k) ** 2)
        low, high = min(c, k), max(c, k)
        between = np.sum((everything >= low) & (everything <= high))
        return float((between - (np.sum(everything == c) + np.sum(everything == k)) / 2) ** 2) if c != k else 0.0

    n = everything.size
    observed = sum(difference(c, k) / (unit.size - 1) for unit in units for c in unit for k in unit) / n
    expected = sum(difference(c, k) for c in everything for k in everything) / (n * (n - 1))
    assert krippendorff_alpha(ratings, level) == pytest.approx(1 - observed / expected)


def test_alpha_needs_pairs_and_variation() -> None:
    assert math.isnan(krippendorff_alpha([[1, NAN], [NAN, 2]]))
    assert math.isnan(krippendorff_alpha([[2, 2], [2, 2]]))
    assert krippendorff_alpha([[1, 1], [2, 2]]) == 1
    with pytest.raises(ValueError, match="'ratio'"):
        krippendorff_alpha([[1, 2]], "ratio")
    with pytest.raises(ValueError, match="items, raters"):
        krippendorff_alpha([1, 2])


def test_fleiss_on_the_worked_example() -> None:
    """Ten subjects, 14 raters, five categories: kappa .210 (Wikipedia, "Fleiss' kappa", worked example)."""
    counts = [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
    assert fleiss_kappa(np.array([np.repeat(np.arange(5), row) for row in counts])) == pytest.approx(0.210, abs=5e-4)


def test_fleiss_needs_pairs_and_variation() -> None:
    assert math.isnan(fleiss_kappa([[1, NAN]]))
    assert math.isnan(fleiss_kappa([[1, 1], [1, 1]]))
    assert fleiss_kappa([[1.0, 1.0, NAN], [2.0, 2.0, 2.0], [3.0, NAN, NAN]]) == 1


@pytest.mark.parametrize(("weights", "peer"), [("none", None), ("linear", "linear"), ("quadratic", "quadratic")])
def test_kappa_is_that_of_scikit_learn(weights: str, peer: str | None) -> None:
    rng = np.random.default_rng(0)
    first = rng.integers(1, 6, 200)
    second = np.clip(first + rng.integers(-2, 3, 200), 1, 5)
    assert cohens_kappa(first, second, weights) == pytest.approx(cohen_kappa_score(first, second, weights=peer))


def test_kappa_weighs_disagreement_by_its_square_unless_told_otherwise() -> None:
    """Lowe et al. 2017 report weighted kappa."""
    first, second = [1, 2, 3, 4, 5, 1], [2, 2, 3, 5, 3, 1]
    assert cohens_kappa(first, second) == pytest.approx(cohen_kappa_score(first, second, weights="quadratic"))


def test_reliability_of_mean_ratings_by_hand() -> None:
    """Two and six ratings count as three each, their harmonic mean: 3 * 0.5 / (1 + 2 * 0.5)."""
    counts = np.array([2, 6])
    assert mean_reliability(0.5, counts) == pytest.approx(0.75)
    assert perfect_correlation(0.5, counts) == pytest.approx(math.sqrt(0.75))
    assert mean_reliability(-0.1, counts) == 0
    assert math.isnan(mean_reliability(math.nan, counts))


def test_kappa_on_cohens_grant_example() -> None:
    """50 grant proposals, 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no: .40 (Wikipedia, "Cohen's kappa")."""
    first, second = np.repeat([1, 1, 0, 0], [20, 5, 10, 15]), np.repeat([1, 0, 1, 0], [20, 5, 10, 15])
    for weights in ("none", "linear", "quadratic"):  # with two categories all weights are one
        assert cohens_kappa(first, second, weights) == pytest.approx(0.4)


def test_kappa_measures_by_value_and_leaves_gaps_out() -> None:
    """An unused category in the middle still counts as distance."""
    assert cohens_kappa([1, 5, 5, NAN], [1, 5, 4, 3]) == cohens_kappa([1, 5, 5], [1, 5, 4])
    assert cohens_kappa([1, 5, 5], [1, 5, 4]) != pytest.approx(cohens_kappa([1, 3, 3], [1, 3, 2]))
    assert math.isnan(cohens_kappa([], []))
    assert math.isnan(cohens_kappa([2, 2], [2, 2]))
    with pytest.raises(ValueError, match="'cubic'"):
        cohens_kappa([1], [1], "cubic")


def test_intraclass_correlations_on_shrout_and_fleiss() -> None:
    """Shrout and Fleiss 1979, tables 2 and 4: six targets, four judges."""
    judges: list[list[float]] = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    result = intraclass_correlation(judges)
    single = (result.single_1, result.single_2, result.single_3)
    average = (result.average_1, result.average_2, result.average_3)
    assert single == pytest.approx((0.17, 0.29, 0.71), abs=0.005)
    assert average == pytest.approx((0.44, 0.62, 0.91), abs=0.005)
    assert intraclass_correlation([*judges, [1, NAN, 1, 1]]) == result


def test_two_items_and_two_raters_are_enough_for_an_intraclass_correlation() -> None:
    # Mean squares: 4 between items, 2 within items.
    assert intraclass_correlation([[1, 3], [3, 5]]).single_1 == pytest.approx((4 - 2) / (4 + 2))


def test_intraclass_correlations_need_a_table() -> None:
    for ratings in ([[1, 2]], [[1], [2]], [[3, 3], [3, 3]], [[NAN, 1], [1, NAN]]):
        assert math.isnan(intraclass_correlation(ratings).single_1)


def test_outliers_on_a_hand_checked_item() -> None:
    # Median 3.5, deviations .5 .5 .5 2.5, their median .5: 2.5 is beyond 1.4826 x .5, at 4 deviations it is not.
    assert mad_outliers([[3, 4, 4, 1]]).tolist() == [[False, False, False, True]]
    assert not mad_outliers([[3, 4, 4, 1]], threshold=4).any()
    # Equal ratings leave no deviation: any other is an outlier.
    assert mad_outliers([[5, 5, 5, 4]]).tolist() == [[False, False, False, True]]
    assert not mad_outliers([[NAN, NAN], [2, NAN]]).any()
    with pytest.raises(ValueError, match="threshold"):
        mad_outliers([[1, 2]], -1)


@pytest.mark.shared_data
@pytest.mark.skipif(not ZHAO.exists(), reason="needs ../shared/data")
def test_outlier_removal_reproduces_the_published_alphas() -> None:
    """Zhao et al. 2020, appendix A: alpha .431, and .815 once 895 of the 3,600 ratings are removed."""
    with gzip.open(ZHAO, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    ratings = np.array([row["scores"]["overall"] for row in rows], float)
    kept = without_outliers(ratings)
    assert ratings.shape == (900, 4)
    assert np.isnan(kept).sum() == 895
    assert krippendorff_alpha(ratings) == pytest.approx(0.431, abs=5e-4)
    assert krippendorff_alpha(kept) == pytest.approx(0.815, abs=5e-4)
    assert np.nanmean(kept, axis=1) == pytest.approx([row["mad_filtered_mean"]["overall"] for row in rows])
    assert (~np.isnan(kept)).sum(axis=1).tolist() == [row["mad_kept"]["overall"] for row in rows]

"""One score per item from several raters, against crowd-kit and on simulated raters."""

from __future__ import annotations

import numpy as np
import pytest

from rated_items import RATINGS
from rejoinder.stats.aggregation import METHODS, aggregate, dawid_skene, mace, normalised_ratings

# Expected scores by crowd-kit 1.4.2, in an environment of its own. Its MACE mixes up categories and raters that do not
# appear in sorted order, so the rows are sorted first.
#   frame = pandas.DataFrame({"task": items, "worker": raters, "label": scores}).sort_values(["worker", "label"])
#   DawidSkene(n_iter=60, tol=0).fit_predict_proba(frame).sort_index()[[1, 2, 3, 4]].values @ [1, 2, 3, 4]
#   MACE(n_restarts=1, n_iter=60, random_state=0).fit_predict_proba(frame).sort_index()[[1, 2, 3, 4]].values @ ...
DAWID_SKENE = [2, 4, 4, 4, 4, 4, 4, 1, 2, 3, 2, 2, 4, 4, 3, 1]
MACE = [
    *(1.91316, 3.98439, 3.96817, 3.99672, 3.99022, 3.68053, 3.99832, 1.03711),
    *(2.01461, 2.99925, 2.04137, 1.5831, 3.9715, 3.96315, 2.86387, 1.00292),
]


def test_dawid_skene_equals_crowd_kit() -> None:
    assert dawid_skene(RATINGS).means().tolist() == pytest.approx(DAWID_SKENE, abs=1e-5)


def test_mace_equals_crowd_kit() -> None:
    assert mace(RATINGS, starts=3, iterations=60).means().tolist() == pytest.approx(MACE, abs=1e-3)


def test_the_careless_rater_is_found() -> None:
    for posterior in (dawid_skene(RATINGS), mace(RATINGS, starts=3)):
        assert posterior.competence.argmin() == 3


def test_a_rater_who_is_always_one_too_low_is_corrected() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(2, 5, 300)
    ratings = np.where(rng.random((300, 4)) < 0.15, rng.integers(1, 6, (300, 4)), truth[:, None]).astype(float)
    ratings[:, 3] = np.maximum(truth - 1, 1)
    errors = {method: float(np.mean((aggregate(ratings, method) - truth) ** 2)) for method in METHODS}
    assert errors["dawid-skene"] < 0.5 * errors["mean"]


def test_normalised_ratings_by_hand() -> None:
    """Both raters' z-scores are -1 and 1; all four ratings have the mean 2.5 and the variance 1.25."""
    expected = [[2.5 - 1.25**0.5] * 2, [2.5 + 1.25**0.5] * 2]
    np.testing.assert_allclose(normalised_ratings([[1.0, 2.0], [3.0, 4.0]]), expected)


def test_normalised_ratings_do_not_depend_on_severity() -> None:
    rng = np.random.default_rng(1)
    truth = rng.normal(size=(200, 1))
    ratings = truth + 0.3 * rng.normal(size=(200, 3))
    shifted = ratings * [1, 2, 0.5] + [0, 1, -1]
    assert np.corrcoef(aggregate(shifted, "normalised"), aggregate(ratings, "normalised"))[0, 1] == pytest.approx(1)
    constant = np.column_stack([ratings, np.full(200, 4.0)])
    assert normalised_ratings(constant)[:, 3].tolist() == pytest.approx([constant.mean()] * 200)


@pytest.mark.parametrize("method", METHODS)
def test_an_item_without_ratings_has_no_score(method: str) -> None:
    ratings = np.vstack([RATINGS, np.full(4, np.nan)])
    scores = aggregate(ratings, method)
    assert np.isnan(scores[-1])
    assert not np.isnan(scores[:-1]).any()
    assert scores[:-1].tolist() == pytest.approx(aggregate(RATINGS, method).tolist(), abs=1e-6)


def test_ratings_that_are_not_categories_are_refused() -> None:
    slider = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ValueError, match="mace is for at most 20 distinct scores, but there are 60"):
        aggregate(slider, "mace")
    with pytest.raises(ValueError, match="method must be one of"):
        aggregate(slider, "median")

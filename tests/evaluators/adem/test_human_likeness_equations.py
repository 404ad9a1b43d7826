"""The features and the regression behind human-likeness, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from rejoinder.evaluators.adem.baselines import _features, _regression
from rejoinder.evaluators.adem.vectors import ExampleVectors

pytest.importorskip("sklearn.linear_model", reason="learning human-likeness needs scikit-learn")


def test_features_are_the_reply_and_its_product_with_the_context() -> None:
    none = np.empty(0, np.int64)
    vectors = np.array([[2.0, -1.0], [3.0, 5.0], [0.5, 4.0]])
    points = ExampleVectors(vectors, contexts=np.array([1, 2]), responses=np.array([0, 1]), references=none, owner=none)
    assert _features(points).tolist() == [[2, -1, 6, -5], [3, 5, 1.5, 20]]


def test_the_regression_has_the_least_loss() -> None:
    rng = np.random.default_rng(0)
    features, by_people = rng.normal(5, 2, (30, 2)), np.arange(30) % 3 == 0
    features[by_people, 0] += 2
    means, deviations, weights = _regression(features, by_people, strength=2.0)
    np.testing.assert_allclose(means, [*features.mean(0), 0])
    np.testing.assert_allclose(deviations, [*features.std(0), 1])
    standard = (features - features.mean(0)) / features.std(0)
    probability = 1 / (1 + np.exp(-(standard @ weights[:2] + weights[2])))
    # Ten replies of people and twenty of models have the same weight. The slope of the loss is 0, that of the bias too.
    off = np.where(by_people, 30 / (2 * 10), 30 / (2 * 20)) * (probability - by_people)
    np.testing.assert_allclose([*(standard.T @ off + 2.0 * weights[:2]), off.sum()], 0, atol=1e-2)
    assert weights[0] > 0.5

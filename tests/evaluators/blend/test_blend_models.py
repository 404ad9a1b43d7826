"""Ridge regression and boosted trees over columns with gaps."""

from __future__ import annotations

import numpy as np
import pytest

from rejoinder.evaluators.blend.fitting import RATE, TREES, Ridge, Trees
from rejoinder.stats.correlation import spearman

RNG = np.random.default_rng(0)
ROWS = 400
COLUMNS = RNG.normal(size=(ROWS, 3)) * [1.0, 5.0, 1.0] + [0.0, 100.0, 0.0]
GAPS = RNG.random(ROWS) < 0.3
COLUMNS[GAPS, 2] = np.nan
TARGET = COLUMNS[:, 0] + (COLUMNS[:, 1] - 100) / 5 + np.where(GAPS, -1.0, 0.0) + RNG.normal(0, 0.1, ROWS)
WEIGHTS, SETS = np.ones(ROWS), np.repeat([0, 1], ROWS // 2)
FOLDS = np.arange(ROWS) % 5


def test_ridge_finds_weights_and_what_a_gap_means() -> None:
    found = Ridge.fit(COLUMNS, TARGET, WEIGHTS, SETS, FOLDS)
    assert found.weight[:2] == pytest.approx([1.0, 1.0], abs=0.1)
    assert found.weight[2] == pytest.approx(0, abs=0.1)
    assert found.missing[2] == pytest.approx(-1, abs=0.15)
    assert spearman(found.predict(COLUMNS), TARGET).coefficient > 0.99


def test_ridge_ignores_differences_between_sets() -> None:
    shift = np.where(SETS == 0, 0.0, 50.0)
    moved = np.column_stack([COLUMNS[:, 0] + shift, COLUMNS[:, 1]])
    found = Ridge.fit(moved, COLUMNS[:, 0] + COLUMNS[:, 1] / 5, WEIGHTS, SETS, FOLDS)
    steps = found.weight / found.spread
    assert steps == pytest.approx([1.0, 0.2], rel=0.1)


def test_ridge_limits_odd_values() -> None:
    found = Ridge.fit(COLUMNS, TARGET, WEIGHTS, SETS, FOLDS)
    odd = COLUMNS[:1].copy()
    odd[0, :2] = 1e9
    assert found.predict(odd)[0] <= found.predict(np.nan_to_num(COLUMNS)).max() + 10
    assert np.isfinite(found.predict(np.full((1, 3), np.nan))).all()


def test_ridge_with_a_column_that_has_no_values_or_one() -> None:
    columns = np.column_stack([COLUMNS[:, 0], np.full(ROWS, np.nan), np.full(ROWS, 3.0)])
    found = Ridge.fit(columns, COLUMNS[:, 0], WEIGHTS, SETS, FOLDS)
    assert np.isfinite(found.predict(columns)).all()


def test_trees_learn_what_is_not_linear() -> None:
    target = np.abs(COLUMNS[:, 0]) + np.where(GAPS, 2.0, 0.0)
    found = Trees.fit(COLUMNS, target - target.mean(), WEIGHTS, seed=1)
    assert spearman(found.predict(COLUMNS), target).coefficient > 0.9
    again = Trees.fit(COLUMNS, target - target.mean(), WEIGHTS, seed=1)
    np.testing.assert_array_equal(again.predict(COLUMNS), found.predict(COLUMNS))


def test_trees_in_numpy_are_those_of_scikit_learn() -> None:
    from sklearn.tree import DecisionTreeRegressor

    tree = DecisionTreeRegressor(max_depth=3, random_state=0).fit(COLUMNS, TARGET)
    ours = Trees._of_grown([tree.tree_]).predict(COLUMNS) / RATE
    np.testing.assert_allclose(ours, tree.predict(COLUMNS), rtol=1e-12)


def test_arrays_are_all_that_is_needed() -> None:
    for model in (Ridge.fit(COLUMNS, TARGET, WEIGHTS, SETS, FOLDS), Trees.fit(COLUMNS, TARGET, WEIGHTS, seed=0)):
        again = type(model).of(model.arrays)
        np.testing.assert_array_equal(again.predict(COLUMNS), model.predict(COLUMNS))
    assert Trees.fit(COLUMNS, TARGET, WEIGHTS, seed=0).column.shape[0] == TREES


def test_too_few_rows_for_a_tree_predict_the_mean() -> None:
    found = Trees.fit(COLUMNS[:6], TARGET[:6], WEIGHTS[:6], seed=0)
    np.testing.assert_array_equal(found.predict(COLUMNS[:6]), np.zeros(6))

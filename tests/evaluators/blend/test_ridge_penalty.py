"""Ridge regression against a plain solution of its equations."""

from __future__ import annotations

import numpy as np

from rejoinder.arrays import Bools, Floats
from rejoinder.evaluators.blend.fitting import Ridge


def test_ridge_is_the_solution_with_the_best_penalty() -> None:
    rng = np.random.default_rng(0)
    columns, folds = rng.normal(size=(60, 4)), np.arange(60) % 3
    target = columns @ [1.0, 0.2, 0.0, 0.0] + rng.normal(0, 1.0, 60)
    standard = (columns - columns.mean(0)) / columns.std(0)

    def solved(rows: Bools, penalty: float) -> Floats:
        x, y = standard[rows] - standard[rows].mean(0), target[rows] - target[rows].mean()
        found: Floats = np.linalg.solve(x.T @ x / len(x) + penalty * np.eye(4), x.T @ y / len(x))
        return found

    def error(penalty: float) -> float:
        total = 0.0
        for fold in range(3):
            x, y = standard[folds == fold], target[folds == fold]
            total += float((((x - x.mean(0)) @ solved(folds != fold, penalty) - (y - y.mean())) ** 2).sum())
        return total

    best = min((0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0), key=error)
    found = Ridge.fit(columns, target, np.ones(60), np.zeros(60, np.int64), folds)
    np.testing.assert_allclose(found.weight, solved(folds >= 0, best))
    assert best == 0.1

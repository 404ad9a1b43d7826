"""ADEM's loss and its two solvers."""

from __future__ import annotations

import numpy as np
import pytest

from rejoinder.arrays import Floats
from rejoinder.evaluators.adem.learning import (
    AdemSetting,
    ComparedVectors,
    DescentSettings,
    PredictionScale,
    anchored,
    chosen,
    descend,
    descended,
    early_stopping_rows,
    learned,
    objective,
    settings_of,
    solution_path,
    solve,
    squared_error,
)

GAMMA = 0.02


def made(replies: int = 300, n: int = 4, sides: int = 2, seed: int = 0) -> tuple[ComparedVectors, Floats]:
    """Replies that people score by matrices of few entries, with some noise; and those matrices."""
    rng = np.random.default_rng(seed)
    true = rng.normal(size=(sides, n, n)) * (rng.random((sides, n, n)) < 0.4)
    vectors = rng.normal(size=(sides + 1, replies, n))
    bare = ComparedVectors(vectors[:-1], vectors[-1], np.zeros(replies))
    human = 3 + 0.3 * bare.products(true) + rng.normal(0, 0.2, replies)
    return ComparedVectors(vectors[:-1], vectors[-1], human), true


def test_the_score_by_hand() -> None:
    context, reference, reply = np.array([1.0, 2.0]), np.array([0.0, 1.0]), np.array([3.0, -1.0])
    m, n = np.array([[1.0, 0.0], [2.0, 1.0]]), np.array([[0.0, 1.0], [4.0, 0.0]])
    compared = ComparedVectors(np.stack([context, reference])[:, None], reply[None], np.zeros(1))
    # c^T M r^ = (1, 2) (3, 5) = 13; r^T N r^ = (0, 1) (-1, 12) = 12
    assert compared.products(np.stack([m, n])).tolist() == [25.0]
    assert PredictionScale(5.0, 4.0).scores(np.array([25.0])).tolist() == [5.0]


def test_the_first_predictions_have_the_mean_and_deviation_of_people() -> None:
    compared, _ = made()
    first = PredictionScale.of(compared).scores(compared.products(compared.identity()))
    assert first.mean() == pytest.approx(compared.human.mean())
    assert first.std() == pytest.approx(compared.human.std())


def test_both_solvers_reach_the_same_loss() -> None:
    compared, _ = made()
    scale = PredictionScale.of(compared)
    exact = objective(compared, solve(compared, scale, GAMMA, tolerance=1e-8), scale, GAMMA)
    start = objective(compared, compared.identity(), scale, GAMMA)
    descent = descend(compared, scale, GAMMA, DescentSettings(epochs=500), seed=1)
    assert exact < 0.5 * start
    assert exact <= objective(compared, descent, scale, GAMMA) < exact * 1.005


@pytest.mark.parametrize("gamma", [0.3, 0.02, 0.001])
def test_the_exact_one_is_the_lasso_of_scikit_learn(gamma: float) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    compared, _ = made(replies=120)
    scale = PredictionScale.of(compared)
    features = np.concatenate(
        [np.einsum("ri,rj->rij", side, compared.replies).reshape(120, -1) for side in compared.sides], axis=1
    )
    # Theirs is 1 / (2 K) * squares + alpha * L1: half of ours.
    peer = linear_model.Lasso(alpha=gamma / 2, fit_intercept=False, tol=1e-12, max_iter=100_000)
    peer.fit(features / scale.beta, compared.human + scale.alpha / scale.beta)
    ours = solve(compared, scale, gamma, tolerance=1e-9)
    np.testing.assert_allclose(ours.ravel(), peer.coef_, atol=1e-6)
    np.testing.assert_array_equal(ours.ravel() == 0, peer.coef_ == 0)


def test_a_path_ends_where_single_solutions_do() -> None:
    compared, _ = made(replies=100)
    scale = PredictionScale.of(compared)
    for gamma, found in zip(
        (0.5, 0.1, 0.02), solution_path(compared, scale, (0.5, 0.1, 0.02), tolerance=1e-9), strict=True
    ):
        np.testing.assert_allclose(found, solve(compared, scale, gamma, tolerance=1e-9), atol=1e-6)


def test_a_large_penalty_leaves_nothing() -> None:
    compared, _ = made()
    assert not solve(compared, PredictionScale.of(compared), 1e3).any()


def test_planted_matrices_are_found() -> None:
    compared, true = made(replies=1000)
    bilinear = learned(compared, AdemSetting(4, 0.001, "zero"))
    found, planted = bilinear.matrices.ravel() / bilinear.scale.beta, 0.3 * true.ravel()
    np.testing.assert_allclose(found, planted, atol=0.05)


def test_descent_stops_early_on_held_out_replies() -> None:
    train, _ = made(replies=40, n=6, seed=3)
    rng = np.random.default_rng(0)
    noisy = ComparedVectors(train.sides, train.replies, rng.permutation(train.human))  # there is nothing to learn
    valid, _ = made(replies=200, n=6, seed=4)
    scale = PredictionScale.of(noisy)
    stopped = descend(noisy, scale, 0.0, DescentSettings(), 0, valid=valid)
    going_on = descend(noisy, scale, 0.0, DescentSettings(), 0)
    assert squared_error(valid, stopped, scale) < squared_error(valid, going_on, scale)
    assert squared_error(noisy, stopped, scale) > squared_error(noisy, going_on, scale)


def test_a_rate_that_is_too_high_is_cut() -> None:
    compared, _ = made()
    scale = PredictionScale.of(compared)
    best = objective(compared, solve(compared, scale, GAMMA), scale, GAMMA)
    found = descend(compared, scale, GAMMA, DescentSettings(learning_rate=1.0, epochs=300), 0)
    assert objective(compared, found, scale, GAMMA) < 1.05 * best


def test_watching_tells_every_epoch() -> None:
    compared, _ = made(replies=50)
    seen: list[tuple[int, Floats]] = []
    descend(
        compared, PredictionScale.of(compared), GAMMA, DescentSettings(epochs=3), 0, watch=lambda *now: seen.append(now)
    )
    assert [epoch for epoch, _ in seen] == [0, 1, 2, 3]
    np.testing.assert_array_equal(seen[0][1], compared.identity())


def test_drawn_to_the_identity_a_large_penalty_leaves_the_dot_products() -> None:
    compared, _ = made()
    bilinear = learned(compared, AdemSetting(4, 1e3, "identity"))
    columns = np.stack([np.ones(300), *((side * compared.replies).sum(axis=1) for side in compared.sides)], axis=1)
    weights, *_ = np.linalg.lstsq(columns, compared.human, rcond=None)
    np.testing.assert_allclose(bilinear.scores(compared), columns @ weights)
    for matrix in bilinear.matrices:
        np.testing.assert_array_equal(matrix, matrix[0, 0] * np.eye(4))


@pytest.mark.parametrize("towards", ["zero", "identity"])
def test_descent_and_solution_agree_whatever_they_are_drawn_to(towards: str) -> None:
    compared, _ = made()
    setting = AdemSetting(4, GAMMA, towards)
    exact = learned(compared, setting, tolerance=1e-8)
    descent = descended(compared, None, setting, DescentSettings(epochs=500), 0)
    anchor, *_ = anchored(compared, towards)
    losses = [
        squared_error(compared, one.matrices, one.scale) + GAMMA * np.abs(one.matrices - anchor).sum()
        for one in (exact, descent)
    ]
    assert losses[0] <= losses[1] < 1.005 * losses[0]


def test_the_chosen_setting_is_the_best_on_other_contexts() -> None:
    compared, _ = made(replies=200, n=8)
    blurred = ComparedVectors(compared.sides, compared.replies, compared.human)
    wanted = settings_of(None, None, "zero", 8)
    assert {setting.components for setting in wanted} == {7, 8}
    found = chosen(blurred, np.repeat(np.arange(50), 4), wanted, seed=0)
    assert found == AdemSetting(8, 0.01, "zero")  # all eight coordinates tell, and noise is small


def test_held_out_rows_share_no_context() -> None:
    groups = np.repeat(np.arange(20), 5)
    train, valid = early_stopping_rows(groups, seed=0)
    assert len(valid) == 15
    assert not set(groups[train]) & set(groups[valid])
    assert sorted([*train, *valid]) == list(range(100))
    few, none = early_stopping_rows(np.arange(3), seed=0)
    assert (len(few), len(none)) == (3, 0)

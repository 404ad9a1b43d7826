"""Strengths from preferences, against solutions on paper, scipy, R's BradleyTerry2 and a log-linear model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from r_oracle import r_numbers, r_vector
from rejoinder.arrays import Floats, Ints
from rejoinder.stats.preferences import LOSS, PRIOR, TIE, WIN, Contests, _prior, all_beaten_in_turn, fit


def simulated(k: int = 4, n: int = 300, log_ties: float = -0.5, seed: int = 0) -> tuple[Ints, Ints, Ints]:
    rng = np.random.default_rng(seed)
    strengths = np.linspace(0.6, -0.6, k)
    first = rng.integers(0, k, n)
    second = (first + rng.integers(1, k, n)) % k
    half = (strengths[first] - strengths[second]) / 2
    weights = np.exp(np.stack([half, -half, np.full(n, log_ties)], axis=1))
    shares = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
    return first, second, (rng.random(n)[:, None] > shares).sum(axis=1)


def contests_of(wins: int, losses: int, ties: int) -> Contests:
    outcomes = [WIN] * wins + [LOSS] * losses + [TIE] * ties
    return Contests.of([0] * len(outcomes), [1] * len(outcomes), outcomes)


def strengths_of(contests: Contests, *, ties: bool = True) -> Floats:
    values: Floats = fit(contests, contests.totals[None], ties=ties).values[0]
    return values


def test_two_systems_have_a_solution_on_paper() -> None:
    """wins : losses : ties = p : 1/p : v, so 2 log p = log(wins / losses) and v = ties / sqrt(wins losses)."""
    contests = contests_of(40, 10, 20)
    found = fit(contests, contests.totals[None])
    assert found.values[0, 0] - found.values[0, 1] == pytest.approx(math.log(4))
    assert math.exp(found.log_ties[0]) == pytest.approx(20 / math.sqrt(400))
    plain = strengths_of(contests, ties=False)
    assert plain[0] - plain[1] == pytest.approx(math.log(50 / 20))
    assert plain.sum() == pytest.approx(0)


def test_order_and_side_of_the_records_do_not_matter() -> None:
    first, second, outcome = simulated()
    turned = Contests.of(second, first, np.where(outcome == TIE, TIE, LOSS - outcome))
    np.testing.assert_allclose(strengths_of(Contests.of(first, second, outcome)), strengths_of(turned), atol=1e-9)


def test_davidson_maximises_the_likelihood() -> None:
    first, second, outcome = simulated(seed=1)

    def cost(parameters: Floats) -> float:
        values, log_ties = np.append(parameters[:3], -parameters[:3].sum()), parameters[3]
        half = (values[first] - values[second]) / 2
        options = np.stack([half, -half, np.full(half.size, log_ties)], axis=1)
        return -float((options[np.arange(half.size), outcome] - np.log(np.exp(options).sum(axis=1))).sum())

    best = minimize(cost, np.zeros(4), method="BFGS", options={"gtol": 1e-8})
    contests = Contests.of(first, second, outcome)
    found = fit(contests, contests.totals[None])
    np.testing.assert_allclose(found.values[0, :3], best.x[:3], atol=1e-5)
    assert found.log_ties[0] == pytest.approx(best.x[3], abs=1e-5)


@pytest.mark.slow
@pytest.mark.r
def test_the_plain_model_is_that_of_bradleyterry2() -> None:
    first, second, outcome = simulated(log_ties=-30.0, seed=2)
    contests = Contests.of(first, second, outcome)
    totals = contests.totals
    script = f"""
    one <- factor({r_vector(contests.first)}, levels = 0:3); two <- factor({r_vector(contests.second)}, levels = 0:3)
    model <- BTm(cbind({r_vector(totals[:, WIN])}, {r_vector(totals[:, LOSS])}), one, two)
    cat(format(c(coef(model), sqrt(diag(vcov(model)))), digits = 12))
    """
    numbers = r_numbers(script, "BradleyTerry2")
    found = fit(contests, totals[None], ties=False)
    values, covariance = found.values[0], found.covariance[0]
    np.testing.assert_allclose(values[1:] - values[0], numbers[:3], atol=1e-6)
    errors = [math.sqrt(covariance[0, 0] + covariance[i, i] - 2 * covariance[0, i]) for i in (1, 2, 3)]
    np.testing.assert_allclose(errors, numbers[3:], rtol=1e-4)


@pytest.mark.r
def test_davidson_is_a_log_linear_model() -> None:
    """Fienberg and Larntz 1976: counts are Poisson with a term per pair, half a strength per win, and one for ties."""
    contests = Contests.of(*simulated(seed=3))
    totals = contests.totals
    rows = [
        (count, pair, int(outcome == TIE), *design)
        for pair, (i, j) in enumerate(zip(contests.first, contests.second, strict=True))
        for outcome, sign, count in (
            (WIN, 0.5, totals[pair, 0]),
            (LOSS, -0.5, totals[pair, 1]),
            (TIE, 0, totals[pair, 2]),
        )
        for design in [[sign * ((system == i) - int(system == j)) for system in range(1, 4)]]
    ]
    columns = [r_vector(column) for column in zip(*rows, strict=True)]
    script = f"""
    model <- glm({columns[0]} ~ factor({columns[1]}) + {columns[2]} + {columns[3]} + {columns[4]} + {columns[5]},
                 family = poisson, control = list(epsilon = 1e-12))
    cat(format(tail(coef(model), 4), digits = 12), format(tail(sqrt(diag(vcov(model))), 3), digits = 12))
    """
    numbers = r_numbers(script)
    found = fit(contests, totals[None])
    values, covariance = found.values[0], found.covariance[0]
    assert found.log_ties[0] == pytest.approx(numbers[0], abs=1e-6)
    np.testing.assert_allclose(values[1:] - values[0], numbers[1:4], atol=1e-6)
    errors = [math.sqrt(covariance[0, 0] + covariance[i, i] - 2 * covariance[0, i]) for i in (1, 2, 3)]
    np.testing.assert_allclose(errors, numbers[4:], rtol=1e-5)


def test_a_system_that_always_wins_gets_the_prior() -> None:
    contests = contests_of(20, 0, 0)
    found = fit(contests, contests.totals[None], ties=False)
    assert found.with_prior[0]
    assert found.values[0, 0] - found.values[0, 1] == pytest.approx(math.log(20.5 / 0.5))
    usual = contests_of(19, 1, 0)
    assert not fit(usual, usual.totals[None], ties=False).with_prior[0]


def test_the_prior_of_the_free_strengths_is_spread_over_the_pairs_that_met() -> None:
    """Three systems have two free strengths."""
    two_pairs = Contests.of([0, 1], [1, 2], [WIN, WIN])
    np.testing.assert_allclose(_prior(two_pairs, ties=True), [PRIOR, PRIOR, PRIOR])
    three_pairs = Contests.of([0, 1, 0], [1, 2, 2], [WIN, WIN, WIN])
    np.testing.assert_allclose(_prior(three_pairs, ties=False), [PRIOR * 2 / 3, PRIOR * 2 / 3, 0])


def test_a_finite_maximum_needs_wins_in_both_directions_of_every_division() -> None:
    cycle, chain = np.zeros((2, 3, 3))
    for i, j in ((0, 1), (1, 2), (2, 0)):
        cycle[i, j] = 1
    for i, j in ((0, 1), (1, 2), (0, 2), (1, 0)):
        chain[i, j] = 1
    assert all_beaten_in_turn(np.stack([cycle, chain])).tolist() == [True, False]


def test_components_are_the_systems_that_were_compared() -> None:
    contests = Contests.of([0, 2, 4], [1, 3, 1], [WIN, TIE, LOSS])
    assert contests.components.tolist() == [0, 0, 1, 1, 0]
    part = contests.take(np.array([4, 1, 0]))
    assert part.n_contexts == 2
    assert part.wins(part.totals[None])[0].tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize(
    ("first", "second", "outcomes"), [([0], [0], [WIN]), ([0, 1], [1], [WIN]), ([[0]], [[1]], [[WIN]])]
)
def test_bad_comparisons(first: list[Any], second: list[Any], outcomes: list[Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Contests.of(first, second, outcomes)

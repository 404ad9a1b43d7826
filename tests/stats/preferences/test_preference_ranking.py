"""Intervals, p-values and groups of systems ranked by preferences; win rates at equal lengths."""

from __future__ import annotations

import numpy as np
import pytest

from rejoinder.stats.preferences import LOSS, TIE, WIN, Contests, length_controlled_win_rate, rank


def chain(n: int = 80) -> Contests:
    """0 and 1 are equal, and both beat 2 three times in four."""
    first = np.tile([0, 0, 1], n)
    second = np.tile([1, 2, 2], n)
    place = np.arange(3 * n) // 3
    outcomes = np.where(first + second == 1, place % 2, np.where(place % 4 == 0, LOSS, WIN))
    return Contests.of(first, second, outcomes, place)


def test_systems_without_a_significant_difference_are_one_group() -> None:
    ranking = rank(chain(), n_resamples=300)
    assert [(standing.system, standing.group) for standing in ranking.standings] == [(0, 1), (1, 1), (2, 2)]
    assert ranking.duels[0].p_adjusted > 0.5
    assert max(ranking.duels[1].p_adjusted, ranking.duels[2].p_adjusted) < 0.01


def test_interval_and_p_value_agree() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        outcomes = rng.choice([WIN, LOSS, TIE], 40, p=[0.5, 0.25, 0.25])
        (duel,) = rank(Contests.of(np.zeros(40), np.ones(40), outcomes), n_resamples=100, seed=seed).duels
        assert (duel.p_value < 0.05) == (not duel.difference.covers(0))


def test_judgements_of_one_context_count_as_one() -> None:
    """Every preference ten times over: the Fisher information believes it, the contexts do not."""
    outcomes = np.random.default_rng(0).choice([WIN, LOSS], 50, p=[0.6, 0.4])
    contexts = np.repeat(np.arange(50), 10)
    once = rank(Contests.of(np.zeros(50), np.ones(50), outcomes), n_resamples=400)
    often = rank(Contests.of(np.zeros(500), np.ones(500), outcomes[contexts], contexts), n_resamples=400)
    width, width_often = once.standings[0].strength.half_width, often.standings[0].strength.half_width
    assert width_often == pytest.approx(width, rel=0.1)
    assert often.standings[0].fisher.half_width == pytest.approx(once.standings[0].fisher.half_width / 10**0.5)


def test_a_system_that_wins_everything_has_a_wide_interval() -> None:
    ranking = rank(Contests.of(np.zeros(20), np.ones(20), np.full(20, WIN)), n_resamples=50)
    assert ranking.with_prior
    assert ranking.standings[0].strength.half_width > 1


def test_one_context_has_no_interval() -> None:
    ranking = rank(Contests.of([0, 0], [1, 1], [WIN, TIE], [5, 5]), n_resamples=10)
    assert np.isnan(ranking.standings[0].strength.low)
    assert np.isnan(ranking.duels[0].p_value)


def test_systems_that_were_never_compared_are_refused() -> None:
    with pytest.raises(ValueError, match="connected by comparisons"):
        rank(Contests.of([0, 2], [1, 3], [WIN, WIN]))


def test_the_win_rate_at_equal_lengths_takes_out_what_length_gained() -> None:
    rng = np.random.default_rng(1)
    longer = rng.normal(40, 30, 4000)
    only_length = (rng.random(4000) < 1 / (1 + np.exp(-1.5 * np.tanh(longer / 30)))).astype(float)
    found = length_controlled_win_rate(only_length, longer, n_resamples=100)
    assert found.win_rate > 0.65
    assert found.controlled.covers(0.5)
    assert found.length_effect > 1


def test_without_an_effect_of_length_the_win_rate_stays() -> None:
    won = np.tile([1.0, 1.0, 0.0, 0.5], 100)
    found = length_controlled_win_rate(won, np.zeros(400), n_resamples=50)
    assert found.controlled.estimate == pytest.approx(won.mean(), abs=0.002)  # a ridge of 1/2 on 400 comparisons
    assert found.length_effect == 0


@pytest.mark.parametrize(("wins", "longer"), [([], []), ([1.0], [1.0, 2.0]), ([2.0], [1.0]), ([1.0], [np.inf])])
def test_bad_win_rates(wins: list[float], longer: list[float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        length_controlled_win_rate(wins, longer)

"""Pairwise and soft pairwise accuracy, against all permutations written out and against the definition."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import norm, t

from rejoinder.arrays import Floats
from rejoinder.stats.resampling import bootstrap_chunks
from rejoinder.stats.systems import FixedSystems, _resampled_p_values, pairwise_accuracies


def fixed(human: Floats, score: Floats) -> FixedSystems:
    """From two tables (contexts, systems)."""
    contexts, systems = human.shape
    return FixedSystems.of(
        score.reshape(-1, 1),
        human.ravel(),
        np.tile(np.arange(systems), contexts),
        np.repeat(np.arange(contexts), systems),
    )


def exact_p(gains: Floats) -> float:
    """The one-sided p-value over all sign flips, those equal to the data counting half."""
    flipped = np.array([np.dot(signs, gains) for signs in product([1, -1], repeat=gains.size)])
    return float((flipped > gains.sum() + 1e-9).mean() + (np.abs(flipped - gains.sum()) <= 1e-9).mean() / 2)


def test_both_accuracies_follow_their_definitions() -> None:
    rng = np.random.default_rng(0)
    quality = np.array([0.0, 0.1, 0.8])
    human, score = (quality + rng.normal(size=(8, 3)) for _ in range(2))
    (found,) = pairwise_accuracies(fixed(human, score))
    pairs = list(combinations(range(3), 2))
    right = [(human[:, a].mean() > human[:, b].mean()) == (score[:, a].mean() > score[:, b].mean()) for a, b in pairs]
    soft = [1 - abs(exact_p(human[:, a] - human[:, b]) - exact_p(score[:, a] - score[:, b])) for a, b in pairs]
    assert found.n_pairs == 3
    assert found.accuracy == pytest.approx(np.mean(right))
    assert found.soft_accuracy == pytest.approx(np.mean(soft), abs=1e-9)


def test_intervals_contain_the_estimate_and_get_shorter_with_more_contexts() -> None:
    rng = np.random.default_rng(1)
    quality = np.linspace(0, 0.6, 5)
    widths = []
    for contexts in (20, 320):
        human, score = (quality + rng.normal(size=(contexts, 5)) for _ in range(2))
        (found,) = pairwise_accuracies(fixed(human, score), n_resamples=200)
        for estimate, interval in (
            (found.accuracy, found.accuracy_interval),
            (found.soft_accuracy, found.soft_interval),
        ):
            assert 0 <= interval.low <= interval.estimate == estimate <= interval.high <= 1
        widths.append(found.soft_interval.high - found.soft_interval.low)
    assert 0 < widths[1] < widths[0]


def test_the_normal_p_values_of_resamples_are_close_to_those_of_all_sign_flips() -> None:
    rng = np.random.default_rng(2)
    human, score = (np.array([0.0, 0.5]) + rng.normal(size=(12, 2)) for _ in range(2))
    systems = fixed(human, score)
    found = _resampled_p_values(systems, 0, 1, np.ones((1, 12)), np.zeros((1, 2)))[0]
    assert found[0] == pytest.approx(exact_p(human[:, 0] - human[:, 1]), abs=0.03)


def test_a_metric_that_equals_people_is_right() -> None:
    human = np.random.default_rng(1).normal(size=(30, 4))
    (same,) = pairwise_accuracies(fixed(human, human))
    assert (same.accuracy, same.soft_accuracy) == (1.0, 1.0)
    (reverse,) = pairwise_accuracies(fixed(human, -human))
    assert reverse.accuracy == 0
    assert reverse.soft_accuracy < 0.8


def test_systems_far_apart_are_ordered_alike_in_every_resample() -> None:
    rng = np.random.default_rng(5)
    human, score = (np.array([0.0, 1.0, 2.0]) + 0.3 * rng.normal(size=(100, 3)) for _ in range(2))
    (found,) = pairwise_accuracies(fixed(human, score), n_resamples=50)
    assert (found.accuracy_interval.low, found.accuracy_interval.high) == (1, 1)


def test_the_order_of_the_systems_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    human, score = rng.normal(size=(2, 8, 4))
    (found,) = pairwise_accuracies(fixed(human, score))
    (turned,) = pairwise_accuracies(fixed(human[:, ::-1], score[:, ::-1]))
    assert found.soft_accuracy == pytest.approx(turned.soft_accuracy, abs=1e-12)


def test_a_wrong_order_of_two_near_systems_costs_little() -> None:
    """What soft accuracy is for: people cannot tell the two apart either."""
    rng = np.random.default_rng(3)
    human = rng.normal(size=(400, 2))
    human -= human.mean(axis=0) - [0.0, 0.001]
    score = human - [0.0, 0.002]
    (found,) = pairwise_accuracies(fixed(human, score))
    assert found.accuracy == 0
    assert found.soft_accuracy > 0.95
    (same,) = pairwise_accuracies(fixed(human + 9, human + 9 + 0.5 * rng.normal(size=(400, 2))), n_resamples=100)
    assert same.accuracy_interval.high - same.accuracy_interval.low > 0.5, "resamples order the two either way"
    assert same.soft_interval.low > same.accuracy_interval.low + 0.1


def test_systems_without_common_contexts() -> None:
    rng = np.random.default_rng(4)
    systems = np.repeat([0, 1], 50)
    human = rng.normal(size=100) + 2 * systems
    (found,) = pairwise_accuracies(FixedSystems.of((human + 5)[:, None], human, systems, np.arange(100)))
    assert found.accuracy == 1
    assert found.soft_accuracy == pytest.approx(1)
    near = human - 1.9 * systems
    tables = FixedSystems.of(rng.normal(size=(100, 1)), near, systems, np.arange(100))
    (found,) = pairwise_accuracies(tables, n_resamples=100)
    assert found.soft_interval.low < found.soft_accuracy - 0.05, "p-values differ between resamples"


def test_p_values_without_common_contexts_are_those_of_the_normal_distribution() -> None:
    human, score = np.array([[1.0, 2.0, 4.0, 2.0, 6.0], [3.0, 2.0, 5.0, 9.0, 1.0]])
    systems = np.array([0, 0, 0, 1, 1])
    (found,) = pairwise_accuracies(FixedSystems.of(score[:, None], human, systems, np.arange(5)))

    def p_value(values: Floats) -> float:
        of_a, of_b = values[:3], values[3:]
        error = np.sqrt(of_a.var(ddof=1) / 3 + of_b.var(ddof=1) / 2)
        return float(norm.cdf(-(of_a.mean() - of_b.mean()) / error))

    assert found.soft_accuracy == pytest.approx(1 - abs(p_value(human) - p_value(score)), abs=1e-12)


@pytest.mark.parametrize(("score", "soft"), [([1, 1, 2, 2], 1.0), ([2, 2, 1, 1], 0.0), ([3, 3, 3, 3], 0.5)])
def test_systems_without_any_variance(score: list[float], soft: float) -> None:
    human, systems = np.array([1.0, 1.0, 2.0, 2.0]), np.array([0, 0, 1, 1])
    (found,) = pairwise_accuracies(FixedSystems.of(np.array(score, float)[:, None], human, systems, np.arange(4)))
    assert found.soft_accuracy == soft


def test_the_interval_of_soft_accuracy_written_out() -> None:
    rng = np.random.default_rng(6)
    human, score = (np.array([0.0, 0.2, 0.4]) + rng.normal(size=(30, 3)) for _ in range(2))
    (found,) = pairwise_accuracies(fixed(human, score), n_resamples=60, seed=3)
    soft = []
    for counts in np.concatenate(list(bootstrap_chunks(30, 60, 3))):
        distances = []
        for a, b in combinations(range(3), 2):
            gains = [table[:, a] - table[:, b] for table in (human, score)]
            first, second = (norm.cdf(-(counts @ one) / np.sqrt(counts @ one**2)) for one in gains)
            distances.append(abs(first - second))
        soft.append(1 - np.mean(distances))
    reach = t.ppf(0.975, 29) * np.std(soft, ddof=1)
    assert found.soft_interval.low == pytest.approx(found.soft_accuracy - reach, abs=1e-9)
    assert found.soft_interval.high == pytest.approx(min(found.soft_accuracy + reach, 1), abs=1e-9)

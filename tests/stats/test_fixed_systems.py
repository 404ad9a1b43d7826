"""Correlations over the means of given systems."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from rejoinder.arrays import Floats
from rejoinder.stats.correlation_tests import compare_correlations, permutation_p_values
from rejoinder.stats.systems import FixedSystems, row_correlations


def drawn(rng: np.random.Generator, quality: Floats, contexts: int, noise: float) -> FixedSystems:
    """Systems of given quality on new contexts: people and a metric see it through noise of their own."""
    difficulty = rng.normal(0, 1, (contexts, 1))
    human = quality + difficulty + rng.normal(0, 1, (contexts, len(quality)))
    metric = quality + difficulty + rng.normal(0, noise, (contexts, len(quality)))
    systems = np.tile(np.arange(len(quality)), contexts)
    return FixedSystems.of(metric.reshape(-1, 1), human.ravel(), systems, np.repeat(np.arange(contexts), len(quality)))


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
def test_equals_scipy(kind: str) -> None:
    fixed = drawn(np.random.default_rng(0), np.linspace(0, 1, 9), 30, 1.0)
    peer = {"pearson": scipy.stats.pearsonr, "spearman": scipy.stats.spearmanr, "kendall": scipy.stats.kendalltau}[kind]
    expected = peer(fixed.means[:, 1], fixed.means[:, 0]).statistic
    assert fixed.correlations(kind)[0] == pytest.approx(expected)


def test_the_interval_covers_what_other_contexts_would_show() -> None:
    """The mean over new draws of contexts is what the interval promises to cover (nominal 95 %)."""
    quality = np.linspace(0, 1.2, 12)
    rng = np.random.default_rng(1)
    expected = float(np.mean([drawn(rng, quality, 100, 1.0).correlations("pearson")[0] for _ in range(300)]))
    covered = 0
    for _ in range(200):
        (interval,) = drawn(rng, quality, 100, 1.0).intervals("pearson", 50, 0)
        covered += interval.low <= expected <= interval.high
    assert 0.90 <= covered / 200 <= 0.99


def test_a_missing_system_makes_a_resample_unknown() -> None:
    means = np.array([[[1.0], [np.nan], [3.0]]])
    human = np.array([[[1.0], [2.0], [3.0]]])
    for kind in ("pearson", "spearman", "kendall"):
        assert np.isnan(row_correlations(means, human, kind)).all()


def test_swapping_finds_the_better_metric_only_where_there_is_one() -> None:
    rng = np.random.default_rng(5)
    quality = np.linspace(0, 1, 10)
    contexts, n_systems, trials = 60, len(quality), 40
    systems, groups = np.tile(np.arange(n_systems), contexts), np.repeat(np.arange(contexts), n_systems)
    false_alarms, found = 0, 0
    for _ in range(trials):
        truth = quality + rng.normal(0, 0.5, (contexts, n_systems))
        human = truth + rng.normal(0, 0.3, truth.shape)
        good, twin, blind = (truth + rng.normal(0, spread, truth.shape) for spread in (0.3, 0.3, 8.0))
        columns = np.stack([good.ravel(), twin.ravel(), blind.ravel()], axis=1)
        fixed = FixedSystems.of(columns, human.ravel(), systems, groups)
        false_alarms += fixed.permutation_p_value(0, 1, 199, 0) < 0.05
        found += fixed.permutation_p_value(0, 2, 199, 0) < 0.05
        gap = fixed.difference(0, 2)
        assert gap.low <= gap.estimate <= gap.high
    assert false_alarms <= 6  # 2 are expected
    assert found > trials / 2


def test_all_pairs_at_once_equal_one_by_one() -> None:
    rng = np.random.default_rng(2)
    human = rng.normal(size=240)
    groups = np.repeat(np.arange(40), 6)
    scores = np.stack([human + rng.normal(0, spread, 240) for spread in (1.5, 1.7, 2.5)], axis=1)
    together = permutation_p_values(scores, human, groups, n_permutations=2000, seed=4)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        alone = compare_correlations(scores[:, a], scores[:, b], human, groups, n_permutations=2000, seed=4)
        assert together[a, b] == pytest.approx(alone.p_value, abs=1e-12)
    assert np.isnan(np.diag(together)).all()

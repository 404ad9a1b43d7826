"""Permutation tests of a correlation: their level in the hard cases, and agreement with scipy in the easy ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rejoinder.stats.correlation import KINDS, correlate
from rejoinder.stats.correlation_intervals import MOST_FOR_KENDALL, _block_permutations, independence_p_values


@pytest.mark.parametrize("kind", KINDS)
def test_independent_examples_agree_with_scipy(kind: str) -> None:
    rng = np.random.default_rng(0)
    human = rng.normal(size=60)
    scores = np.stack([human + noise * rng.normal(size=60) for noise in (3, 6, 100)], axis=1)
    ours = independence_p_values(scores, human, kind=kind, n_permutations=4999)
    theirs = [correlate(column, human, kind).p_value for column in scores.T]
    assert ours == pytest.approx(theirs, abs=0.02)


def test_a_context_gets_replies_of_one_context() -> None:
    codes = np.repeat(np.arange(4), 3)
    drawn = _block_permutations(codes, 50, np.random.default_rng(0))
    assert (np.sort(drawn, axis=1) == np.arange(12)).all()
    assert (np.ptp(codes[drawn].reshape(50, 4, 3), axis=2) == 0).all()
    assert len(np.unique(drawn, axis=0)) == 50


def test_the_smallest_p_value_counts_the_data_as_one_permutation() -> None:
    line = np.arange(30.0)
    assert independence_p_values(line[:, None], line, n_permutations=99).tolist() == [1 / 100]


@pytest.mark.slow
def test_the_p_value_is_that_of_scipys_permutation_test() -> None:
    rng = np.random.default_rng(1)
    human, scores = rng.integers(1, 4, 15).astype(float), np.maximum(rng.normal(size=15), 0)
    exact = stats.permutation_test(
        (human,),
        lambda x: stats.spearmanr(x, scores).statistic,
        permutation_type="pairings",
        n_resamples=4999,
        rng=np.random.default_rng(0),
    ).pvalue
    ours = independence_p_values(scores[:, None], human, kind="spearman", n_permutations=4999)[0]
    assert ours == pytest.approx(exact, abs=0.03)


CASES = {
    "10 replies, rare labels": ([1] * 10, 0.0),
    "20 replies, rare labels": ([1] * 20, 0.0),
    "10 contexts of 4": ([4] * 10, 0.5),
    "contexts of 1 to 8": (list(range(1, 9)), 0.5),
}


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
@pytest.mark.parametrize("case", CASES)
def test_the_level_holds_with_ties_and_contexts(case: str, kind: str) -> None:
    """A t-test over the bootstrap's standard error rejected 10 to 48 % of these."""
    sizes, alike = CASES[case]
    groups = np.repeat(np.arange(len(sizes)), sizes)
    rng = np.random.default_rng(0)
    rejected = []
    for seed in range(250):
        latent = [
            math.sqrt(alike) * rng.normal(size=len(sizes))[groups] + math.sqrt(1 - alike) * rng.normal(size=groups.size)
            for _ in range(2)
        ]
        score, human = np.maximum(latent[0], 0), (latent[1] > (1.2 if alike == 0 else 0)).astype(float)
        p_value = independence_p_values(score[:, None], human, groups, kind, n_permutations=199, seed=seed)[0]
        if not math.isnan(p_value):
            rejected.append(p_value < 0.05)
    assert np.mean(rejected) < 0.085


def test_many_replies_get_kendalls_p_value_from_ranks() -> None:
    rng = np.random.default_rng(0)
    human = rng.normal(size=MOST_FOR_KENDALL + 1)
    scores = (human + 8 * rng.normal(size=human.size))[:, None]
    p_value = independence_p_values(scores, human, kind="kendall")[0]
    assert p_value == independence_p_values(scores, human, kind="spearman")[0]
    assert p_value == pytest.approx(stats.kendalltau(scores[:, 0], human).pvalue, abs=0.05)


def test_without_variation_there_is_no_p_value() -> None:
    rng = np.random.default_rng(0)
    scores = np.stack([np.ones(6), rng.normal(size=6)], axis=1)
    assert np.isnan(independence_p_values(scores, rng.normal(size=6))).tolist() == [True, False]
    assert np.isnan(independence_p_values(scores, np.ones(6))).all()
    assert np.isnan(independence_p_values(np.ones((1, 1)), [1.0])).all()
    with pytest.raises(ValueError, match="unknown correlation 'tau'"):
        independence_p_values(scores, np.ones(6), kind="tau")

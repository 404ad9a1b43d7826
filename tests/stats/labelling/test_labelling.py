"""Choosing what to label with known probabilities, and what the labels then say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from benchmark_scripts import benchmark_script
from rejoinder.stats.labels import (
    ChosenLabels,
    active_probabilities,
    coverage_p_value,
    drawn_rows,
    equal_probabilities,
    score_strata,
    stratified_probabilities,
    stratum_sizes,
    weighted_difference,
    weighted_mean,
)
from rejoinder.stats.predicted import LabelledScores, prediction_powered_mean


@pytest.fixture(scope="module")
def simulation() -> Any:
    return benchmark_script("coverage_labelling")


def test_active_probabilities_sum_to_the_labels_and_grow_with_uncertainty() -> None:
    p = active_probabilities([1, 2, 3, 100, 0], 3)
    assert p.sum() == pytest.approx(3)
    assert p.max() == 1
    assert p[4] < p[0] < p[1] < p[2] < p[3]
    assert p[4] > 0
    # A share of .2 is spread equally, the rest as 1 : 2 : 5.
    shared = [0.2 / 3 + 0.8 * part / 8 for part in (1, 2, 5)]
    assert active_probabilities([1, 2, 5], 1, equal_share=0.2).tolist() == pytest.approx(shared)
    assert active_probabilities([0, 0, 0], 1).tolist() == pytest.approx([1 / 3] * 3)
    with pytest.raises(ValueError, match="must not be negative"):
        active_probabilities([1, -1], 1)


def test_neyman_gives_labels_by_size_times_deviation() -> None:
    assert stratum_sizes([100, 100, 200], 80, [1, 3, 1]).tolist() == pytest.approx([13, 40, 27], abs=1)
    assert stratum_sizes([100, 300], 40).tolist() == [10, 30]
    assert stratum_sizes([100, 100], 50, [1, 0]).tolist() == [48, 2]  # never none: the deviation may be wrong
    assert stratum_sizes([3, 100], 50, [100, 1]).tolist() == [3, 47]
    with pytest.raises(ValueError, match="expected from 1 to 5 labels, not 6"):
        stratum_sizes([5], 6)


def test_strata_have_about_equal_size_and_no_gaps() -> None:
    assert np.bincount(score_strata(np.arange(100.0), 5)).tolist() == pytest.approx([20] * 5, abs=1)
    assert set(score_strata([1, 1, 1, 1, 2], 5)) == {0, 1}
    assert score_strata([3.0, 3.0], 4).tolist() == [0, 0]


def test_replies_are_drawn_with_their_probabilities() -> None:
    p = active_probabilities(np.arange(1.0, 21), 6)
    draws = np.array([drawn_rows(p, seed) for seed in range(4000)])
    assert set(draws.sum(axis=1)) == {6}
    np.testing.assert_allclose(draws.mean(axis=0), p, atol=0.03)  # four standard errors


def test_each_stratum_gets_its_labels() -> None:
    strata = np.repeat([0, 1, 2], [50, 30, 20])
    p = stratified_probabilities(strata, 20, [1, 1, 4])
    sizes = stratum_sizes([50, 30, 20], 20, [1, 1, 4])
    for seed in range(50):
        np.testing.assert_array_equal(np.bincount(strata[drawn_rows(p, seed, strata)], minlength=3), sizes)


def test_equal_probabilities_give_the_estimate_for_a_random_sample(simulation: Any) -> None:
    """With equal probabilities this is prediction-powered inference: about the same estimate and interval."""
    replies, _ = simulation.simulated(np.random.default_rng(0))
    side = simulation.chosen(replies, simulation.DESIGNS["random"], 200, 0)
    labels, scores = np.asarray(side.labels), np.asarray(side.scores)
    has = ~np.isnan(labels)
    ours, plain = weighted_mean(side), prediction_powered_mean(LabelledScores(labels[has], scores[has], scores[~has]))
    assert ours.interval.estimate == pytest.approx(plain.interval.estimate, abs=0.01)
    assert ours.interval.half_width == pytest.approx(plain.interval.half_width, rel=0.25)
    assert ours.labels_only.estimate == pytest.approx(labels[has].mean())
    assert (ours.n_labelled, ours.n_unlabelled) == (200, 800)


def test_labels_chosen_by_uncertainty_are_worth_more(simulation: Any) -> None:
    """A short run of benchmarks/coverage_labelling.py: uncertain replies are better ones here, so the plain mean of
    their labels is biased; 100 data sets."""
    hits, widths = {}, {}
    for design in ("random", "active"):
        covers = []
        for number in range(100):
            parts = simulation.simulated(np.random.default_rng((5, number)))
            a, b = (
                simulation.chosen(replies, simulation.DESIGNS[design], 100, 2 * number + at)
                for at, replies in enumerate(parts)
            )
            interval = weighted_difference(a, b).interval
            covers.append((interval.covers(simulation.GAP), interval.half_width))
        hits[design], widths[design] = np.mean(covers, axis=0)
    assert min(hits.values()) >= 0.88
    assert widths["active"] < 0.85 * widths["random"]


def test_all_labelled_is_the_plain_mean() -> None:
    rng = np.random.default_rng(0)
    labels = rng.normal(size=50)
    found = weighted_mean(ChosenLabels(labels, rng.normal(size=50), np.ones(50)))
    assert found.interval.estimate == pytest.approx(labels.mean())
    assert found.interval.half_width == pytest.approx(2.01 * labels.std(ddof=1) / math.sqrt(50), rel=0.1)


def test_three_labels_are_too_few_for_a_slope() -> None:
    labels, scores = np.array([1.0, 2.0, 4.0, np.nan, np.nan, np.nan]), np.arange(6.0)
    few = weighted_mean(ChosenLabels(labels, scores, np.full(6, 0.5)))
    assert few.weights == (0.0,)
    assert few.interval.estimate == pytest.approx(7 / 3)
    labels[3] = (
        5.0  # the line through (0, 1), (1, 2), (2, 4), (3, 5) rises by 1.4, and is at 4.4 where the mean score is
    )
    enough = weighted_mean(ChosenLabels(labels, scores, np.full(6, 0.5)))
    assert enough.weights == pytest.approx((1.4,))
    assert enough.interval.estimate == pytest.approx(4.4)


def test_labels_alone_by_hand() -> None:
    """1, 2, 3 and 6, all certain to be labelled, with scores that say nothing.

    Deviations from the mean, 3, are divided by 4 and by the root of 1 - 1/4, so their squares sum to 14 / 12; times 4/3
    for four replies, the variance is 14 / 9.
    """
    found = weighted_mean(ChosenLabels([1.0, 2.0, 3.0, 6.0], np.zeros(4), np.ones(4)))
    assert found.interval.estimate == found.labels_only.estimate == 3
    assert found.label_variance == pytest.approx(14 / 9)
    assert found.score_variance == 0
    assert found.gain == 1
    assert found.p_value == pytest.approx(0.095414, abs=1e-6)  # scipy.stats.t.sf of 3 / sqrt(14 / 9)
    half = 3.182446 * math.sqrt(14 / 9)  # t with 3 degrees of freedom
    assert [found.interval.half_width, found.labels_only.half_width] == pytest.approx([half, half])


def test_two_labels_of_which_one_counts_little_have_no_interval() -> None:
    found = weighted_mean(ChosenLabels([1.0, 2.0, np.nan], np.zeros(3), [1.0, 0.2, 0.2]))
    assert found.interval.estimate == pytest.approx(11 / 6)
    assert math.isnan(found.interval.low), "they count as 6^2 / 26 labels"


def test_missing_labels_are_noticed() -> None:
    rng = np.random.default_rng(0)
    p = equal_probabilities(1000, 200)
    labels = np.where(drawn_rows(p, 1), rng.normal(size=1000), np.nan)
    assert coverage_p_value(ChosenLabels(labels, np.zeros(1000), p)) > 0.01
    labels[:600] = np.nan  # these were never rated
    assert coverage_p_value(ChosenLabels(labels, np.zeros(1000), p)) < 1e-6


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="probability above 0"):
        weighted_mean(ChosenLabels([1.0, np.nan], [0, 0], [0, 1]))
    with pytest.raises(ValueError, match="up to 1"):
        weighted_mean(ChosenLabels([1.0, 2.0], [0, 0], [1, 1.5]))
    with pytest.raises(ValueError, match="vectors of equal length"):
        weighted_mean(ChosenLabels([1.0], [0, 0], [1, 1]))
    with pytest.raises(ValueError, match="from 0 to 1"):
        drawn_rows([0.5, 1.5])

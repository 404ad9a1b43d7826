"""Prediction-powered means: against ppi-python where it is installed, and against what theory promises."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rejoinder.stats.predicted import (
    LabelledScores,
    labels_needed,
    prediction_powered_difference,
    prediction_powered_mean,
    selection_p_value,
)


def simulated(n: int = 300, others: int = 4000, seed: int = 0, noise: float = 0.5) -> LabelledScores:
    """Labels of mean 0; scores that follow them on a stretched, shifted scale."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n + others)
    scores = 2 * (truth + noise * rng.normal(size=n + others)) + 7
    return LabelledScores(truth[:n], scores[:n], scores[n:])


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_estimate_and_interval_are_those_of_ppi_python(weight: float) -> None:
    ppi = pytest.importorskip("ppi_py", reason="ppi-python is not installed")
    given = simulated()
    result = prediction_powered_mean(given, weight=weight)
    arrays = (given.labels, given.scores, given.unlabelled)
    theirs = ppi.ppi_mean_pointestimate(*arrays, lam=weight).item()
    low, high = (bound.item() for bound in ppi.ppi_mean_ci(*arrays, alpha=0.05, lam=weight))
    assert result.interval.estimate == pytest.approx(theirs)
    # Theirs has normal quantiles and divides by n: at 300 labels a difference of half a percent.
    assert result.interval.half_width == pytest.approx((high - low) / 2, rel=0.01)


def test_tuned_lambda_is_that_of_ppi_python() -> None:
    ppi = pytest.importorskip("ppi_py", reason="ppi-python is not installed")
    given = simulated(n=2000, others=20_000)
    result = prediction_powered_mean(given)
    theirs = ppi.ppi_mean_pointestimate(given.labels, given.scores, given.unlabelled).item()
    assert result.interval.estimate == pytest.approx(theirs, abs=2e-3)


def test_weight_zero_is_the_plain_t_interval() -> None:
    given = simulated()
    result = prediction_powered_mean(given, weight=0)
    labels = np.asarray(given.labels)
    low, high = stats.t.interval(0.95, labels.size - 1, labels.mean(), stats.sem(labels))
    assert [result.interval.low, result.interval.high] == pytest.approx([low, high])
    assert result.interval == result.labels_only
    assert result.gain == pytest.approx(1)


def test_the_gain_is_what_the_correlation_allows() -> None:
    """With N far above n the variance shrinks to 1 - r^2 of the labels' (r^2 = 1 / 1.25 here): a gain of 5."""
    result = prediction_powered_mean(simulated(n=2000, others=400_000))
    assert result.gain == pytest.approx(5, rel=0.1)
    assert result.weights[0] == pytest.approx(0.8 / 2, rel=0.05)  # the regression of labels on scores


def test_useless_scores_do_no_harm() -> None:
    rng = np.random.default_rng(0)
    result = prediction_powered_mean(LabelledScores(rng.normal(size=400), rng.normal(size=400), rng.normal(size=5000)))
    assert abs(result.weights[0]) < 0.15
    assert result.gain == pytest.approx(1, abs=0.03)


def test_biased_scores_leave_no_bias() -> None:
    """Scores are far off the labels' scale and still the estimates centre on the truth."""
    estimates = [prediction_powered_mean(simulated(n=60, others=600, seed=s)).interval.estimate for s in range(300)]
    assert np.mean(estimates) == pytest.approx(0, abs=3 * float(np.std(estimates)) / math.sqrt(300))


def test_groups_of_repeated_replies_count_once() -> None:
    given = simulated(n=80, others=500)
    groups, others = np.arange(80), np.arange(1000, 1500)
    alone = prediction_powered_mean(LabelledScores(given.labels, given.scores, given.unlabelled, groups, others))
    repeated = prediction_powered_mean(
        LabelledScores(*(np.repeat(v, 5) for v in (given.labels, given.scores, given.unlabelled, groups, others)))
    )
    assert repeated.interval.half_width == pytest.approx(alone.interval.half_width)
    assert alone == prediction_powered_mean(given)


def test_shared_contexts_make_a_comparison_sharper() -> None:
    """Both systems answered the same contexts, some hard, some easy: as pairs they differ clearly."""
    rng = np.random.default_rng(1)
    contexts = np.arange(1000)
    ease = rng.normal(size=1000)
    sides = []
    for quality in (0.0, 0.3):
        truth = ease + quality + 0.4 * rng.normal(size=1000)
        scores = truth + 0.5 * rng.normal(size=1000)
        sides.append((truth[:100], scores[:100], scores[100:], contexts[:100], contexts[100:]))
    paired = prediction_powered_difference(*(LabelledScores(*side) for side in sides))
    unpaired = prediction_powered_difference(*(LabelledScores(*side[:3]) for side in sides))
    assert paired.interval.half_width < 0.6 * unpaired.interval.half_width
    assert paired.interval.covers(0.3)
    assert paired.gain > 1
    assert (paired.n_labelled, paired.n_unlabelled) == (200, 1800)


def test_the_needed_labels_settle_the_difference() -> None:
    """With the number of labels that was asked for, the interval's z is that of power .8: 1.96 + .84."""
    a, b = simulated(n=60, others=20_000, seed=1), simulated(n=60, others=20_000, seed=2)
    shifted = LabelledScores(np.asarray(b.labels) + 0.2, b.scores, b.unlabelled)
    first = prediction_powered_difference(a, shifted)
    needed = labels_needed(first)
    scale = first.n_labelled / needed
    variance = first.label_variance * scale + first.score_variance
    assert abs(first.interval.estimate) / math.sqrt(variance) == pytest.approx(1.96 + 0.8416, rel=0.01)
    assert labels_needed(first, power=0.95) > needed
    for wrong in ({"power": 1.0}, {"power": 0.0}, {"alpha": 1.0}, {"alpha": 0.0}):
        with pytest.raises(ValueError, match="must be between 0 and 1"):
            labels_needed(first, **wrong)


def test_no_number_of_labels_helps_where_the_scored_replies_are_too_few() -> None:
    a, b = simulated(n=400, others=20, seed=3), simulated(n=400, others=20, seed=4)
    close = LabelledScores(np.asarray(b.labels) + 0.001, b.scores, b.unlabelled)
    assert labels_needed(prediction_powered_difference(a, close, weight=0.5)) == math.inf


def test_without_unlabelled_replies_the_labels_stand_alone() -> None:
    given = simulated(n=30)
    result = prediction_powered_mean(LabelledScores(given.labels, given.scores, []))
    assert result.interval.estimate == result.labels_only.estimate
    assert result.n_unlabelled == 0


def test_gaps_are_left_out_and_nothing_gives_nan() -> None:
    result = prediction_powered_mean(
        LabelledScores([1.0, 2.0, math.nan, 4.0], [1.0, 2.0, 3.0, math.nan], [1.0, math.nan, 2.0])
    )
    assert (result.n_labelled, result.n_unlabelled) == (2, 2)
    empty = prediction_powered_mean(LabelledScores([], [], [1.0, 2.0]))
    assert math.isnan(empty.interval.estimate)
    assert math.isnan(empty.interval.low)
    assert math.isnan(labels_needed(empty))


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e6])
def test_a_predictor_that_says_nothing_costs_nothing(constant: float) -> None:
    given = simulated(n=6, others=50)
    result = prediction_powered_mean(LabelledScores(given.labels, np.full(6, constant), np.full(50, constant)))
    assert result.interval == result.labels_only
    assert result.weights == (0.0,)
    assert result.gain == 1


def test_the_p_value_agrees_with_the_interval() -> None:
    for seed in range(20):
        result = prediction_powered_mean(simulated(n=12, seed=seed), confidence=0.9)
        assert (result.p_value < 0.1) == (not result.interval.covers(0))
    alone = prediction_powered_mean(LabelledScores([1.0, 2.0, 4.0], [0.0] * 3, []))
    assert alone.p_value == pytest.approx(stats.ttest_1samp([1.0, 2.0, 4.0], 0).pvalue)
    assert math.isnan(prediction_powered_mean(LabelledScores([1.0], [1.0], [])).p_value)
    assert math.isnan(prediction_powered_mean(LabelledScores([3.0] * 4, [1.0] * 4, [])).p_value)


def coverage(n: int, others: int, *, yes: float | None = None, datasets: int = 300) -> tuple[float, float]:
    """How often the 95 % intervals of a mean and of a difference cover the truth; `yes` is the share of yes labels."""
    rng = np.random.default_rng(0)
    truth = 0.0 if yes is None else yes
    covered = np.zeros(2)
    for _ in range(datasets):
        sides = []
        for _ in range(2):
            quality = rng.normal(size=n + others)
            scores = quality + rng.normal(size=n + others)
            labels = quality if yes is None else (quality > stats.norm.isf(yes)).astype(float)
            sides.append(LabelledScores(labels[:n], scores[:n], scores[n:]))
        covered[0] += prediction_powered_mean(sides[0]).interval.covers(truth)
        covered[1] += prediction_powered_difference(*sides).interval.covers(0)
    mean, difference = covered / datasets
    return float(mean), float(difference)


@pytest.mark.parametrize(("n", "others"), [(30, 1), (30, 2), (100, 1), (8, 300)])
def test_intervals_cover_with_few_unlabelled_replies(n: int, others: int) -> None:
    """Where the variance of one or two unlabelled scores was taken from these alone, 13 to 75 % were covered."""
    assert min(coverage(n, others)) > 0.92


@pytest.mark.parametrize("yes", [0.5, 0.2])
def test_intervals_cover_with_few_yes_or_no_labels(yes: float) -> None:
    """Five equal labels have no variance, and an interval of width 0 covers nothing: 65 % were covered at .2."""
    assert min(coverage(5, 100, yes=yes)) > 0.92


def test_equal_labels_of_unknown_scale_have_no_interval() -> None:
    rng = np.random.default_rng(0)
    equal = LabelledScores(np.full(8, 3.0), rng.normal(size=8), rng.normal(size=50))
    assert math.isnan(prediction_powered_mean(equal).interval.low)
    told = prediction_powered_mean(equal, label_values=(2.0, 3.0)).interval
    assert told.low < 3 == told.high


def test_pseudo_labels_give_the_interval_of_agresti_and_coull() -> None:
    labels = np.repeat([0.0, 1.0], [7, 3])
    found = prediction_powered_mean(LabelledScores(labels, np.zeros(10), []))
    share = 5 / 14
    margin = stats.norm.isf(0.025) * math.sqrt(share * (1 - share) / 14)
    assert (found.interval.low, found.interval.high) == pytest.approx((share - margin, share + margin))
    assert found.interval.estimate == pytest.approx(0.3)


def test_selected_labels_are_noticed_and_random_ones_are_not() -> None:
    rng = np.random.default_rng(0)
    found = {"selected": 0, "random": 0}
    for _ in range(200):
        scores = rng.normal(size=200)
        chosen = {"selected": np.argsort(-scores - rng.normal(size=200)), "random": rng.permutation(200)}
        for name, order in chosen.items():
            some, others = scores[order[:40]], scores[order[40:]]
            found[name] += selection_p_value(LabelledScores(some, some, others)) < 0.01
    assert found["selected"] == 200
    assert found["random"] < 8
    assert math.isnan(selection_p_value(LabelledScores([1.0, 2.0], [1.0, 1.0], [1.0])))
    assert math.isnan(selection_p_value(LabelledScores([1.0, 2.0], [1.0, 2.0], [])))


def test_a_selection_is_not_read_into_three_labels() -> None:
    """Six replies of which three are labelled at random: at most 5 % of p-values are below 5 %."""
    rng = np.random.default_rng(1)
    drawn = rng.normal(size=(500, 6))
    below = [selection_p_value(LabelledScores(row[:3], row[:3], row[3:])) < 0.05 for row in drawn]
    assert np.mean(below) <= 0.05


def test_bad_calls_are_told() -> None:
    with pytest.raises(ValueError, match="equal length"):
        prediction_powered_mean(LabelledScores([1.0], [1.0, 2.0], [1.0]))
    with pytest.raises(ValueError, match="groups must be given for all"):
        prediction_powered_mean(LabelledScores([1.0, 2.0], [1.0, 2.0], [1.0], groups=["a", "b"]))
    with pytest.raises(ValueError, match="confidence"):
        prediction_powered_mean(LabelledScores([1.0, 2.0], [1.0, 2.0], [1.0]), confidence=2)
    with pytest.raises(ValueError, match="power"):
        labels_needed(prediction_powered_mean(simulated()), power=2)

"""What people would say, from a few labels and many scores."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

import numpy as np
import pytest

from rejoinder.comparing.compare import compare
from rejoinder.comparing.labels import LabelDifference, human_means, labels_by_row
from rejoinder.comparing.tests import ranking
from rejoinder.data.judged import JudgedSet
from rejoinder.errors import CallError
from rejoinder.scoring.table import ScoreTable
from rejoinder.stats.intervals import Interval
from rejoinder.stats.predicted import PredictionPowered
from rejoinder.stats.resampling import holm
from rejoinder.types import Example, JudgedExample


def made_up(rng: np.random.Generator, gap: float) -> tuple[ScoreTable, np.ndarray, np.ndarray, np.ndarray]:
    """300 contexts x 2 systems: a metric on another scale than people, labels on 60 contexts."""
    contexts = np.repeat(np.arange(300), 2)
    system = np.tile([0, 1], 300).astype(np.int32)
    truth = 3 + rng.normal(0, 0.5, 300)[contexts] + gap * system + rng.normal(0, 0.6, 600)
    scores = 0.1 * truth + rng.normal(0, 0.03, 600)
    labels = np.where(contexts < 60, truth + rng.normal(0, 0.3, 600), np.nan)
    table = ScoreTable({"metric": scores}, {"metric": "metric|v:0"}, ("A", "B"), system)
    return table, contexts, labels, truth


def test_the_interval_covers_the_truth_and_is_shorter_than_that_of_labels_alone() -> None:
    covered, shorter, trials = 0, 0, 60
    for seed in range(trials):
        table, contexts, labels, _ = made_up(np.random.default_rng(seed), gap=0.3)
        (difference,) = human_means(table, contexts, labels, "overall", "metric").differences
        interval, alone = difference.result.interval, difference.result.labels_only
        covered += interval.low <= 0.3 <= interval.high
        shorter += interval.high - interval.low < alone.high - alone.low
    assert covered >= 0.87 * trials  # 95 % is nominal; 60 trials may stray this far with probability below .01
    assert shorter > 0.9 * trials


def test_sentences() -> None:
    table, contexts, labels, _ = made_up(np.random.default_rng(0), gap=0.8)
    means = human_means(table, contexts, labels, "overall", "metric")
    assert means.differences[0].sentence().startswith("People would rate B above A by 0.")
    assert "random sample" in means.title
    table, contexts, labels, _ = made_up(np.random.default_rng(3), gap=0.0)
    words = human_means(table, contexts, labels, "overall", "metric").differences[0].sentence()
    assert words.startswith("No significant difference between A and B by people's ratings (")
    json.dumps(means.to_dict(), allow_nan=False)


def an_open_difference(needed: float, unlabelled: int, p: float = 0.2) -> LabelDifference:
    interval = Interval(0.1, -0.1, 0.3)
    result = PredictionPowered(interval, interval, (1.0,), 40, unlabelled, p, 1.0, 0.1, 0.1)
    return LabelDifference("A", "B", result, p, needed)


def test_what_more_labels_could_do() -> None:
    start = "No significant difference between A and B by people's ratings (0.100 [-0.100, 0.300], p = 0.200); "
    assert an_open_difference(123, 83).sentence() == (
        start + "if the observed difference is the true one, about 83 more labels would detect it with 80% power."
    )
    for needed in (124, math.inf):
        assert an_open_difference(needed, 83).sentence() == (
            start + "labelling all 83 remaining replies would not be expected to settle it."
        )
    assert (
        an_open_difference(90, 0).sentence()
        == start + "all replies are labelled, so only more replies could settle it."
    )
    assert an_open_difference(math.nan, 9, math.nan).sentence() == (
        "Too few different labels to compare A and B by people's ratings."
    )


def test_several_differences_are_corrected_together() -> None:
    rng = np.random.default_rng(3)  # of which one difference is significant on its own only
    contexts, system = np.repeat(np.arange(200), 4), np.tile(np.arange(4), 200).astype(np.int32)
    truth = 3 + 0.25 * (system == 3) + rng.normal(0, 0.6, 800)
    labels = np.where(contexts < 60, truth, np.nan)
    scores = truth + rng.normal(0, 0.6, 800)
    table = ScoreTable({"metric": scores}, {"metric": "metric|v:0"}, tuple("ABCD"), system)
    means = human_means(table, contexts, labels, "overall", "metric")
    told = means.to_dict()["differences"]
    raw = [row["p"] for row in told]
    assert [row["p_adjusted"] for row in told] == pytest.approx(holm(raw).tolist())
    for row, p in zip(means.differences, raw, strict=True):
        assert (p < 0.05) == (not row.result.interval.covers(0)), "before the correction, p and interval agree"
        assert row.significant == (row.p_adjusted < 0.05)
    assert any(p < 0.05 and not row.significant for row, p in zip(means.differences, raw, strict=True))
    assert any(row.significant for row in means.differences)
    assert "Each interval stands for itself" not in str(means)


def test_labels_that_were_selected_are_noted() -> None:
    """People looked at the replies that the metric likes best: the labels say nothing of the others."""
    table, contexts, labels, truth = made_up(np.random.default_rng(0), gap=0.0)
    assert not any("random sample" in note for note in human_means(table, contexts, labels, "overall", "metric").notes)
    best = table["metric"] > np.quantile(table["metric"], 0.8)
    chosen = np.where((table.system_of == 1) & best, truth, np.where(table.system_of == 0, labels, np.nan))
    (note,) = human_means(table, contexts, chosen, "overall", "metric").notes
    assert note.startswith("B: the labelled replies have a mean metric of 0.")
    assert "(p < 0.001): they are not a random sample" in note


@pytest.mark.parametrize(("low", "high"), [(0, 1), (1, 2)])
def test_yes_or_no_labels_never_have_an_interval_of_width_0(low: float, high: float) -> None:
    """All labels of B are yes, which does not make its mean certain."""
    table, contexts, labels, _ = made_up(np.random.default_rng(0), gap=0.0)
    yes = np.where(np.isnan(labels), np.nan, np.where((table.system_of == 1) | (labels > 3), high, low))
    found = human_means(table, contexts, yes, "overall", "metric").means["B"].interval
    assert found.estimate == found.high == high
    assert high - 0.1 < found.low < high - 0.02


def test_replies_without_a_score_keep_their_labels() -> None:
    """The metric cannot score A's worst replies: without their labels A would look better than it is."""
    table, contexts, labels, truth = made_up(np.random.default_rng(0), gap=0.0)
    of_a = table.system_of == 0
    bad = of_a & (truth < np.quantile(truth[of_a], 0.3))
    column = np.where(bad, np.nan, table["metric"])
    table = ScoreTable({"metric": column}, table.signatures, ("A", "B"), table.system_of)
    means = human_means(table, contexts, labels, "overall", "metric")
    assert means.means["A"].n_labelled == 60
    assert means.means["A"].interval.covers(float(truth[of_a].mean()))
    assert means.notes == (f"metric could not score {bad.sum()} replies: they were given their system's mean score",)
    nothing = ScoreTable({"metric": np.full(600, np.nan)}, table.signatures, ("A", "B"), table.system_of)
    for result in human_means(nothing, contexts, labels, "overall", "metric").means.values():
        assert result.interval == result.labels_only


def test_few_labels_are_noted() -> None:
    table, contexts, labels, _ = made_up(np.random.default_rng(0), gap=0.0)
    assert human_means(table, contexts, labels, "overall", "metric").notes == ()
    labels[(contexts >= 12) & (table.system_of == 1)] = np.nan
    (note,) = human_means(table, contexts, labels, "overall", "metric").notes
    assert note.startswith("B: fewer than 20 labels; if labels are skewed, the 95 % intervals")


@pytest.mark.parametrize("probability", [None, 0.2])
def test_means_stay_within_the_scale_of_the_ratings(probability: float | None) -> None:
    """B gets 5 from nearly everybody: the plain t interval of its mean would end above 5."""
    rng = np.random.default_rng(0)
    examples = [
        Example(f"{c}", (f"context {c}",), "word " * int(rng.integers(1, 9)), (), system)
        for c in range(100)
        for system in "AB"
    ]
    chosen = {} if probability is None else {"probability": probability}
    labels = [
        {
            "id": f"{c}",
            "system": system,
            "scores": {"overall": (1 if c < 10 else 3) if system == "A" else (4 if c == 0 else 5)},
            **chosen,
        }
        for c in range(20)
        for system in "AB"
    ]
    human = compare(examples, labels=labels, metrics=["length"], resamples=50).human
    assert human is not None
    best = human.means["B"]
    assert best.interval.high == best.labels_only.high == 5
    assert 4.5 < best.interval.low < best.interval.estimate <= 5
    assert human.to_dict()["means"]["B"]["high"] == 5
    (difference,) = human.differences
    assert difference.result.interval.high < 4, "no difference exceeds the length of the scale"


def test_too_few_labels() -> None:
    table, contexts, labels, _ = made_up(np.random.default_rng(0), gap=0.0)
    labels[8:] = np.nan
    with pytest.raises(CallError, match="A has 4 labelled replies: expected at least 5"):
        human_means(table, contexts, labels, "overall", "metric")


def judged(*rows: tuple[str, str, float]) -> JudgedSet:
    items = [JudgedExample(Example(i, (), "", (), system), {"overall": (score,)}) for i, system, score in rows]
    return JudgedSet.of(items, "labels")


REPLIES = [Example("1", (), "x", (), "A"), Example("1", (), "y", (), "B"), Example("2", (), "z", (), "B")]


def test_labels_join_by_id_and_system() -> None:
    dimension, labels = labels_by_row(REPLIES, judged(("1", "B", 4.0), ("2", "", 2.0)), None)
    assert dimension == "overall"
    np.testing.assert_array_equal(labels.values, [np.nan, 4, 2])
    assert labels.probabilities is None


def test_labels_that_fit_several_replies_or_none() -> None:
    with pytest.raises(CallError, match="the label of '1' matches several replies"):
        labels_by_row(REPLIES, judged(("1", "", 4.0)), None)
    with pytest.raises(CallError, match="labels none of the replies"):
        labels_by_row(REPLIES, judged(("9", "", 4.0)), None)


@dataclass
class Pair:
    """A verdict's core."""

    a: str
    b: str
    difference: float
    p_adjusted: float


def test_ranking_draws_a_line_where_systems_differ() -> None:
    pairs = [Pair("x", "y", -0.1, 0.5), Pair("x", "z", -0.3, 0.01), Pair("y", "z", -0.2, 0.02)]
    ranked = ranking("m", [("z", 0.1), ("x", 0.4), ("y", 0.3)], pairs, higher_is_better=True)
    assert ranked.sentence() == "m: x (0.400), y (0.300) | z (0.100)"
    turned = ranking("m", [("z", 0.1), ("x", 0.4), ("y", 0.3)], pairs, higher_is_better=False)
    assert turned.sentence() == "m: z (0.100) | y (0.300), x (0.400)"


def test_no_cluster_holds_two_systems_that_differ() -> None:
    pairs = [Pair("x", "y", -0.1, 0.5), Pair("x", "z", -0.3, 0.01), Pair("y", "z", -0.2, 0.4)]
    ranked = ranking("m", [("x", 0.4), ("y", 0.3), ("z", 0.1)], pairs, higher_is_better=True)
    assert ranked.sentence() == "m: x (0.400), y (0.300) | z (0.100)"


def test_a_difference_against_the_order_draws_no_bar() -> None:
    pairs = [Pair("x", "y", 0.2, 0.001)]  # on the contexts of the test y is better
    assert ranking("m", [("x", 0.7), ("y", 0.4)], pairs, higher_is_better=True).sentence() == "m: x (0.700), y (0.400)"
    assert "|" in ranking("m", [("x", 0.7), ("y", 0.9)], pairs, higher_is_better=True).sentence()


def test_three_systems_are_ranked() -> None:
    rng = np.random.default_rng(0)
    examples = [
        Example(
            f"{c}-{s}",
            (f"context {c}",),
            "word " * int(rng.integers(1, 5)) + f"{s} x{c}",
            (f"{s} x{c} word",),
            f"system {s}",
        )
        for c in range(30)
        for s in range(3)
    ]
    comparison = compare(examples, metrics=["rouge-l", "length"], resamples=50)
    assert [ranking.metric for ranking in comparison.rankings] == ["rouge-l"]  # length does not say which is better
    assert "Best first" in comparison.text(details=True)

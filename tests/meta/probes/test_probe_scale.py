"""What the studies share: people's scale, scores put on it, true replies, sentences."""

from __future__ import annotations

import numpy as np
import pytest

from probe_sets import BLEU, example, scored_set
from rejoinder.registry import load
from rejoinder.trusting.human_scale import (
    HumanScale,
    clipped,
    comparable,
    enumerated,
    left_out,
    listed_with,
    normalised,
    of_true_systems,
    own_references,
    scale_of,
)

NAN = float("nan")


@pytest.mark.parametrize(
    ("ratings", "low", "high", "step", "bad", "good"),
    [
        ([1, 2, 3, 4, 5, NAN], 1, 5, 1, 2, 4),  # as in Lowe et al. 2017
        ([0, 1, 2], 0, 2, 1, 0.5, 1.5),
        ([1, 3, 5], 1, 5, 2, 2, 4),
        ([1.0, 4.8, 5.0], 1, 5, 1, 2, 4),  # means of several raters
        ([0, 37, 100], 0, 100, 37, 25, 75),
        ([0, 1, 100], 0, 100, 25, 25, 75),  # a hundred steps are read as four
        ([3, 3], 3, 3, 1, 3, 3),
    ],
)
def test_scale(ratings: list[float], low: float, high: float, step: float, bad: float, good: float) -> None:
    scale = HumanScale.of(np.array(ratings))
    assert (scale.low, scale.high, scale.step, scale.bad, scale.good) == (low, high, step, bad, good)


def test_rounding_goes_to_whole_steps() -> None:
    assert HumanScale(1, 5, 2).rounded(np.array([1.2, 2.1, 4.9])).tolist() == [1, 3, 5]
    assert str(HumanScale(1, 5, 2)) == "1..5"


def test_normalised_scores_have_the_mean_and_variance_of_people_and_keep_their_order() -> None:
    rng = np.random.default_rng(0)
    human, scores = rng.integers(1, 6, 50), rng.random(50)
    scored = scored_set([example(i) for i in range(50)], human, {"m": scores})
    found = normalised(scored, "m")
    assert found.mean() == pytest.approx(human.mean())
    assert found.std() == pytest.approx(human.std())
    assert np.corrcoef(found, scores)[0, 1] == pytest.approx(1)
    assert clipped(scored, "m", scale_of(scored)).max() <= 5


def test_a_metric_whose_low_scores_are_good_is_turned_round() -> None:
    human = np.arange(20.0)
    scored = scored_set([example(i) for i in range(20)], human, {"r": -human}, {"r": load("repetition")})
    assert normalised(scored, "r") == pytest.approx(human)


def test_a_metric_with_one_score_for_all_says_the_mean() -> None:
    scored = scored_set([example(i) for i in range(20)], np.arange(20.0), {"m": np.ones(20)}, {"m": BLEU})
    assert normalised(scored, "m") == pytest.approx(np.full(20, 9.5))


def test_only_jointly_scored_replies_are_compared() -> None:
    scores = np.arange(20.0)
    scores[3] = NAN
    scored = scored_set([example(i) for i in range(20)], np.arange(20.0), {"m": scores})
    part = comparable(scored)
    assert part is not None
    assert [one.id for one in part.judged.examples] == [f"id-{i}" for i in range(20) if i != 3]
    assert comparable(scored, np.arange(20) < 5) is None
    flat = scored_set([example(i) for i in range(20)], np.ones(20), {"m": scores})
    assert comparable(flat) is None


def test_true_replies() -> None:
    examples = [
        example(0, "Yes , please .", ["no", "yes ,  please ."], system="a"),
        example(1, "yes please", ["yes , please"], system="Ground_Truth"),
        example(2, "yes", [], system="Original Ground Truth"),
        example(3, "", ["yes"], system="New Human Generated"),
        example(4, "yes", ["no"], system="human"),
    ]
    assert own_references(examples).tolist() == [True, False, False, False, False]
    assert of_true_systems(examples).tolist() == [False, True, True, False, True]


def test_words() -> None:
    assert enumerated([]) == ""
    assert enumerated(["a"]) == "a"
    assert enumerated(["a", "b", "c"]) == "a, b and c"
    assert listed_with({"a": 0.1, "b": -0.25}) == "b (-0.25) and a (+0.10)"
    assert left_out(np.array([False])) == ""
    assert left_out(np.array([True])) == " 1 reply that equals a reference is left out."
    assert left_out(np.array([True, True])) == " 2 replies that equal a reference are left out."

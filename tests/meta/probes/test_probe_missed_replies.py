"""Missed replies, counted as in Table 6 of Lowe et al. 2017."""

from __future__ import annotations

import numpy as np

from probe_sets import BLEU, cells, example, scored_set
from rejoinder.registry import load
from rejoinder.stats.intervals import Interval
from rejoinder.trusting.probes import missed_replies_probe, overlap_metrics
from rejoinder.trusting.probing import ScoredSet
from rejoinder.types import Scores

EXAMPLES = [example(i, of=i // 2) for i in range(40)]
HUMAN = np.array([5.0] * 20 + [1.0] * 20)  # twenty good replies, twenty bad ones


def flipped(*rows: int) -> Scores:
    """What people say, with the opposite said of some rows; as many of each side keep mean and variance."""
    scores = HUMAN.copy()
    scores[list(rows)] = 6 - scores[list(rows)]
    return scores


def missing() -> ScoredSet:
    return scored_set(
        EXAMPLES,
        HUMAN,
        {
            "bleu-2": flipped(0, 1, 2, 3, 4, 20, 21, 22, 23, 24),
            "rouge-l": flipped(2, 3, 4, 5, 22, 23, 24, 25),
            "judge": flipped(4, 9, 24, 30),
        },
    )


def test_counts() -> None:
    result = missed_replies_probe(missing())
    # Good replies 2, 3 and 4 are missed by both overlap metrics; the judge finds all but 4. It misses 4 and 9, of
    # which BLEU-2 and ROUGE find 9.
    assert cells(result, "judge") == {
        "metric": "judge",
        "good": 20,
        "missed": 2,
        "share missed": cells(result, "judge")["share missed"],
        "missed by overlap": 3,
        "of these found": 2,
        "missed, but found by overlap": 1,
        "bad": 20,
        "scored high": 2,
        "share scored high": cells(result, "judge")["share scored high"],
    }
    share = cells(result, "bleu-2")["share missed"]
    assert isinstance(share, Interval)
    assert share.estimate == 0.25
    assert share.low < 0.25 < share.high
    assert cells(result, "bleu-2")["missed by overlap"] == "-"
    assert result is not None
    assert result.sentences[0].startswith("Of 40 replies, people rate 20 at 4 or more on 1..5 (good) and 20 at 2")
    assert result.sentences[1] == "bleu-2 misses the most good replies, 5 of 20; judge the fewest, 2."
    assert result.sentences[2] == (
        "Both bleu-2 and rouge-l miss 3 of the 20. Of the other metrics, judge scores the most of these high, 2. "
        "A random sample of them: id-2, id-3 and id-4."
    )


def test_what_people_say_misses_nothing() -> None:
    row = cells(missed_replies_probe(scored_set(EXAMPLES, HUMAN, {"people": HUMAN * 0.01})), "people")
    assert (row["missed"], row["scored high"], row["missed by overlap"]) == (0, 0, "-")


def test_a_raw_zero_is_the_lowest_rating() -> None:
    # Normalising alone puts these zeros, the scores of 26 of 40 replies, at 2.1: above the limit of 2.
    scores = np.ones(40)
    scores[[*range(5), *range(19, 40)]] = 0
    human = np.linspace(5, 1, 40)  # rows 0 to 9 are good
    assert cells(missed_replies_probe(scored_set(EXAMPLES, human, {"m": scores})), "m")["missed"] == 5
    assert cells(missed_replies_probe(scored_set(EXAMPLES, human, {"m": scores + 1})), "m")["missed"] == 0


def test_thresholds_follow_the_scale() -> None:
    human = np.array([0, 1, 2] * 20)
    result = missed_replies_probe(scored_set([example(i) for i in range(60)], human, {"m": human}))
    assert cells(result, "m")["good"] == 20
    assert result is not None
    assert "people rate 20 at 1.5 or more on 0..2" in result.sentences[0]


def test_the_overlap_metrics_are_bleu_2_and_rouge_by_name_or_by_class() -> None:
    columns = dict.fromkeys(["bleu-4", "mine", "rouge-l", "bleu-2"], HUMAN)
    metrics = {"bleu-4": load("bleu-4"), "mine": BLEU, "rouge-l": load("rouge-l")}
    assert overlap_metrics(scored_set(EXAMPLES, HUMAN, columns, metrics)) == ("mine", "rouge-l")
    assert overlap_metrics(scored_set(EXAMPLES, HUMAN, columns)) == ("bleu-2", "rouge-l")
    assert overlap_metrics(scored_set(EXAMPLES, HUMAN, {"bleu-4": HUMAN})) == ("bleu-4",)
    assert overlap_metrics(scored_set(EXAMPLES, HUMAN, {"judge": HUMAN})) == ()


def test_a_lower_is_better_metric_is_turned_round_before_counting() -> None:
    scored = scored_set(EXAMPLES, HUMAN, {"r": 5 - HUMAN}, {"r": load("repetition")})
    assert cells(missed_replies_probe(scored), "r")["missed"] == 0


def test_replies_that_are_their_own_reference_are_left_out() -> None:
    copies = [example(100 + i, "the truth", ["The truth"]) for i in range(5)]
    result = missed_replies_probe(scored_set([*EXAMPLES, *copies], [*HUMAN, *[5] * 5], {"m": [*HUMAN, *[9] * 5]}))
    assert cells(result, "m")["good"] == 20
    assert result is not None
    assert result.sentences[0].endswith("5 replies that equal a reference are left out.")

"""Length bias: a metric made of lengths shows it, people's own ratings do not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_ind

from probe_sets import cells, example, scored_set, words
from rejoinder.stats.intervals import Interval
from rejoinder.trusting.probes import length_bias_probe, lengths_of, welch_p_value
from rejoinder.trusting.probing import ScoredSet

REFERENCE = words(10, "reference")


def lengthy(n: int = 200, *, people_care: bool = False) -> ScoredSet:
    """Replies of 1 to 30 words to references of 10; two replies a context."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 31, n)
    distance = np.abs(lengths - 10)
    human = np.where(distance <= 6, 4, 2) if people_care else rng.integers(1, 6, n)
    examples = [example(i, words(length), [REFERENCE], of=i // 2) for i, length in enumerate(lengths.tolist())]
    return scored_set(examples, human, {"closeness": -distance, "people too": human, "length": lengths})


def test_the_nearest_of_several_references_counts() -> None:
    found = lengths_of([example(0, words(3), [words(1), words(5), words(9)]), example(1, "a, b", [words(40)])])
    assert found.own.tolist() == [3, 3]
    assert found.distance.tolist() == [2, 37]


def test_a_metric_made_of_lengths_has_a_bias_that_people_do_not_have() -> None:
    result = length_bias_probe(lengthy())
    biased, equal = cells(result, "closeness"), cells(result, "people too")
    beyond = biased["beyond people's"]
    assert isinstance(beyond, Interval)
    assert beyond.low > 0.5
    assert isinstance(biased["p"], float)
    assert biased["p"] < 1e-6
    assert equal["beyond people's"] == Interval(0, 0, 0)
    assert result is not None
    assert any(finding.startswith("These favour replies of the reference's length") for finding in result.sentences)
    assert any("closeness" in finding and "people too" not in finding for finding in result.sentences)
    assert cells(result, "length")["Pearson with length"] == pytest.approx(1)


def test_a_bias_that_people_share_is_none_of_the_metric() -> None:
    result = length_bias_probe(lengthy(people_care=True))
    difference = cells(result, "people")["difference"]
    assert isinstance(difference, Interval)
    assert difference.estimate == pytest.approx(2)
    assert cells(result, "people too")["beyond people's"] == Interval(0, 0, 0)
    assert result is not None
    assert any(finding.startswith("People rate the first group higher") for finding in result.sentences)


def test_means_are_of_the_two_groups_in_people_s_points() -> None:
    scored = lengthy(people_care=True)
    row = cells(length_bias_probe(scored), "people")
    assert (row["within 6 words"], row["others"]) == (pytest.approx(4), pytest.approx(2))


def test_replies_that_are_their_own_reference_are_left_out() -> None:
    scored = lengthy()
    copies = [example(1000 + i, REFERENCE, [REFERENCE]) for i in range(30)]
    with_copies = scored_set(
        [*scored.judged.examples, *copies],
        [*scored.human, *[5.0] * 30],
        {"closeness": [*scored.scores["closeness"], *[0.0] * 30]},
    )
    result = length_bias_probe(with_copies)
    assert result is not None
    assert "30 replies that equal a reference are left out" in result.sentences[0]
    assert cells(result, "people")["within 6 words"] == cells(length_bias_probe(scored), "people")["within 6 words"]


def test_without_references_or_without_both_groups_there_is_no_study() -> None:
    human = np.arange(30) % 5
    assert length_bias_probe(scored_set([example(i, words(i + 1)) for i in range(30)], human, {"m": human})) is None
    near = [example(i, words(9), [REFERENCE]) for i in range(30)]
    assert length_bias_probe(scored_set(near, human, {"m": human})) is None


def test_welch_is_that_of_scipy() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=20), rng.normal(0.5, 3, size=35)
    assert welch_p_value(first, second) == pytest.approx(ttest_ind(first, second, equal_var=False).pvalue)
    assert np.isnan(welch_p_value(np.ones(5), np.ones(4)))

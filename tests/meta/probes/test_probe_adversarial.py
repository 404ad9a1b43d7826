"""Damaged replies: a metric that looks at words alone cannot see a shuffle; length loves repetition."""

from __future__ import annotations

import numpy as np
import pytest

from probe_sets import cells, example, scored_set
from rejoinder.registry import load
from rejoinder.stats.intervals import Interval
from rejoinder.trusting import robustness
from rejoinder.trusting.probing import ScoredSet, TableResult
from rejoinder.trusting.robustness import adversarial_probe, good_sample
from rejoinder.types import Example

NOUNS = "cat dog tree house river cloud stone bread chair lamp road field".split()

LONG = example(99, "a much longer reply than all the others", ["something short"])


def replies(n: int = 60) -> list[Example]:
    """Replies of seven tokens that share some with their reference."""
    rng = np.random.default_rng(0)
    found = []
    for i in range(n):
        one, two, three, four = rng.choice(NOUNS, 4, replace=False)
        found.append(example(i, f"the {one} saw {two} by {three} .", [f"the {one} saw {four} by {three} !"], of=i // 2))
    return found


def scored_by(*names: str, examples: list[Example] | None = None) -> ScoredSet:
    metrics = {name: load(name) for name in names}
    examples = examples or replies()
    human = np.arange(len(examples)) % 5 + 1
    return scored_set(examples, human, {name: metric.score(examples) for name, metric in metrics.items()}, metrics)


def moves(result: TableResult | None, metric: str, perturbation: str) -> Interval:
    found = cells(result, metric, perturbation)["change"]
    assert isinstance(found, Interval)
    return found


def test_a_bag_of_words_is_blind_to_order() -> None:
    result = adversarial_probe(scored_by("bleu-1", "bleu-2", "length", examples=[*replies(), LONG]))
    for blind in ("bleu-1", "length"):
        for perturbation in ("shuffle", "reversed"):
            row = cells(result, blind, perturbation)
            assert row["change"] == Interval(0, 0, 0)
            assert (row["share unchanged"], row["share raised"]) == (1, 0)
            assert row["before"] == pytest.approx(row["after"])
    assert moves(result, "bleu-2", "reversed").high < 0
    assert result is not None
    assert "bleu-1 scores lower under" in result.sentences[1]
    assert "does not clearly change under shuffle and reversed" in result.sentences[1]


def test_length_likes_repetition() -> None:
    result = adversarial_probe(scored_by("length", examples=[*replies(), LONG]))
    row = cells(result, "length", "repetition")
    assert moves(result, "length", "repetition").low > 0
    assert (row["share raised"], row["share unchanged"]) == (1, 0)
    assert moves(result, "length", "word drop").high < 0
    assert result is not None
    assert "scores higher under" in result.sentences[1]
    assert "repetition raises the score of the most replies, 100%" in result.sentences[1]


def test_a_lower_is_better_metric_falls_when_it_rises() -> None:
    result = adversarial_probe(
        scored_by("repetition(of=context)", examples=[*replies(), example(99, "the context number 99 ?")])
    )
    assert moves(result, "repetition(of=context)", "echoed context").high < 0


def test_document_frequencies_are_those_of_the_judged_set() -> None:
    scored = scored_by("cider")
    column = scored.scores["cider"]
    good = scored.human >= np.median(scored.human)
    expected = (column[good].mean() - column.mean()) / column.std(ddof=1)
    assert cells(adversarial_probe(scored), "cider", "shuffle")["before"] == pytest.approx(expected)


def test_only_replies_that_people_like_are_perturbed_and_not_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    scored = scored_by("length")
    assert len(good_sample(scored).rows) == 36
    monkeypatch.setattr(robustness, "MOST", 10)
    sample = good_sample(scored)
    assert len(sample.rows) == len(set(sample.rows.tolist())) == 10
    assert (scored.human[sample.rows] >= 3).all()
    assert sample.answered[0][:2] == ("context", "number")
    assert np.array_equal(sample.rows, good_sample(scored).rows)


def test_true_and_empty_replies_and_those_without_context_are_passed_over() -> None:
    own = [example(100 + i, "the truth is out", ["the truth is out"]) for i in range(20)]
    empty = [example(200 + i, " ", ["something"]) for i in range(5)]
    homeless = [Example(f"h{i}", (), response, ("the cat saw rain",)) for i, response in enumerate(NOUNS)]
    human = np.r_[np.arange(60) % 5 + 1, np.full(37, 5)]
    examples = [*replies(), *own, *empty, *homeless]
    metrics = {"length": load("length")}
    scored = scored_set(examples, human, {"length": np.r_[np.full(60, 7), np.full(37, 4.0)]}, metrics)
    result = adversarial_probe(scored)
    assert result is not None
    assert "20 replies that equal a reference are left out" in result.sentences[0]
    changed = {row[1]: row[2] for row in result.rows}
    assert changed["generic reply"] == changed["repetition"] == 24 + len(NOUNS)
    assert changed["echoed context"] == changed["word drop"] == 24  # one word alone cannot be dropped


def test_scores_from_a_file_cannot_be_asked_again() -> None:
    scored = scored_by("length")
    assert adversarial_probe(ScoredSet(scored.judged, "overall", scored.scores)) is None


def test_the_same_seed_gives_the_same_result() -> None:
    assert str(adversarial_probe(scored_by("bleu-2"))) == str(adversarial_probe(scored_by("bleu-2")))

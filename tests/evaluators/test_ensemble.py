"""Ensembles of evaluators and metrics: standardised, weighted, saved within one folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import rankdata

import rejoinder
from rejoinder.data.contexts import TrainedContexts
from rejoinder.errors import CallError, DataError, NeedsError
from rejoinder.evaluators.ensemble import Ensemble, fitting_and_not
from rejoinder.learning.data import TrainingData
from rejoinder.registry import load
from rejoinder.types import Dialogue, Example

TOPICS = "tea rain chess jazz bread snow tennis paint gold maps trains owls soup dance moons ships".split()
DIALOGUES = [
    Dialogue(topic, (f"do you like {topic}", f"yes i like {topic} a lot" + " really" * n, "why is that", "who knows"))
    for n, topic in enumerate(TOPICS)
]
EXAMPLES = [
    Example(str(n), (f"do you like {topic}",), f"i do like {topic if n % 2 else 'it'}" + " so" * n, (f"yes {topic}",))
    for n, topic in enumerate(TOPICS)
]


def test_one_member_keeps_its_order_and_spreads_over_the_scale() -> None:
    ensemble = Ensemble(members=("length",)).fit(DIALOGUES)
    scores, lengths = ensemble.score(EXAMPLES), load("length").score(EXAMPLES)
    assert rankdata(scores).tolist() == rankdata(lengths).tolist()
    assert ((scores > 1) & (scores < 5)).all()
    seen = ensemble.score(fitting_and_not(TrainingData(tuple(DIALOGUES))))
    assert 2.5 < seen.mean() < 3.5
    assert seen.std() > 0.7


def test_by_hand() -> None:
    members = ("length", "repetition")
    ensemble = Ensemble(members=members, weights=(3.0, 1.0)).fit(DIALOGUES, seed=2)
    seen = fitting_and_not(TrainingData(tuple(DIALOGUES), seed=2))
    standard, before = [], []
    for name in members:
        metric = load(name)
        sign = 1 if metric.higher_is_better else -1
        known = sign * metric.score(seen)
        standard.append((sign * metric.score(EXAMPLES) - np.nanmean(known)) / np.nanstd(known))
        before.append((known - np.nanmean(known)) / np.nanstd(known))
    together = (3 * before[0] + before[1]) / 4
    wanted = ((3 * standard[0] + standard[1]) / 4 - np.nanmean(together)) / np.nanstd(together)
    np.testing.assert_allclose(ensemble.score(EXAMPLES), 1 + 4 / (1 + np.exp(-1.702 * wanted)), atol=1e-9)


def test_a_member_that_cannot_say_makes_the_score_unknown() -> None:
    ensemble = Ensemble(members=("length", "bleu(n=1)")).fit(DIALOGUES)
    scores = ensemble.score([EXAMPLES[0], replace(EXAMPLES[1], references=())])
    assert np.isnan(scores).tolist() == [False, True]


def test_true_replies_are_not_compared_with_themselves() -> None:
    seen = fitting_and_not(TrainingData(tuple(DIALOGUES)))
    assert len(seen) == 2 * 3 * len(DIALOGUES)
    assert all(example.response not in example.references for example in seen)
    assert {bool(example.references) for example in seen} == {True, False}


def test_saved_with_its_members_inside(tmp_path: Path) -> None:
    Ensemble(members=("length",)).fit(DIALOGUES[:8]).save(tmp_path / "inner")
    ensemble = Ensemble(members=(str(tmp_path / "inner"), "bleu(n=2)")).fit(DIALOGUES[8:])
    assert len(ensemble.trained_contexts) == len(TrainedContexts.within(DIALOGUES)), "those of its members too"
    ensemble.save(tmp_path / "outer")
    expected = ensemble.score(EXAMPLES)
    (tmp_path / "inner").rename(tmp_path / "gone")
    loaded = rejoinder.load(tmp_path / "outer")
    np.testing.assert_array_equal(loaded.score(EXAMPLES), expected)
    assert loaded == ensemble
    assert loaded.signature == ensemble.signature
    assert loaded.members_[1].parameters["n"] == 2
    loaded.save(tmp_path / "again")
    np.testing.assert_array_equal(rejoinder.load(tmp_path / "again").score(EXAMPLES), expected)
    config = tmp_path / "again" / "config.json"
    config.write_text(config.read_text().replace('"centres"', '"centers"'))
    with pytest.raises(DataError, match=r"'learned\.centres': is missing"):
        rejoinder.load(tmp_path / "again")


def test_members_given_as_objects(tmp_path: Path) -> None:
    inner = Ensemble(members=("length",)).fit(DIALOGUES[:8])
    inner.save(tmp_path / "inner")
    by_name = Ensemble(members=("bleu(n=2)", str(tmp_path / "inner"))).fit(DIALOGUES)
    ensemble = load("ensemble", members=[load("bleu", n=2), inner]).fit(DIALOGUES)
    expected = by_name.score(EXAMPLES)
    np.testing.assert_array_equal(ensemble.score(EXAMPLES), expected)
    assert ensemble.parameters["members"][0] == "bleu(n=2)"
    assert ensemble.parameters["members"][1].startswith("ensemble@")
    ensemble.save(tmp_path / "outer")
    loaded = load(tmp_path / "outer")
    np.testing.assert_array_equal(loaded.score(EXAMPLES), expected)
    assert loaded.signature == ensemble.signature
    np.testing.assert_array_equal(ensemble.clone().fit(DIALOGUES).score(EXAMPLES), expected)


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"members": ()}, "members must be a list"),
        ({"members": "length"}, "members must be a list"),
        ({"members": ("length",), "weights": (1.0, 2.0)}, "weights must be above 0, one per member"),
        ({"members": ("length",), "weights": (0.0,)}, "weights must be above 0"),
    ],
)
def test_wrong_parameters(wrong: dict[str, object], problem: str) -> None:
    with pytest.raises(CallError, match=problem):
        Ensemble(**wrong)  # type: ignore[arg-type]


def test_members_that_will_not_do() -> None:
    with pytest.raises(CallError, match="cider has to see all replies"):
        Ensemble(members=("cider",)).fit(DIALOGUES)
    with pytest.raises(NeedsError, match="learns from dialogues"):
        Ensemble(members=("length",)).fit()
    same = [Dialogue(str(n), (f"w{n}", f"z{n}")) for n in range(9)]
    with pytest.raises(CallError, match="length gives all replies of these dialogues the same score"):
        Ensemble(members=("length",)).fit(same)

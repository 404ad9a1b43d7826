"""Raw scores on the scale of people: the curve keeps ranks, and intervals hold what they promise."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from rejoinder.arrays import Floats
from rejoinder.errors import CallError, DataError
from rejoinder.evaluators.calibration import Calibration, assess, on_our_scale
from rejoinder.metrics.batch import Batch
from rejoinder.types import Example
from small_evaluators import Lengthy, judged

EXAMPLES = [item.example for item in judged()]


def drawn(rng: np.random.Generator, contexts: int, replies: int) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Raw scores, ratings and contexts: some contexts get better replies, good replies are judged less alike."""
    groups = np.repeat(np.arange(contexts), replies)
    context, quality = rng.normal(0, 1, contexts)[groups], rng.normal(0, 1, len(groups))
    noise = rng.normal(0, 0.4, len(groups)) * (1 + 0.5 * (quality > 0))
    human = np.clip(3 + 0.7 * context + 0.6 * quality + noise, 1, 5)
    return np.tanh(quality + rng.normal(0, 1, len(groups)) + 0.5 * context), human, groups


def made(seed: int = 0, folds: int = 5, level: float = 0.9) -> Calibration:
    return Calibration.fit(*drawn(np.random.default_rng(seed), 60, 4), folds=folds, level=level)


@pytest.mark.parametrize("folds", [5, 1])
@pytest.mark.parametrize(("contexts", "replies"), [(25, 1), (40, 5), (300, 1)])
def test_intervals_hold_replies_to_new_contexts(folds: int, contexts: int, replies: int) -> None:
    shares = []
    for seed in range(50):
        rng = np.random.default_rng(seed)
        calibration = Calibration.fit(*drawn(rng, contexts, replies), folds=folds, seed=seed)
        raw, human, _ = drawn(rng, 200, 1)
        low, high = calibration.intervals(raw)
        shares.append(np.mean((low <= human) & (human <= high)))
    # Five standard errors of the mean over calibrations; the theory promises .9, and more where contexts are few.
    assert np.mean(shares) > 0.9 - 5 * np.std(shares) / 50**0.5
    assert np.mean(shares) < 0.97, "intervals are no longer than they need be"


def test_one_level_is_wider_than_another() -> None:
    raw, human, groups = drawn(np.random.default_rng(1), 100, 4)
    narrow, wide = (assess(raw, human, groups, level=level) for level in (0.5, 0.9))
    assert narrow.width < wide.width
    assert abs(narrow.coverage.estimate - 0.5) < 0.08
    assert abs(wide.coverage.estimate - 0.9) < 0.05
    assert wide.coverage.low < wide.coverage.estimate < wide.coverage.high


def test_intervals_are_longer_where_people_stray_more() -> None:
    rng = np.random.default_rng(2)
    raw = rng.uniform(0, 1, 1000)
    human = np.clip(3 + raw + rng.normal(0, 1, 1000) * np.where(raw > 0.5, 0.6, 0.1), 1, 5)
    low, high = Calibration.fit(raw, human).intervals(np.array([0.1, 0.9]))
    assert (high - low)[1] > 2 * (high - low)[0]


@pytest.mark.parametrize("relation", [1.0, 0.0, -1.0])
def test_ranks_are_kept_whatever_people_say(relation: float) -> None:
    rng = np.random.default_rng(3)
    raw = rng.normal(0, 1, 400)
    human = np.clip(3 + relation * raw + rng.normal(0, 0.5, 400), 1, 5)
    calibration = Calibration.fit(raw, human)
    asked = np.sort(np.concatenate([raw, np.linspace(-1000, 1000, 2001), [-1e9, 1e9]]))
    met = calibration.human(asked)
    assert (np.diff(met)[np.diff(asked) > 0] > 0).all()
    assert met.min() >= 1
    assert met.max() <= 5


def test_the_curve_meets_what_people_say() -> None:
    raw = np.linspace(-2, 2, 2000)
    human = 1 + 4 / (1 + np.exp(-2 * raw))
    assert np.abs(Calibration.fit(raw, human).human(raw) - human).max() < 0.12


@pytest.mark.parametrize("values", [[0.0, 1.0], [0.0, 0.5, 1.0]])
@pytest.mark.parametrize("rare", [0.02, 0.98])
def test_a_few_different_scores_are_enough(values: list[float], rare: float) -> None:
    rng = np.random.default_rng(4)
    share = np.full(len(values), rare / (len(values) - 1))
    share[0] = 1 - share[1:].sum()
    raw = rng.choice(values, 500, p=share)
    calibration = Calibration.fit(raw, np.clip(2 + 2 * raw + rng.normal(0, 0.2, 500), 1, 5))
    assert np.abs(calibration.human(np.array([0.0, 1.0])) - [2, 4]).max() < 0.5


def test_scales_are_brought_onto_one() -> None:
    np.testing.assert_allclose(on_our_scale([0, 1, 2], (0, 2)), [1, 3, 5])
    np.testing.assert_allclose(on_our_scale([0, 1], (0, 1)), [1, 5])
    np.testing.assert_allclose(on_our_scale([1, np.nan, 5], (1, 5)), [1, np.nan, 5])
    raw, human, groups = drawn(np.random.default_rng(5), 50, 2)
    other = Calibration.fit(raw, (human - 1) / 2, groups, scale=(0, 2))
    np.testing.assert_allclose(other.human(raw), Calibration.fit(raw, human, groups).human(raw))
    with pytest.raises(CallError, match="has the score 3: expected 0 to 2, the scale"):
        on_our_scale([1, 3], (0, 2))
    with pytest.raises(CallError, match="the scale must be"):
        on_our_scale([1], (2, 2))


def test_what_was_not_scored_or_judged_is_left_out() -> None:
    raw, human, groups = drawn(np.random.default_rng(6), 50, 2)
    holes = np.where(np.arange(100) % 10 == 0, np.nan, raw)
    known = ~np.isnan(holes)
    assert Calibration.fit(holes, human, groups) == Calibration.fit(raw[known], human[known], groups[known])
    assert np.isnan(assess(holes, human, groups).low).tolist() == (~known).tolist()


def test_too_little_is_refused() -> None:
    raw, human, groups = drawn(np.random.default_rng(7), 19, 20)
    with pytest.raises(CallError, match=r"19 contexts .* too few for 90% intervals: expected at least 20"):
        Calibration.fit(raw, human, groups)
    with pytest.raises(CallError, match="the same score"):
        Calibration.fit(np.ones(100), np.linspace(1, 5, 100))
    with pytest.raises(ValueError, match="one length"):
        Calibration.fit(np.ones(3), np.ones(2))


def test_plain_values_and_back() -> None:
    calibration = made()
    plain = json.loads(json.dumps(calibration.to_dict()))
    assert Calibration.from_dict(plain) == calibration
    assert len(json.dumps(plain)) < 2000
    with pytest.raises(DataError, match=r"field 'calibration\.reach': is missing"):
        Calibration.from_dict({"curve": plain["curve"]})
    plain["curve"]["human"].reverse()
    with pytest.raises(DataError, match="increases"):
        Calibration.from_dict(plain)


def calibrated() -> Lengthy:
    raw, human, groups = drawn(np.random.default_rng(8), 60, 4)
    evaluator = Lengthy().fit((), judged(), seed=3)
    return evaluator.with_calibration(Calibration.fit(3 + raw, human, groups))


def test_a_calibrated_evaluator_scores_on_the_human_scale() -> None:
    evaluator = calibrated()
    before, after = evaluator.with_calibration(None).score(EXAMPLES), evaluator.score(EXAMPLES)
    assert evaluator.range == (1.0, 5.0)
    assert not np.allclose(before, after)
    assert (np.argsort(before, kind="stable") == np.argsort(after, kind="stable")).all()
    low, high = evaluator.intervals(Batch(EXAMPLES))
    assert ((low < after) & (after < high)).all()
    assert evaluator.signature != evaluator.with_calibration(None).signature
    assert "|calibrated:" in evaluator.signature
    assert not evaluator.clone().gives_intervals


def test_replies_without_a_score_have_no_interval() -> None:
    batch = Batch([Example("1", ("hi",), " "), Example("2", (), "no context"), Example("3", ("hi",), "well then")])
    low, high = calibrated().intervals(batch)
    assert np.isnan(low).tolist() == np.isnan(high).tolist() == [True, True, False]
    with pytest.raises(CallError, match="it is not calibrated"):
        calibrated().with_calibration(None).intervals(batch)


def test_it_is_saved_and_loaded_and_forgotten_by_a_new_fit(tmp_path: Path) -> None:
    evaluator = calibrated()
    evaluator.save(tmp_path / "model")
    loaded = Lengthy.load(tmp_path / "model")
    assert loaded == evaluator
    assert loaded.signature == evaluator.signature
    np.testing.assert_array_equal(loaded.score(EXAMPLES), evaluator.score(EXAMPLES))
    for ours, theirs in zip(loaded.intervals(Batch(EXAMPLES)), evaluator.intervals(Batch(EXAMPLES)), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert not loaded.fit((), judged()).gives_intervals
    config = tmp_path / "model" / "config.json"
    config.write_text(config.read_text().replace('"reach"', '"rich"'))
    with pytest.raises(DataError, match=r"config\.json: field 'calibration\.reach': is missing"):
        Lengthy.load(tmp_path / "model")


def test_scores_and_intervals_predict_once(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluator, calls = calibrated(), list[int]()

    def counted(self: Lengthy, batch: Batch) -> Floats:
        calls.append(len(batch))
        return np.full(len(batch), 3.0)

    monkeypatch.setattr(Lengthy, "predict", counted)
    batch = Batch(EXAMPLES)
    evaluator.score_batch(batch)
    evaluator.intervals(batch)
    assert len(calls) == 1
    evaluator.with_calibration(None).score_batch(batch)
    assert len(calls) == 2, "another evaluator predicts for itself"

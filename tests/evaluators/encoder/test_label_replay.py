"""Replies that keep their scores while ratings are learned, and weights that go part of the way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rejoinder.errors import CallError
from rejoinder.evaluators.encoder.encoder import Encoder
from rejoinder.evaluators.encoder.networks import BranchEncoder
from rejoinder.evaluators.encoder.replay import lowered, replay_of
from rejoinder.evaluators.encoder.training import learned_model, regression_stage, standardise_features, start_model
from rejoinder.learning.checkpoints import plain_state
from rejoinder.learning.data import TrainingData
from tiny_encoder import dialogues, judged, write_encoder

LABELS = TrainingData(tuple(dialogues()), tuple(judged()))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("encoders") / "tiny")


def evaluator(tiny: Path, **parameters: Any) -> Encoder:
    limits = {"max_length": 48, "max_response": 16, "in_batch_steps": 0, "steps": 0, "label_steps": 3}
    return Encoder(encoder=str(tiny), **limits | parameters)


def test_scores_stay_and_garbled_replies_are_lower(tiny: Path) -> None:
    model = start_model(evaluator(tiny), 0)
    replay = replay_of(model, dialogues(), 10)
    scores = model.score(replay.pairs)
    kept = np.isclose(replay.wanted, scores)
    sound = sum(pair.response in {turn for each in dialogues() for turn in each.turns} for pair in replay.pairs)
    assert kept.sum() == sound
    assert kept[:sound].all()
    assert 0 < len(replay.pairs) - sound <= sound
    assert replay_of(model, dialogues(), 10).pairs == replay.pairs
    assert replay_of(model, dialogues(), 10, seed=1).pairs != replay.pairs


def test_scores_are_lowered_by_logits() -> None:
    assert lowered(np.array([3.0]), np.array([np.log(3)])) == pytest.approx([2.0])
    lowest = lowered(np.array([5.0, 3.0, 1.05]), np.array([0.0, 9.0, 2.0]))
    assert lowest[0] == pytest.approx(5, abs=1e-4)
    assert lowest[1] == pytest.approx(1 + 4 / (1 + np.exp(3)))
    assert lowest[2] == pytest.approx(1.05), "not lower than need be"


@pytest.mark.parametrize("towers", [False, True])
def test_replay_stands_among_the_labels(tiny: Path, towers: bool) -> None:
    chosen = evaluator(tiny, replay=5, towers=towers)
    model = start_model(chosen, 0)
    stage = regression_stage(model, chosen, LABELS)
    replay = replay_of(model, dialogues(), 5)
    learned = [number for numbers in stage.contexts for number in numbers]
    assert sorted(learned) == list(range(len(judged()) + len(replay.pairs)))
    assert [stage.pairs[number] for number in range(len(judged()), len(learned))] == replay.pairs
    assert np.isfinite(stage.loss(stage.network, range(len(stage)), 0).item())
    with pytest.raises(CallError, match="replay uses replies of dialogues"):
        regression_stage(model, chosen, replace(LABELS, dialogues=()))


def test_the_share_of_the_change_that_is_kept(tiny: Path) -> None:
    before = plain_state(start_model(evaluator(tiny), 0).network)
    whole, half, none = (
        plain_state(learned_model(evaluator(tiny, label_share=share), LABELS).network) for share in (None, 0.5, 0.0)
    )
    assert all(torch.equal(before[name], none[name]) for name in before)
    for name in before:
        torch.testing.assert_close(half[name], (before[name] + whole[name]) / 2)
    assert not all(torch.equal(before[name], whole[name]) for name in before)


def test_no_steps_leave_a_stage_out(tiny: Path) -> None:
    before = plain_state(start_model(evaluator(tiny), 0).network)
    after = plain_state(learned_model(evaluator(tiny), TrainingData(tuple(dialogues()))).network)
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_features_are_standardised(tiny: Path) -> None:
    model = start_model(evaluator(tiny, towers=True), 0)
    standardise_features(model, LABELS)
    network = model.network
    assert isinstance(network, BranchEncoder)
    pairs = replay_of(model, dialogues(), 40, seed=1).pairs
    with torch.inference_mode():
        standard = network.level(model.features(pairs))
    assert standard.mean(0).abs().max() < 1
    assert ((standard.std(0) > 0.3) & (standard.std(0) < 3)).all()
    other = start_model(evaluator(tiny), 0)
    standardise_features(other, LABELS)  # a cross-encoder has nothing to standardise
    with pytest.raises(ValueError, match="has no features"):
        other.features(pairs)

"""The losses of distillation, and a student with towers that learns with all of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from interruption import interrupted
from rejoinder.errors import CallError
from rejoinder.evaluators.encoder.encoder import Encoder
from rejoinder.evaluators.encoder.replay import WORSE, candidates_of
from rejoinder.evaluators.encoder.stages import (
    MOST_REPLIES,
    DistillStage,
    LossWeights,
    anchor_loss,
    ranking_loss,
    tower_in_batch_loss,
)
from rejoinder.evaluators.encoder.torch_model import TowerVectors
from rejoinder.evaluators.encoder.training import start_model
from rejoinder.learning.loop import run_stage
from rejoinder.learning.run import TrainingRun
from rejoinder.learning.schedules import Schedule
from rejoinder.registry import load
from rejoinder.training.distil import distill_encoder, distill_stage
from tiny_encoder import dialogues, write_encoder

SIZES = torch.tensor([2, 1])
TRUE = torch.tensor([True, False, True])
SHORT = Schedule(learning_rate=1e-3, batch=4, epochs=3, most_steps=4, validate_every=2)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("encoders") / "tiny")


def student(tiny: Path) -> Encoder:
    return Encoder(encoder=str(tiny), max_length=48, max_response=16, towers=True)


def unit(*rows: tuple[float, float]) -> torch.Tensor:
    return torch.nn.functional.normalize(torch.tensor(rows, dtype=torch.float32), dim=1)


def test_the_ranking_loss_by_hand() -> None:
    logits = np.array([1.0, 0.5, -2.0])
    scores = torch.tensor(1 + 4 / (1 + np.exp(-logits)))
    first = np.log(np.exp(1) + np.exp(0.5)) - 1  # the second context has one reply only: it costs nothing
    assert ranking_loss(scores, SIZES, TRUE).item() == pytest.approx(first / 2, rel=1e-4)


def test_the_in_batch_loss_by_hand() -> None:
    contexts, replies = unit((1, 0), (0, 1)), unit((1, 1), (1, 0), (0, 1))
    cosines = 20 * (contexts @ replies.T).numpy()
    # The first context does not meet its own second reply, which is not true.
    first = np.log(np.exp(cosines[0, [0, 2]]).sum()) - cosines[0, 0]
    second = np.log(np.exp(cosines[1]).sum()) - cosines[1, 2]
    found = tower_in_batch_loss(TowerVectors(contexts, contexts, replies), SIZES, TRUE)
    assert found.item() == pytest.approx(first + second, rel=1e-3)


def test_the_anchor_loss_by_hand() -> None:
    now = TowerVectors(unit((1, 0)), unit((0, 1)), unit((1, 0), (0, 1)))
    then = TowerVectors(unit((0, 1)), unit((0, 1)), unit((1, 0), (0, 1)))
    assert anchor_loss(now, now).item() == 0
    assert anchor_loss(now, then).item() == pytest.approx(1.0)


def test_replies_in_one_row_score_as_they_do_alone(tiny: Path) -> None:
    model = start_model(student(tiny), 1)
    examples = candidates_of(dialogues(), 12)
    stage = distill_stage(model, examples, np.zeros(len(examples)), 0)
    with torch.inference_mode():
        read = stage.read(stage.network, range(len(stage)))
    pairs = [stage.pairs[number] for number in read.numbers]
    assert read.scores.numpy() == pytest.approx(model.score(pairs), abs=1e-5)
    assert read.scores.numpy() == pytest.approx(model.score_encoded(model.tokeniser.encode(pairs)), abs=1e-5)
    assert read.vectors is not None
    assert [len(vectors) for vectors in read.vectors] == [len(stage), len(stage), len(pairs)]


def test_a_row_holds_one_context_and_few_replies(tiny: Path) -> None:
    [first, *_] = candidates_of(dialogues(), 1)
    same = [replace(first, id=str(number), response=f"reply {number}") for number in range(25)]
    spelt = [replace(each, context=tuple(turn.upper() for turn in each.context)) for each in same[:2]]
    stage = distill_stage(start_model(student(tiny), 0), [*same, *spelt], np.zeros(27), 0)
    assert sorted(map(len, stage.contexts)) == [2, 5, MOST_REPLIES, MOST_REPLIES]
    assert all(len({stage.pairs[number].context for number in numbers}) == 1 for numbers in stage.contexts)


def test_contexts_that_the_teacher_did_not_score_are_ranked(tiny: Path) -> None:
    model = start_model(student(tiny), 0)
    examples = candidates_of(dialogues(), 8, kinds=WORSE)
    stage = distill_stage(model, examples, np.full(len(examples), np.nan), 0)
    losses = [replace(stage, losses=LossWeights(ranking=weight)).loss(stage.network, [0, 1], 0) for weight in (0, 1, 2)]
    assert losses[0].item() == 0
    assert losses[2].item() == pytest.approx(2 * losses[1].item())
    assert losses[1].item() > 0
    assert stage.validate() is None, "without scores there is nothing to validate on"


def test_a_student_with_towers_learns_with_all_losses(tiny: Path, tmp_path: Path) -> None:
    settings = {
        "contexts": 20,
        "ranked": 10,
        "losses": LossWeights(ranking=0.5, in_batch=0.1, anchor=10.0),
        "anchors": [str(tiny)],
        "head_rate": 5.0,
        "schedule": SHORT,
    }
    teacher = load("default-fast")
    whole = distill_encoder(student(tiny), teacher, dialogues(), **settings)  # type: ignore[arg-type]
    scores = whole.score(candidates_of(dialogues(), 5))
    assert np.ptp(scores) > 0
    run = TrainingRun(checkpoints=tmp_path / "kept", save_every=1)
    with interrupted(DistillStage, 2):
        distill_encoder(student(tiny), teacher, dialogues(), **settings, run=run)  # type: ignore[arg-type]
    resumed = distill_encoder(student(tiny), teacher, dialogues(), **settings, run=replace(run, resume=True))  # type: ignore[arg-type]
    np.testing.assert_array_equal(resumed.score(candidates_of(dialogues(), 5)), scores)
    settings["head_rate"] = 1.0
    with pytest.raises(CallError, match="another run"):
        distill_encoder(student(tiny), teacher, dialogues(), **settings, run=replace(run, resume=True))  # type: ignore[arg-type]


def test_an_anchor_keeps_cosines(tiny: Path) -> None:
    examples = candidates_of(dialogues(), 20)
    teacher = load("default-fast").score(examples)
    moved = {}
    for weight in (0.0, 1000.0):
        model, start = start_model(student(tiny), 0), start_model(student(tiny), 0)
        stage = distill_stage(model, examples, teacher, 0, LossWeights(anchor=weight), [start])
        run_stage(model, stage, replace(SHORT, most_steps=10), 0, TrainingRun(), None)
        with torch.inference_mode():
            read = stage.read(stage.network, range(len(stage)))
        assert read.vectors is not None
        assert stage.anchor is not None
        after = TowerVectors(stage.anchor.contexts, stage.anchor.last_turns, stage.anchor.replies[read.numbers])
        moved[weight] = anchor_loss(read.vectors, after).item()
    assert moved[1000.0] < moved[0.0]

"""Distillation: a tiny student learns its teacher's scores, and an interrupted run is resumed."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import torch

from interruption import interrupted
from rejoinder.errors import CallError
from rejoinder.evaluators.encoder.encoder import Encoder
from rejoinder.evaluators.encoder.replay import candidates_of
from rejoinder.evaluators.encoder.stages import DistillStage
from rejoinder.evaluators.encoder.training import start_model
from rejoinder.evaluators.ensemble import Ensemble
from rejoinder.evaluators.static.static import Static
from rejoinder.evaluators.static.training import ScoreStage
from rejoinder.learning.run import TrainingRun
from rejoinder.learning.torch_parts import centred
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import Batch
from rejoinder.training import distil
from rejoinder.training.distil import distill_encoder, distill_stage, distill_static, teacher_of, teacher_scores
from rejoinder.types import Example, Scores
from tiny_encoder import TOPICS, dialogues, write_encoder


@dataclass(frozen=True, kw_only=True)
class Wordy(Metric):
    """A teacher: 5 for a reply of five words that name a thing, less for others."""

    name: ClassVar[str] = "wordy"
    measures: ClassVar[str] = "words"
    citation: ClassVar[str] = "these tests"
    range: ClassVar[tuple[float, float]] = (1.0, 5.0)

    def score_batch(self, batch: Batch) -> Scores:
        words = [set(example.response.split()) for example in batch.examples]
        return np.array([1 + min(2, len(each) / 3) + 2 * bool(each & set(TOPICS)) for each in words])


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("encoders") / "tiny")


def student(tiny: Path, steps: int = 3) -> Encoder:
    return Encoder(encoder=str(tiny), max_length=48, max_response=16, steps=steps)


@pytest.mark.slow
def test_the_student_learns_what_the_teacher_says(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rejoinder.evaluators.encoder import model as presets

    monkeypatch.setattr(presets, "DISTILLATION", replace(presets.DISTILLATION, learning_rate=3e-3, epochs=100))
    learned = distill_encoder(student(tiny, steps=100), Wordy(), dialogues(), contexts=30)
    examples = candidates_of(dialogues(), 30)
    ours, theirs = learned.score(examples), Wordy().score(examples)
    assert np.corrcoef(ours, theirs)[0, 1] > 0.6
    assert np.mean((ours - theirs) ** 2) < np.var(theirs)
    assert learned.trained_contexts.holds(examples).any()
    assert learned.fitted.dialogues == 20


def test_the_loss_by_hand(tiny: Path) -> None:
    off = torch.tensor([1.0, 3.0, 5.0, -1.0])
    np.testing.assert_allclose(centred(off, torch.tensor([3, 1])), [-2, 0, 2, 0])
    model = distill_encoder(student(tiny), Wordy(), dialogues(), contexts=5).model_
    pairs = [(example.context, (), example.response) for example in candidates_of(dialogues(), 2)][:4]
    from rejoinder.data.dialogues import ReplyInContext

    stage = DistillStage(model, [ReplyInContext(*pair) for pair in pairs], np.zeros(4), [[0, 1, 2], [3]], [], 0)  # type: ignore[arg-type]
    # The teacher says 0 of all, so the scores are what they are off: 9 + 25 + 49 + 9 of 4, and -2, 0, 2, 0 centred.
    loss = stage.loss(lambda **_: torch.tensor([3.0, 5.0, 7.0, 3.0]), [0, 1], 0)
    assert loss.item() == pytest.approx(92 / 4 + 8 / 4)
    assert stage.validate() is None


def test_own_candidates_take_the_place_of_made_ones(tiny: Path) -> None:
    own = [Example(str(n), (f"tell me about {topic}",), f"i like {topic}") for n, topic in enumerate(TOPICS)]
    odd = [Example("none", (), "no context"), Example("empty", ("hello",), " ")]
    learned = distill_encoder(student(tiny), Wordy(), candidates=[*own, *odd])
    assert learned.trained_contexts.holds(own).all()
    with pytest.raises(CallError, match="expected at least two replies in them"):
        distill_encoder(student(tiny), Wordy())
    with pytest.raises(CallError, match="can score none of the replies"):
        distill_encoder(student(tiny), Wordy(), candidates=odd)


def test_contexts_with_the_same_end_are_held_out_together(tiny: Path) -> None:
    contexts = [(f"tell me about number {n}", "with all that can be said of it") for n in range(20)]
    examples = [
        Example("", (*before, *context), reply) for before in ((), ("hm",)) for context in contexts for reply in "ab"
    ]
    stage = distill_stage(start_model(student(tiny), 0), examples, np.zeros(80), 0)
    assert [len(numbers) for numbers in stage.contexts] == [2] * 36, "replies are compared within one context"
    assert len(stage.held_out) == 8
    learn = {examples[number].context[-2:] for numbers in stage.contexts for number in numbers}
    assert not learn & {examples[number].context[-2:] for number in stage.held_out}


def test_teachers() -> None:
    several = teacher_of(["length", "repetition"], dialogues())
    assert isinstance(several, Ensemble)
    assert isinstance(teacher_of(["length"], dialogues()), Ensemble), "it does not score from 1 to 5"
    with pytest.raises(CallError, match="need dialogues to be put on one scale"):
        teacher_of(["length"], [])


def test_scores_are_kept_and_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distil, "AT_ONCE", 10)
    examples, file = candidates_of(dialogues(), 8), tmp_path / "scores.jsonl"
    whole = teacher_scores(Wordy(), examples, None)
    np.testing.assert_array_equal(teacher_scores(Wordy(), examples, file), whole)
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:3]) + lines[3][:7])  # cut off in the middle of the third batch
    asked: list[int] = []

    @dataclass(frozen=True, kw_only=True)
    class Counting(Wordy):
        def score_batch(self, batch: Batch) -> Scores:
            asked.append(len(batch))
            return super().score_batch(batch)

    np.testing.assert_array_equal(teacher_scores(Counting(), examples, file), whole)
    assert sum(asked) == len(examples) - 20
    np.testing.assert_array_equal(teacher_scores(Counting(), examples[:-1], file), whole[:-1])
    assert sum(asked) == 2 * len(examples) - 21, "other replies, so all are scored"
    assert json.loads(file.read_text().splitlines()[0]).keys() == {"key"}


def test_an_interrupted_distillation_is_resumed(tiny: Path, tmp_path: Path) -> None:
    examples = candidates_of(dialogues(), 10)
    whole = distill_encoder(student(tiny), Wordy(), dialogues(), contexts=10).score(examples)
    run = TrainingRun(checkpoints=tmp_path / "kept", save_every=1)
    with interrupted(DistillStage, 2):
        distill_encoder(student(tiny), Wordy(), dialogues(), contexts=10, run=run)
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["distillation-00000002"]
    again = distill_encoder(student(tiny), Wordy(), dialogues(), contexts=10, run=replace(run, resume=True))
    np.testing.assert_array_equal(again.score(examples), whole)


def test_an_interrupted_static_student_is_resumed(tmp_path: Path) -> None:
    examples, fast = candidates_of(dialogues(), 10), Static(epochs=3, passes=1)
    whole = distill_static(fast, Wordy(), dialogues(), contexts=10).score(examples)
    run = TrainingRun(checkpoints=tmp_path / "kept", save_every=1)
    with interrupted(ScoreStage, 1):
        distill_static(fast, Wordy(), dialogues(), contexts=10, run=run)
    assert list((tmp_path / "kept").iterdir())
    again = distill_static(fast, Wordy(), dialogues(), contexts=10, run=replace(run, resume=True))
    np.testing.assert_array_equal(again.score(examples), whole)

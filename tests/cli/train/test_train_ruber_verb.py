"""`rejoinder train ruber`, from dialogues to a folder that `rejoinder score` takes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from rejoinder.evaluators.ruber.ruber import Ruber
from rejoinder.evaluators.ruber.training import RuberRankingStage
from rejoinder.learning.checkpoints import Checkpoints
from rejoinder.learning.schedules import Schedule
from topic_replies import labelled, questions, topics_in_order

if TYPE_CHECKING:
    from running import Run, WriteLines


@pytest.fixture
def talk(write_lines: WriteLines) -> Path:
    return write_lines([{"turns": dialogue.turns} for dialogue in questions()], "dialogues.jsonl")


SMALL = ("--hidden", "8", "--epochs", "2", "--label-epochs", "2")


def test_train_and_score(run: Run, write_lines: WriteLines, talk: Path, tmp_path: Path) -> None:
    ran = run("train", "ruber", "--dialogues", talk, *SMALL, "--blend", "min", "-o", "model")
    assert ran.code == 0, ran.err
    count, *_, ends, told = ran.err.splitlines()
    assert count == "20 dialogues"
    assert ends.startswith("range of scores: s_R from ")
    assert told == "model: model (rejoinder score REPLIES -m model)"
    replies = write_lines(map(asdict, topics_in_order(3)))
    scored = run("score", replies, "-m", "model", "-m", "model(part=ref)", "-m", "ruber-pool", "--json", "--quiet")
    assert scored.code == 0, scored.err
    same = Ruber(hidden=8, epochs=2, label_epochs=2, blend="min").fit(questions())
    assert scored.json["summary"]["model"][""]["mean"] == pytest.approx(float(same.score(topics_in_order(3)).mean()))
    np.testing.assert_array_equal(
        Ruber.load(tmp_path / "model").score(topics_in_order(3)), same.score(topics_in_order(3))
    )


def test_human_scores(run: Run, write_lines: WriteLines, talk: Path, tmp_path: Path) -> None:
    judged = write_lines([{**asdict(item.example), "scores": item.scores} for item in labelled()], "judged.jsonl")
    call = ("train", "ruber", "--dialogues", talk, *SMALL, "--judged", judged, "--scale", "1", "5", "-o", "model")
    ran = run(*call, "--encoder", "hierarchical", "--turns", "2")
    assert ran.code == 0, ran.err
    assert ran.err.startswith("20 dialogues, 40 judged replies\n")
    model = Ruber.load(tmp_path / "model")
    assert (model.fitted.judged, model.scale, model.turns_read) == (40, (1.0, 5.0), 2)
    outside = run(*call[:-4], "2", "5", "-o", "other")
    assert outside.code == 2
    assert "has the score 1: expected 2 to 5" in outside.err


def test_options_reach_the_training(run: Run, talk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[RuberRankingStage, Schedule]] = []

    def no_training(_: object, stage: RuberRankingStage, schedule: Schedule, *__: object) -> None:
        started.append((stage, schedule))

    monkeypatch.setattr("rejoinder.evaluators.ruber.training.run_stage", no_training)
    options = ("--margin", ".9", "--batch", "4", "--learning-rate", ".01", "--negatives", "2")
    ran = run("train", "ruber", "--dialogues", talk, *SMALL, *options, "-o", "model")
    assert ran.code == 0, ran.err
    ((stage, schedule),) = started
    assert (stage.margin, stage.negatives) == (0.9, 2)
    assert (schedule.batch, schedule.learning_rate, schedule.epochs) == (4, 0.01, 2)


def test_an_interrupted_run_is_resumed(run: Run, talk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call = ("train", "ruber", "--dialogues", talk, *SMALL, "-o")
    assert run(*call, "whole").code == 0
    write = Checkpoints.write

    def write_and_stop(*given: Any) -> None:
        write(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoints, "write", write_and_stop)
        stopped = run(*call, "model")
    assert stopped.code == 130
    assert "checkpoints are in model.checkpoints: run the same command with --resume to continue" in stopped.err
    assert run(*call, "model", "--resume").code == 0
    assert not (tmp_path / "model.checkpoints").exists()
    whole, resumed = (Ruber.load(tmp_path / name).score(topics_in_order(3)) for name in ("whole", "model"))
    np.testing.assert_array_equal(resumed, whole)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--tokenise", "wrods"), "tokenise must be one of words"),
        (("--vectors", "nowhere.vec"), "no word vectors at 'nowhere.vec'"),
        (("--encoder", "/nowhere/encoder"), "no encoder '/nowhere/encoder': there is no such file or folder"),
        (("--min-count", "999"), "no word of the dialogues occurs 999 times"),
        (("--start", "nowhere"), "nowhere"),
        (("--blend", "harmonic"), "blend must be one of "),
        (("--dialogues", "nowhere.jsonl"), "nowhere.jsonl: no such file"),
    ],
)
def test_wrong_calls(run: Run, talk: Path, tmp_path: Path, options: tuple[str, ...], problem: str) -> None:
    ran = run("train", "ruber", "--dialogues", talk, *SMALL, "-o", "model", *options)
    assert ran.code == 2
    assert problem in ran.err
    assert not (tmp_path / "model").exists()

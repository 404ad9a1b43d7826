"""`rejoinder distil`, from dialogues and teachers to a student that `rejoinder score` takes."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rejoinder.evaluators.encoder.replay import candidates_of
from tiny_encoder import dialogues, write_encoder

if TYPE_CHECKING:
    from running import Run, WriteLines


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("encoders") / "tiny")


@pytest.mark.slow
def test_the_verb(run: Run, write_lines: WriteLines, tmp_path: Path, tiny: Path) -> None:
    turns = write_lines(map(asdict, dialogues()), "dialogues.jsonl")
    own = write_lines([asdict(example) for example in candidates_of(dialogues(), 5)], "own.jsonl")
    call = ["distil", "length", "repetition", "--encoder", tiny, "--dialogues", turns, "--candidates", own]
    ran = run(*call, "--steps", "2", "--max-length", "48", "-o", "student")
    assert ran.code == 0, ran.err
    assert ran.err.splitlines()[-1] == "model: student (rejoinder score REPLIES -m student)"
    assert {"model.onnx", "model.int8.onnx", "model.safetensors"} <= set(os.listdir(tmp_path / "student"))
    assert not (tmp_path / "student.teacher.jsonl").exists()
    assert not (tmp_path / "student.checkpoints").exists()
    told = run("score", own, "-m", "student", "--json")
    assert told.code == 0, told.err
    wrong = run("distil", "length", "--encoder", tiny, "-o", "student")
    assert wrong.code == 2
    assert "expected dialogues, candidates or both" in wrong.err


def test_the_verb_makes_a_static_student(run: Run, write_lines: WriteLines, tmp_path: Path) -> None:
    turns = write_lines(map(asdict, dialogues()), "dialogues.jsonl")
    call = ["distil", "length", "repetition", "--static", "--dialogues", turns, "--contexts", "5", "-o", "student"]
    ran = run(*call)
    assert ran.code == 0, ran.err
    assert ran.err.splitlines()[-1] == "model: student (rejoinder score REPLIES -m student)"
    assert not (tmp_path / "student.teacher.jsonl").exists()
    own = write_lines([asdict(example) for example in candidates_of(dialogues(), 5)], "own.jsonl")
    told = run("score", own, "-m", "student", "--json")
    assert told.code == 0, told.err
    quiet = run(*call, "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")
    wrong = run(*call, "--steps", "3")
    assert wrong.code == 2
    assert "unknown parameter of static: 'steps'" in wrong.err


def test_the_verb_tells_of_empty_candidates(run: Run, write_lines: WriteLines, tiny: Path) -> None:
    turns, none = write_lines(map(asdict, dialogues()), "dialogues.jsonl"), write_lines([], "none.jsonl")
    ran = run("distil", "length", "--encoder", tiny, "--dialogues", turns, "--candidates", none, "-o", "student")
    assert ran.code == 2
    assert "none.jsonl: expected at least one reply, found none" in ran.err


def test_a_static_student_is_resumed_and_quiet(
    run: Run, write_lines: WriteLines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rejoinder.evaluators.static.static import Static
    from rejoinder.evaluators.static.training import ScoreStage

    turns = write_lines(map(asdict, dialogues()), "dialogues.jsonl")
    call = ["distil", "length", "repetition", "--static", "--dialogues", turns, "--contexts", "5", "-o", "student"]
    assert run(*call, "--quiet").err == ""
    whole = Static.load(tmp_path / "student")
    with monkeypatch.context() as patch:
        patch.setattr(ScoreStage, "loss", _interrupt)
        stopped = run(*call)
    assert stopped.code == 130
    assert "run the same command with --resume to continue" in stopped.err
    assert run(*call, "--resume").code == 0
    examples = candidates_of(dialogues(), 5)
    assert Static.load(tmp_path / "student").score(examples).tolist() == whole.score(examples).tolist()


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt

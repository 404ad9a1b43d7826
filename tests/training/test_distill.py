"""Distillation by name, from files or memory to a saved student."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rejoinder
from rejoinder.errors import CallError, UnknownNameError
from rejoinder.evaluators.static.static import Static
from rejoinder.training.distil import distil
from tiny_encoder import dialogues, write_encoder

if TYPE_CHECKING:
    from running import WriteLines


def test_a_static_student_from_memory_is_the_one_from_files(write_lines: WriteLines, tmp_path: Path) -> None:
    talk = write_lines(map(asdict, dialogues()), "dialogues.jsonl")
    student = distil(["length", "repetition"], dialogues(), contexts=5, epochs=1, passes=1)
    saved = distil(["length", "repetition"], talk, contexts=5, epochs=1, passes=1, output=tmp_path / "student")
    examples = [rejoinder.Example("1", ("hello there",), "i like it"), rejoinder.Example("2", ("how so",), "no")]
    assert student.score(examples).tolist() == saved.score(examples).tolist()
    assert rejoinder.load(tmp_path / "student").score(examples).tolist() == saved.score(examples).tolist()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dialogues.jsonl", "student"]


@pytest.mark.slow
def test_an_encoder_student_is_exported(tmp_path: Path) -> None:
    tiny = write_encoder(tmp_path / "tiny")
    student = distil(
        "default",
        dialogues(),
        contexts=4,
        student="encoder",
        encoder=str(tiny),
        max_length=48,
        steps=1,
        output=tmp_path / "student",
    )
    assert student.max_response == 24
    assert (tmp_path / "student" / "model.int8.onnx").is_file()


def test_scores_are_kept_where_training_breaks_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Static, "fit", broken)
    with pytest.raises(KeyboardInterrupt):
        distil(["length", "repetition"], dialogues(), contexts=5, output=tmp_path / "student")
    assert [path.name for path in tmp_path.iterdir()] == ["student.teacher.jsonl"]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ({"student": "adem"}, UnknownNameError, "unknown student 'adem'"),
        ({"student": "encoder"}, CallError, "encoder needs a value for encoder"),
        ({"hiden": 3}, UnknownNameError, "unknown parameter of static: 'hiden'; did you mean hidden"),
        ({"dialogues": ()}, CallError, "nothing to learn from: expected dialogues, candidates or both"),
        ({"teachers": rejoinder.load("length")}, CallError, "length does not score from 1 to 5"),
    ],
)
def test_wrong_calls(call: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        distil(**{"teachers": "default", "dialogues": dialogues(), **call})

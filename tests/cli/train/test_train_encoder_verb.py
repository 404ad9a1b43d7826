"""`rejoinder train encoder`, from dialogues to a folder that `rejoinder score` takes."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tiny_encoder import dialogues, judged, write_encoder

if TYPE_CHECKING:
    from running import Run, WriteLines


@pytest.mark.slow
def test_train_resume_and_score(
    run: Run, write_lines: WriteLines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = write_encoder(tmp_path / "tiny")
    turns = write_lines(map(asdict, dialogues()), "dialogues.jsonl")
    labelled = write_lines([{**asdict(item.example), "scores": item.scores} for item in judged()], "judged.jsonl")
    call = ["train", "encoder", "--encoder", encoder, "--dialogues", turns, "--judged", labelled, "--scale", "1", "5"]
    call += ["--steps", "3", "--label-steps", "2", "--max-length", "48", "-o", "model"]

    from rejoinder.evaluators.encoder.stages import EncoderRegressionStage

    with monkeypatch.context() as patch:
        patch.setattr(EncoderRegressionStage, "loss", _interrupt)
        stopped = run(*call)
    assert stopped.code == 130
    assert "checkpoints are in model.checkpoints: run the same command with --resume to continue" in stopped.err
    assert not (tmp_path / "model").exists()

    ran = run(*call, "--resume")
    assert ran.code == 0, ran.err
    lines = ran.err.splitlines()
    assert lines[0] == "20 dialogues, 20 judged replies"
    assert lines[1].startswith("regression: step 2 of 2, loss "), "the first stage is not run again"
    assert lines[-1] == "model: model (rejoinder score REPLIES -m model)"
    assert not (tmp_path / "model.checkpoints").exists()
    written = {"model.safetensors", "model.onnx", "model.int8.onnx", "tokenizer.json", "encoder.json", "config.json"}
    assert written <= set(os.listdir(tmp_path / "model"))

    told = run("score", labelled, "-m", "model", "-m", "length", "--json")
    assert told.code == 0, told.err
    assert list(told.json["summary"]) == ["model", "length"]
    assert told.json["signatures"]["model"].startswith("encoder|")


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt

"""Training by name: the same as the class's own `fit`, whatever the data come as."""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rejoinder
from rejoinder.errors import CallError, DataError, NeedsError, UnknownNameError
from rejoinder.learning.run import TrainingRun
from rejoinder.training.train import TrainingInput, train
from small_dialogues import CONTEXTS, DIALOGUES, small_parameters
from small_evaluators import judged
from tiny_vectors import tiny_characters

if TYPE_CHECKING:
    from running import WriteLines

FIXED: dict[str, Any] = {"components": 3, "gamma": 0.02, "towards": "zero"}


@pytest.fixture
def talk(write_lines: WriteLines) -> Path:
    return write_lines([{"turns": dialogue.turns} for dialogue in DIALOGUES], "dialogues.jsonl")


def test_dialogues_from_files_and_from_memory(talk: Path, write_lines: WriteLines) -> None:
    halves = [write_lines(map(asdict, part), f"{n}.jsonl") for n, part in enumerate((DIALOGUES[:2], DIALOGUES[2:]))]
    expected = rejoinder.train("bm25", DIALOGUES).reply(CONTEXTS)
    for origin in (
        talk,
        str(talk),
        halves,
        iter(DIALOGUES),
        [{"turns": list(one.turns)} for one in DIALOGUES],
        [one.turns for one in DIALOGUES],
    ):
        assert train("bm25", origin).reply(CONTEXTS) == expected


def test_judged_examples_from_a_file_and_from_memory(write_lines: WriteLines) -> None:
    path = write_lines([{**asdict(item.example), "scores": item.scores} for item in judged()], "judged.jsonl")
    examples = [item.example for item in judged()]
    ours, theirs = (train("adem", judged=origin, encoder=tiny_characters(), **FIXED) for origin in (path, judged()))
    np.testing.assert_array_equal(ours.score(examples), theirs.score(examples))


def test_a_pool_needs_no_scores(write_lines: WriteLines) -> None:
    path = write_lines([asdict(item.example) for item in judged()], "pool.jsonl")
    likeness = train("human-likeness", judged=path, encoder=tiny_characters(), human=("s0",))
    assert likeness.fitted.judged == 40


def test_sentences_for_methods_that_learn_from_them(tmp_path: Path) -> None:
    path = tmp_path / "sentences.txt.gz"
    path.write_bytes(gzip.compress(b"the tea is hot\nthe rain is cold\n\nthe bread is hot\n"))
    assert train("fm", path).fitted.dialogues == 3
    with pytest.raises(DataError, match="is not valid JSON"):
        train("bm25", path)


def test_the_model_is_saved_and_checkpoints_are_removed(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs what training needs")
    output = tmp_path / "hred"
    model = train("hred", DIALOGUES, valid=DIALOGUES[:1], output=output, **small_parameters("hred"))
    assert [path.name for path in tmp_path.iterdir()] == ["hred"]
    assert rejoinder.load(output).reply(CONTEXTS) == model.reply(CONTEXTS)


def test_an_interrupted_training_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="needs what training needs")
    from rejoinder.replies.neural_training import ReplyStage

    parameters = {**small_parameters("hred"), "epochs": 4, "batch": 2}
    whole = train("hred", DIALOGUES, **parameters)
    true_loss, calls = ReplyStage.loss, iter(range(100))

    def broken(*arguments: Any) -> Any:
        if next(calls) == 5:
            raise KeyboardInterrupt
        return true_loss(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(ReplyStage, "loss", broken)
        with pytest.raises(KeyboardInterrupt):
            train("hred", DIALOGUES, output=tmp_path / "hred", run=TrainingRun(save_every=1), **parameters)
    assert (tmp_path / "hred.checkpoints").is_dir()
    again = train("hred", DIALOGUES, output=tmp_path / "hred", run=TrainingRun(resume=True), **parameters)
    assert again.reply(CONTEXTS) == whole.reply(CONTEXTS)
    assert not (tmp_path / "hred.checkpoints").exists()


def test_a_shorter_input_leaves_less_room_for_the_reply() -> None:
    from rejoinder.training.train import build_model

    assert build_model("encoder", {"encoder": "any", "max_length": 48}).max_response == 24
    assert build_model("encoder", {"encoder": "any", "max_length": 512}).max_response == 64
    assert build_model("encoder", {"encoder": "any", "max_length": 48, "max_response": 9}).max_response == 9


def test_what_is_read_is_told_before_training(talk: Path) -> None:
    told: list[TrainingInput] = []
    train("bm25", talk, on_read=told.append)
    assert [(len(given.dialogues), given.judged, given.valid) for given in told] == [(4, None, [])]


def test_records_that_cannot_be_read(write_lines: WriteLines) -> None:
    bad = write_lines([{"turns": ["a", "b", "c"]}, {"turns": ["alone"]}], "bad.jsonl")
    with pytest.raises(DataError, match="expected at least two utterances"):
        train("bm25", bad)
    with pytest.warns(UserWarning, match=r"left out 1 unreadable records; the first: .*bad.jsonl:2: field 'turns'"):
        assert train("bm25", bad, on_error="skip").fitted.dialogues == 1
    with pytest.raises(DataError, match="dialogues:1: field 'turns': expected at least two utterances"):
        train("bm25", [["alone"]])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ({"name": "bm26"}, UnknownNameError, "unknown evaluator, encoder or reply model 'bm26'; did you mean bm25"),
        ({"name": "bm25", "k2": 1.0}, UnknownNameError, "unknown parameter of bm25: 'k2'; did you mean k1"),
        ({"name": "bm25", "k1": "x"}, CallError, "bm25: k1 must be a number, not 'x'"),
        ({"name": "dual-encoder"}, CallError, "dual-encoder needs a value for encoder"),
        ({"name": "bm25", "dialogues": []}, NeedsError, "bm25 learns from dialogues: expected at least one"),
        ({"name": "bm25", "judged": judged()}, CallError, "bm25 learns from dialogues: it takes no judged examples"),
        ({"name": "tweet2vec", "judged": judged()}, CallError, "tweet2vec learns from dialogues: it takes no"),
        ({"name": "ruber", "judged": []}, NeedsError, "ruber learns from judged examples: expected at least one"),
    ],
)
def test_wrong_calls(call: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        train(**{"dialogues": DIALOGUES, **call})


def test_an_output_that_cannot_be_written_is_refused_before_reading(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("mine")
    for output, message in (
        (tmp_path / "no" / "where", "does not exist"),
        (tmp_path / "notes", "holds no reply model"),
    ):
        with pytest.raises(CallError, match=message):
            train("bm25", tmp_path / "absent.jsonl", output=output)
    (tmp_path / "model").mkdir()
    train("bm25", DIALOGUES, output=tmp_path / "model")
    assert json.loads((tmp_path / "model" / "config.json").read_text())["name"] == "bm25"


def test_one_of_several_processes_saves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    train("bm25", DIALOGUES, output=tmp_path / "model")
    assert not (tmp_path / "model").exists()
    monkeypatch.setenv("RANK", "0")
    train("bm25", DIALOGUES, output=tmp_path / "model")
    assert (tmp_path / "model").is_dir()

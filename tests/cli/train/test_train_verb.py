"""`rejoinder train`: what is refused, before any training."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from running import Run, WriteLines

TURNS = [{"turns": ["hello there", "hi you"]}, {"turns": ["where is it", "over there"]}]


@pytest.fixture
def dialogues(write_lines: WriteLines) -> Path:
    return write_lines(TURNS, "dialogues.jsonl")


def test_nothing_to_learn_from(run: Run) -> None:
    ran = run("train", "encoder", "--encoder", ".", "-o", "model")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "rejoinder: encoder learns from dialogues, judged examples or both: expected at least one\n"


def test_a_target_that_holds_something_else(run: Run, dialogues: Path, tmp_path: Path) -> None:
    call = ("train", "encoder", "--encoder", ".", "--dialogues", dialogues, "-o")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("mine")
    assert "notes holds no evaluator" in run(*call, "notes").err
    assert "is a file: expected a folder" in run(*call, dialogues).err
    assert "does not exist: expected a folder to make model in" in run(*call, "no/where/model").err
    assert (tmp_path / "notes" / "a.txt").read_text() == "mine"


def test_input_that_cannot_be_read(run: Run, dialogues: Path, write_lines: WriteLines) -> None:
    bad = write_lines([{"turns": ["alone"]}], "bad.jsonl")
    ran = run("train", "encoder", "--encoder", ".", "--dialogues", dialogues, "--dialogues", bad, "-o", "model")
    assert ran.code == 2
    assert ran.err == f"rejoinder: {bad}:1: field 'turns': expected at least two utterances, found 1\n"


JUDGED_TEST = {"context": ["where is it"], "response": "over there", "scores": 3, "split": "test"}


@pytest.mark.parametrize("records", [[], [JUDGED_TEST]], ids=["empty", "test alone"])
@pytest.mark.parametrize("name", ["ruber", "encoder"])
def test_judged_replies_of_which_none_is_learned(
    run: Run, dialogues: Path, write_lines: WriteLines, tmp_path: Path, name: str, records: list[dict[str, Any]]
) -> None:
    judged = write_lines(records, "judged.jsonl")
    encoder = ("--encoder", ".") if name == "encoder" else ()
    ran = run("train", name, *encoder, "--dialogues", dialogues, "--judged", judged, "-o", "model")
    expected = "learns from judged examples: expected at least one to fit it on"
    split = "(those of the splits valid and test do not count)"
    assert (ran.code, ran.err) == (2, f"rejoinder: {name} {expected} {split}\n")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("name", ["bm25", "hred", "dual-encoder-rnn"])
def test_validation_dialogues_without_a_reply(
    run: Run, dialogues: Path, write_lines: WriteLines, tmp_path: Path, name: str
) -> None:
    call = ("train", name, "--dialogues", dialogues, "-o", "model", "--quiet", "--valid")
    empty = write_lines([], "empty.jsonl")
    ran = run(*call, empty)
    assert (ran.code, ran.err) == (2, f"rejoinder: {empty}: expected at least one dialogue, found none\n")
    ran = run(*call, write_lines([{"turns": ["hello", " ", ""]}], "blank.jsonl"))
    message = f"{name}: the validation dialogues contain no reply: expected at least one"
    assert (ran.code, ran.err) == (2, f"rejoinder: {message}\n")
    assert not (tmp_path / "model").exists()


def test_dialogues_of_which_there_are_none(run: Run, write_lines: WriteLines, tmp_path: Path) -> None:
    empty, judged = write_lines([], "empty.jsonl"), write_lines([{**JUDGED_TEST, "split": "train"}], "judged.jsonl")
    ran = run("train", "encoder", "--encoder", ".", "--dialogues", empty, "--judged", judged, "-o", "model")
    assert (ran.code, ran.err) == (2, f"rejoinder: {empty}: expected at least one dialogue, found none\n")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("name", ["hred", "skip-thought"])
@pytest.mark.parametrize("minutes", ["nan", "inf"])
def test_minutes_that_are_no_number(run: Run, dialogues: Path, name: str, minutes: str) -> None:
    ran = run("train", name, "--dialogues", dialogues, "-o", "model", "--minutes", minutes)
    assert (ran.code, ran.err) == (2, f"rejoinder: minutes of training must be a number above 0, not {minutes}\n")


def test_an_encoder_that_is_nowhere(run: Run, dialogues: Path, tmp_path: Path) -> None:
    ran = run("train", "encoder", "--encoder", "./nowhere", "--dialogues", dialogues, "-o", "model", "--quiet")
    assert ran.code == 2
    assert ran.err.startswith("rejoinder: no encoder './nowhere': there is no such file or folder; ")
    assert ran.err.count("\n") == 1
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        (("--max-length", "0"), "encoder: max_length must be at least 1, not 0"),
        (("--steps", "many"), "argument --steps: must be a whole number, not 'many'"),
        (("--preset", "gpu"), "encoder: preset must be one of cpu, paper"),
        (("--scale", "1"), "argument --scale: expected 2 arguments"),
        (("--seed", "-1"), "--seed must be a whole number of at least 0"),
        (("--set", "steps=3"), "unrecognized arguments: --set"),
    ],
)
def test_wrong_options(run: Run, dialogues: Path, option: tuple[str, ...], problem: str) -> None:
    ran = run("train", "encoder", "--encoder", ".", "--dialogues", dialogues, "-o", "model", *option)
    assert ran.code == 2
    assert problem in ran.err


def test_without_the_extra_one_line_says_how_to_get_it(dialogues: Path, tmp_path: Path) -> None:
    script = f"""
import sys
for name in ("torch", "transformers", "accelerate"):
    sys.modules[name] = None
from rejoinder.cli import main
sys.exit(main(["train", "encoder", "--encoder", ".", "--dialogues", {str(dialogues)!r}, "-o", "model"]))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    expected = "training encoder needs an optional part: pip install '.[train]' in a checkout of rejoinder"
    assert done.stderr == f"rejoinder: {expected}\n"

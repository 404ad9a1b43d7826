"""`rejoinder train adem`, its variants and what they are built on, from files to folders that `score` takes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from rejoinder.evaluators.adem.adem import Adem
from rejoinder.models.tweet2vec import Tweet2Vec
from rejoinder.registry import load
from small_evaluators import dialogues, judged
from tiny_vectors import tiny_characters

if TYPE_CHECKING:
    from running import Run, WriteLines

FIXED = ("--components", "3", "--gamma", "0.02", "--towards", "zero")


@pytest.fixture
def labelled(write_lines: WriteLines) -> Path:
    return write_lines([{**asdict(item.example), "scores": item.scores} for item in judged()], "judged.jsonl")


@pytest.fixture
def replies(write_lines: WriteLines) -> Path:
    return write_lines([asdict(item.example) for item in judged()[:6]])


def test_train_and_score(run: Run, labelled: Path, replies: Path, tmp_path: Path) -> None:
    call = ("train", "adem", "--encoder", tiny_characters(), "--judged", labelled, *FIXED, "-o", "model")
    ran = run(*call)
    assert ran.code == 0, ran.err
    assert ran.err.splitlines() == [
        "40 judged replies",
        "3 components, gamma 0.02, drawn towards zero",
        "model: model (rejoinder score REPLIES -m model)",
    ]
    told = run("score", replies, "-m", "model", "--json", "--quiet")
    assert told.code == 0, told.err
    assert told.json["signatures"]["model"].startswith(
        "adem|preset:own|components:3|gamma:0.02|towards:zero|solver:exact|"
    )
    expected = Adem(encoder=tiny_characters(), components=3, gamma=0.02, towards="zero").fit((), judged())
    examples = [item.example for item in judged()]
    np.testing.assert_array_equal(load(tmp_path / "model").score(examples), expected.score(examples))


@pytest.mark.parametrize("name", ["c-adem", "r-adem"])
def test_the_variants(run: Run, labelled: Path, name: str, tmp_path: Path) -> None:
    options = ("--solver", "sgd", "--epochs", "3", "--debias", "--refs", "mean")
    ran = run("train", name, "--encoder", tiny_characters(), "--judged", labelled, *FIXED, *options, "-o", "model")
    assert ran.code == 0, ran.err
    evaluator = load(tmp_path / "model")
    assert (evaluator.name, evaluator.solver, evaluator.debias, evaluator.refs) == (name, "sgd", True, "mean")


@pytest.mark.parametrize("name", ["encoder-dot", "t2v-dot"])
def test_dot_products(run: Run, replies: Path, name: str) -> None:
    ran = run("train", name, "--encoder", tiny_characters(), "--against", "context", "-o", "model")
    assert ran.code == 0, ran.err
    told = run("score", replies, "-m", "model", "--json", "--quiet")
    assert told.code == 0, told.err
    assert told.json["signatures"]["model"].startswith(f"{name}|")


def test_human_likeness(run: Run, write_lines: WriteLines, tmp_path: Path) -> None:
    pool = write_lines([asdict(item.example) for item in judged()], "pool.jsonl")
    call = ("train", "human-likeness", "--encoder", tiny_characters(), "--pool", pool, "-o", "model")
    ran = run(*call, "--human", "s0")
    assert ran.code == 0, ran.err
    assert "20 replies by people, 20 by models" in ran.err
    scores = load(tmp_path / "model").score([item.example for item in judged()])
    assert ((scores > 0) & (scores < 1)).all()
    refused = run(*call)
    assert refused.code == 2
    assert "human-likeness learns from replies of people (true, human, ground-truth)" in refused.err


def test_tweet2vec(run: Run, write_lines: WriteLines, labelled: Path, tmp_path: Path) -> None:
    turns = write_lines([{"turns": dialogue.turns} for dialogue in dialogues()], "dialogues.jsonl")
    sizes = ("--hidden", "4", "--width", "6", "--steps", "2", "--batch", "4", "--longest", "20")
    ran = run("train", "tweet2vec", "--dialogues", turns, *sizes, "-o", "t2v")
    assert ran.code == 0, ran.err
    assert ran.err.splitlines()[0] == "3 dialogues"
    assert Tweet2Vec.load(tmp_path / "t2v").encode(["hello"]).shape == (1, 6)
    ran = run("train", "adem", "--encoder", "t2v", "--judged", labelled, *FIXED, "-o", "model")
    assert ran.code == 0, ran.err


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--gamma", "-1"), "gamma must be at least 0"),
        (("--dimension", "overal"), "did you mean overall"),
        (("--towards", "one"), "towards must be one of zero, identity"),
        (("-o", "nowhere/model"), "nowhere does not exist"),
        (("--judged", "nowhere.jsonl"), "nowhere.jsonl: no such file"),
        (("--encoder", "nowhere/"), "no encoder 'nowhere/': there is no such file or folder"),
        (("--scale", "6", "7"), "expected 6 to 7, the scale"),
    ],
)
def test_wrong_calls(run: Run, labelled: Path, tmp_path: Path, options: tuple[str, ...], problem: str) -> None:
    call = ("train", "adem", "--encoder", tiny_characters(), "--judged", labelled, "-o", "model", *FIXED)
    ran = run(*call, *options)
    assert ran.code == 2
    assert problem in ran.err
    assert not (tmp_path / "model").exists()


def test_what_adem_cannot_do_without(run: Run, labelled: Path) -> None:
    ran = run("train", "adem", "--encoder", tiny_characters(), "-o", "model")
    assert ran.code == 2
    assert "the following arguments are required: --judged" in ran.err
    ran = run("train", "adem", "--judged", labelled, "-o", "model")
    assert ran.code == 2
    assert "--encoder" in ran.err


def test_a_reply_model_without_an_encoder(run: Run, write_lines: WriteLines, labelled: Path) -> None:
    turns = write_lines([{"turns": dialogue.turns} for dialogue in dialogues()], "dialogues.jsonl")
    assert run("train", "bm25", "--dialogues", turns, "-o", "bm25").code == 0
    ran = run("train", "adem", "--encoder", "bm25", "--judged", labelled, "-o", "model")
    assert ran.code == 2
    assert "holds the reply model 'bm25', which has no encoder" in ran.err

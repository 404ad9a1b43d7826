"""`rejoinder train am-fm`, from text to a folder that `rejoinder score` takes."""

from __future__ import annotations

import gzip
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from rejoinder.evaluators.am_fm import AmFm
from rejoinder.models.arpa import read_arpa
from small_am_fm import EXAMPLES, SENTENCES, TEXTS, judged

if TYPE_CHECKING:
    from running import Run, WriteLines


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "sentences.txt"
    path.write_text("\n".join(TEXTS) + "\n\n", encoding="utf-8")
    return path


def test_train_and_score(run: Run, write_lines: WriteLines, text: Path, tmp_path: Path) -> None:
    ran = run("train", "am-fm", "--text", text, "--dimensions", "4", "--write-arpa", "lm.arpa", "-o", "model")
    assert ran.code == 0, ran.err
    assert ran.err.splitlines() == [
        "8 sentences",
        "n-grams: lm.arpa",
        "weights: AM 0.80, FM 0.20",
        "model: model (rejoinder score REPLIES -m model)",
    ]
    replies = write_lines(map(asdict, EXAMPLES))
    told = run("score", replies, "-m", "model", "-m", "model(part=am)", "-m", "model(part=fm)", "--json", "--quiet")
    assert told.code == 0, told.err
    whole, am, fm = (told.json["summary"][label] for label in ("model", "model(part=am)", "model(part=fm)"))
    assert whole["a"]["mean"] == pytest.approx(0.8 * am["a"]["mean"] + 0.2 * fm["a"]["mean"])
    signature = told.json["signatures"]["model"].split("|")
    assert {"am-fm", "dimensions:4", "order:2", "smoothing:good-turing", "prune:1e-06"} <= set(signature)
    assert read_arpa(tmp_path / "lm.arpa").order == 2
    np.testing.assert_array_equal(
        AmFm.load(tmp_path / "model").score(EXAMPLES), AmFm(dimensions=4).fit(SENTENCES).score(EXAMPLES)
    )


def test_text_packed_or_as_dialogues(run: Run, write_lines: WriteLines, text: Path, tmp_path: Path) -> None:
    packed = tmp_path / "more.txt.gz"
    packed.write_bytes(gzip.compress(text.read_bytes()))
    turns = write_lines([{"turns": TEXTS[:4]}, {"turns": TEXTS[4:]}], "dialogues.jsonl")
    ran = run("train", "am-fm", "--text", text, "--text", packed, "--text", turns, "-o", "model")
    assert ran.code == 0, ran.err
    assert ran.err.startswith("24 sentences\n")


def test_shares_fitted_to_people(run: Run, write_lines: WriteLines, text: Path) -> None:
    items = judged(np.random.default_rng(1))
    labelled = write_lines([{**asdict(item.example), "scores": item.scores} for item in items], "judged.jsonl")
    call = ("train", "am-fm", "--text", text, "--dimensions", "4", "--judged", labelled, "-o", "model")
    ran = run(*call, "--fit-weight", "replies")
    assert ran.code == 0, ran.err
    assert "8 sentences, 80 judged replies\nweights: AM 1.00, FM 0.00\n" in ran.err
    refused = run(*call)
    assert refused.code == 2
    assert "expected --fit-weight replies or systems" in refused.err


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--weight", "2"), "weight must be from 0 to 1, not 2.0"),
        (("--order", "9"), "order must be from 1 to 6, not 9"),
        (("--lm", "nowhere.arpa"), "nowhere.arpa: no such file"),
        (("--pm", "lenght"), "did you mean length"),
        (("--smoothing", "none"), "smoothing must be one of good-turing, kneser-ney"),
        (("--lm", "gpt2", "--write-arpa", "lm.arpa"), "--write-arpa needs an n-gram model"),
        (("--text", "nowhere.txt"), "nowhere.txt: no such file"),
    ],
)
def test_wrong_calls(run: Run, text: Path, tmp_path: Path, options: tuple[str, ...], problem: str) -> None:
    ran = run("train", "am-fm", "--text", text, "-o", "model", *options)
    assert ran.code == 2
    assert problem in ran.err
    assert not (tmp_path / "model").exists()


def test_an_evaluator_that_is_not_there(run: Run) -> None:
    ran = run("train", "am-pm")
    assert ran.code == 2
    assert "did you mean am-fm?" in ran.err


def test_scoring_needs_neither_scikit_learn_nor_torch(
    run: Run, write_lines: WriteLines, text: Path, tmp_path: Path
) -> None:
    assert run("train", "am-fm", "--text", text, "-o", "model", "--quiet").code == 0
    write_lines(map(asdict, EXAMPLES))
    script = """
import sys
for name in ("sklearn", "torch", "transformers"):
    sys.modules[name] = None
from rejoinder.cli import main
assert main(["score", "replies.jsonl", "-m", "model", "--quiet"]) == 0
sys.exit(main(["train", "am-fm", "--text", "sentences.txt", "-o", "other", "--quiet"]))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    expected = "learning a semantic space needs an optional part: pip install '.[train]' in a checkout of rejoinder"
    assert done.stderr == f"rejoinder: {expected}\n"

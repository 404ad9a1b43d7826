"""`rejoinder train` for reply models and `rejoinder generate`, from dialogues to replies that `score` takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rejoinder.replies.lexical import ResponseTfidf
from small_dialogues import DIALOGUES, small_parameters

if TYPE_CHECKING:
    from running import Run, WriteLines

RECORDS = [{"id": str(n), "turns": list(dialogue.turns[:2])} for n, dialogue in enumerate(DIALOGUES)]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_train_and_generate(run: Run, write_lines: WriteLines, tmp_path: Path) -> None:
    dialogues = write_lines([{"turns": list(one.turns)} for one in DIALOGUES], "dialogues.jsonl")
    waiting = write_lines(RECORDS, "contexts.jsonl")
    for name, options in (("r-tfidf", ()), ("bm25", ("--set", "k1=1.5"))):
        ran = run("train", name, "--dialogues", dialogues, "-o", name, "--quiet", *options)
        assert (ran.code, ran.err) == (0, "")
    ran = run("generate", waiting, "--model", "bm25", "-o", "one.jsonl")
    assert ran.code == 0
    assert "bm25 was trained on 4 of the 4 contexts" in ran.err
    assert [row["system"] for row in lines(tmp_path / "one.jsonl")] == ["bm25"] * 4
    ran = run(
        "generate", waiting, "--systems", "a=r-tfidf,b=bm25", "--also", "true,random", "-o", "pool.jsonl", "--json"
    )
    assert ran.json["systems"]["true"]["replies"] == 4
    in_a_pool = run("generate", waiting, "--systems", "bm25", "--decoding", "greedy", "-o", "pool2.jsonl", "--quiet")
    assert in_a_pool.code == 0, "there it is for those that decode"
    assert run("score", "pool.jsonl", "-m", "length").code == 0


def test_wrong_calls(run: Run, write_lines: WriteLines) -> None:
    waiting = write_lines(RECORDS, "contexts.jsonl")
    dialogues = write_lines([{"turns": ["a", "b", "c"]}], "dialogues.jsonl")
    ResponseTfidf().fit(DIALOGUES).save("copies")
    copies = "r-tfidf copies replies of its corpus: it takes no decoding, but '{}' gives one"
    for call, message in (
        (("generate", waiting, "--model", "nowhere", "-o", "a.jsonl"), "holds no reply model"),
        (("generate", waiting, "--model", "nowhere", "-o", "a.csv"), "cannot write .csv"),
        (("generate", waiting, "--model", "m", "--also", "true", "-o", "a.jsonl"), "are for a pool"),
        (("generate", waiting, "-o", "a.jsonl"), "--model"),
        (
            ("generate", waiting, "--model", "copies", "--decoding", "greedy", "-o", "a.jsonl"),
            copies.format("decoding greedy"),
        ),
        (("generate", waiting, "--systems", "copies@greedy", "-o", "a.jsonl"), copies.format("copies@greedy")),
        (("train", "bm25", "--dialogues", dialogues, "-o", "m", "--set", "k2=1"), "did you mean k1"),
        (("train", "bm25", "--dialogues", dialogues, "-o", "m", "--set", "k1=x"), "must be a number"),
    ):
        ran = run(*call)
        assert ran.code == 2
        assert message in ran.err


def test_a_model_that_generates(run: Run, write_lines: WriteLines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rejoinder.progress.FIRST_LINE", 0.0)
    monkeypatch.setattr("rejoinder.progress.LONG", 0.0)
    monkeypatch.setattr("rejoinder.replies.pool._BATCH", 1)
    dialogues = write_lines([{"turns": list(one.turns)} for one in DIALOGUES], "dialogues.jsonl")
    small = [part for key, value in small_parameters("hred").items() for part in ("--set", f"{key}={value}")]
    ran = run("train", "hred", "--dialogues", dialogues, "--valid", dialogues, "-o", "hred", *small, "--minutes", "1")
    assert ran.code == 0
    assert "perplexity" in ran.err
    assert "; faster: fewer --epochs, a shorter --minutes\n" in ran.err
    ran = run("generate", dialogues, "--systems", "a=hred@nucleus(p=0.9)", "-o", "replies.jsonl", "--quiet")
    assert (ran.code, ran.err) == (0, "")
    ran = run("generate", dialogues, "--systems", "a=hred@beam(beam=2)", "-o", "beams.jsonl")
    assert "note: replying will take about " in ran.err
    assert (
        "; faster: fewer contexts (`rejoinder convert --sample`), greedy decoding in place of beam search\n" in ran.err
    )
    assert run("train", "bm25", "--dialogues", dialogues, "-o", "bm25", "--minutes", "1").code == 2

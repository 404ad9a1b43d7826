"""`rejoinder train skip-thought`: an evaluator and a sentence encoder in one folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from small_dialogues import DIALOGUES

if TYPE_CHECKING:
    from running import Run, WriteLines


def test_train_and_score(run: Run, write_lines: WriteLines) -> None:
    dialogues = write_lines([{"turns": list(one.turns)} for one in DIALOGUES], "dialogues.jsonl")
    replies = write_lines([{"response": "I like tea.", "references": ["I like rain."]}], "replies.jsonl")
    sizes = ("--vocabulary", "320", "--embedding", "8", "--hidden", "12", "--epochs", "1")
    ran = run("train", "skip-thought", "--dialogues", dialogues, "-o", "skip", *sizes)
    assert ran.code == 0, ran.err
    assert ran.err.splitlines()[-2:] == [
        "skip is a sentence encoder as well: --encoder skip",
        "model: skip (rejoinder score REPLIES -m skip)",
    ]
    assert run("score", replies, "-m", "skip").code == 0

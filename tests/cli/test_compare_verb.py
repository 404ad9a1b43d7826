"""`rejoinder compare`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from rejoinder.cli import main

if TYPE_CHECKING:
    from running import Run, WriteLines


@pytest.fixture
def two(write_lines: WriteLines) -> tuple[Path, Path]:
    def replies(words: list[int]) -> list[dict[str, object]]:
        return [{"context": [f"q{n}"], "response": "word " * count} for n, count in enumerate(words)]

    return write_lines(replies([2, 3, 2, 4, 2, 3, 2, 3]), "old.jsonl"), write_lines(
        replies([5, 6, 7, 5, 6, 8, 9, 5]), "new.jsonl"
    )


def test_the_table_and_the_verdict(run: Run, two: tuple[Path, Path]) -> None:
    ran = run("compare", *two, "-m", "length")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("new is higher than old by 3.750 [")
    assert "old → new" not in ran.out
    assert "old → new" in run("compare", *two, "-m", "length", "--details").out


def test_json_and_latex(run: Run, two: tuple[Path, Path]) -> None:
    told = run("compare", *two, "-m", "length", "--json", "--seed", 1).json
    assert told["comparisons"][0]["difference"] == 3.75
    assert told["comparisons"][0]["paired"] is True
    assert told["seed"] == 1
    assert run("compare", *two, "-m", "length", "--latex").out.startswith(r"\begin{tabular}")


def test_notes_and_what_was_left_out_go_to_standard_error(run: Run, two: tuple[Path, Path]) -> None:
    old, new = two
    old.write_text(old.read_text() + "oops\n")
    new.write_text("".join(new.read_text().splitlines(keepends=True)[:6]))
    ran = run("compare", "old.jsonl", "new.jsonl", "-m", "length", "--on-error", "skip")
    assert ran.code == 0
    left_out = "2 of 14 replies are not compared: old and new are compared on the 6 contexts that both answered."
    assert left_out in " ".join(ran.out.split())
    assert ran.err.splitlines() == [
        "left out 1 unreadable example:",
        "  old.jsonl:9: is not valid JSON (Expecting value at column 1): expected one object per line",
    ]
    assert run("compare", "old.jsonl", "new.jsonl", "-m", "length", "--on-error", "skip", "--quiet").err == ""


def test_labels_are_said_to_be_a_random_sample(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["compare", "--help"])
    assert "must be a random sample of the replies" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["old.jsonl"], "compare needs at least two systems, found only 'old'"),
        (["old.jsonl", "old.jsonl"], "two systems would have the same name (old.jsonl, old.jsonl): give them"),
        (["old.jsonl", "gone.jsonl"], "gone.jsonl: no such file"),
        (["old.jsonl", "new.jsonl", "-m", "bleu"], "bleu needs references, but none of the 16 examples of old.jsonl, "),
        (["old.jsonl", "new.jsonl", "--pair-by", "turn"], "unknown field in old.jsonl: 'turn'; known: context, "),
        (["-", "-"], "standard input can be read only once: expected - for at most one of the files"),
    ],
)
def test_wrong_calls(arguments: list[str], message: str, run: Run, two: tuple[Path, Path]) -> None:
    ran = run("compare", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"rejoinder: {message}")
    assert ran.err.count("\n") == 1


def test_human_means_from_some_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    replies, labels = tmp_path / "replies.jsonl", tmp_path / "labels.jsonl"
    with replies.open("w") as all_, labels.open("w") as some:
        for context in range(60):
            for system, length in (("short", 2), ("long", 9)):
                words = int(rng.integers(1, 4)) + length
                record = {"id": f"{context}", "system": system, "context": [f"c{context}"], "response": "word " * words}
                all_.write(json.dumps(record) + "\n")
                if context < 20:
                    some.write(json.dumps(record | {"scores": {"overall": words / 3}}) + "\n")
    call = ["compare", str(replies), "-m", "length", "--labels", str(labels), "--resamples", "50"]
    assert main([*call, "--json", "--quiet"]) == 0
    human = json.loads(capsys.readouterr().out)["human"]
    assert human["means"]["long"]["labels"] == 20
    assert human["differences"][0]["verdict"].startswith("People would rate long above short")
    assert main(call) == 0
    told = capsys.readouterr().out
    assert told.startswith("People would rate long above short by ")
    assert "Estimated mean ratings (overall), from the labels and length; the" in told
    assert main([*call, "--latex"]) == 0
    assert r"short & \textbf{long} & \textbf{+" in capsys.readouterr().out
    assert main([*call, "--predictor", "lenght"]) == 2
    assert "did you mean length?" in capsys.readouterr().err

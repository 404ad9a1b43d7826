"""`rejoinder check` and `rejoinder convert`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import foreign_records as foreign

if TYPE_CHECKING:
    from running import Run, WriteLines


def test_check_tells_what_was_understood_counts_and_three_examples(run: Run, write_lines: WriteLines) -> None:
    ran = run("check", write_lines([*foreign.openai_chats(), foreign.openai_chats()[0]]))
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert "read as a chat log with messages: response from the last assistant message" in lines[0]
    counts = dict(line.split(None, 1) for line in lines[2:11])
    assert counts["scored"] == "the last assistant turn of each chat: 5 of 5"
    assert counts["slices"] == "--by length, turns"
    assert counts["examples"] == "5"
    assert counts["systems"] == "2 (small: 3, large: 2)"
    assert counts["contexts"] == "2 different"
    assert counts["references"] == "none"
    assert counts["duplicates"].startswith("1 (")
    assert "No example has references, which these metrics need: bleu-1, bleu-2" in ran.out
    assert sum(line.startswith("example ") for line in lines) == 3


def test_a_field_that_a_path_leads_into_is_used(run: Run, write_lines: WriteLines) -> None:
    path = write_lines([{"input": {"question": "Tea?"}, "output": {"content": "Yes, please."}}])
    ran = run("check", path, "--field", "response=output.content", "--field", "context=input.question")
    assert (ran.code, "is not used" in ran.out) == (0, False)
    assert "Tea?" in ran.out


def test_check_of_our_own_format(run: Run, demo: Path) -> None:
    ran = run("check", demo, "--json")
    assert ran.json["examples"] == 256
    assert ran.json["systems"] == {"good": 64, "generic": 64, "off-topic": 64, "garbled": 64}
    assert ran.json["missing"] == {}
    assert "read as rejoinder's own format" in next(iter(ran.json["understood"].values()))
    assert "All metrics have what they need." in run("check", demo).out


def test_check_counts_what_is_empty_and_left_out(run: Run, write_lines: WriteLines) -> None:
    path = write_lines([{"response": "привет"}, {"response": " "}, {"response": 7}])
    assert run("check", path).code == 2
    ran = run("check", path, "--on-error", "skip", "--json")
    assert ran.code == 0
    assert (ran.json["empty"], ran.json["scripts"], len(ran.json["skipped"])) == (1, {"Cyrillic": 1}, 1)
    assert set(ran.json["missing"]) == {"references", "context"}
    assert "default" in ran.json["missing"]["context"]


@pytest.mark.parametrize("content", ["", '{"response": 1}\n', "not JSON"])
def test_check_refuses_what_cannot_be_read(content: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(content, encoding="utf-8")
    ran = run("check", "a.jsonl")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("rejoinder: a.jsonl")
    assert ran.err.count("\n") == 1


def test_hostile_text_is_escaped(run: Run, write_lines: WriteLines) -> None:
    ran = run("check", write_lines([{"answer": "\x1b[2J", "model\x1b[2J": "m", "question": "\u202e"}]))
    assert ran.code == 0, ran.err
    assert "\x1b" not in ran.out + ran.err
    assert "\u202e" not in ran.out


def test_convert_and_score(run: Run, write_lines: WriteLines, tmp_path: Path) -> None:
    log = write_lines(foreign.sharegpt(), "log.jsonl")
    ran = run("convert", log, "-o", "replies.jsonl", "--every-turn", "--drop-duplicates", "--sample", 2, "--seed", 3)
    assert ran.code == 0, ran.err
    assert ran.out == "replies.jsonl: 2 of 4 examples (left out: 2 not in the sample)\n"
    assert "note: " in ran.err
    assert "response from each assistant message" in ran.err
    rows = [json.loads(line) for line in (tmp_path / "replies.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["dialogue_id"] for row in rows} == {row["id"].removesuffix("-1") for row in rows}
    scored = run("score", "replies.jsonl", "-m", "length", "--resamples", 20)
    assert (scored.code, scored.err) == (0, "")


def test_convert_writes_nothing_from_bad_input(run: Run, write_lines: WriteLines, tmp_path: Path) -> None:
    write_lines([{"response": "a"}, {"response": 1}], "log.jsonl")
    assert run("convert", "log.jsonl", "-o", "replies.csv").code == 2
    assert not (tmp_path / "replies.csv").exists()
    assert run("convert", "log.jsonl", "-o", "log.jsonl").code == 2
    assert run("convert", "log.jsonl", "-o", "replies.doc").code == 2
    assert run("convert", "log.jsonl").code == 2

"""Training data from files, frames and memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from rejoinder.data.dialogues import CorpusReader
from rejoinder.errors import DataError, NeedsError
from rejoinder.types import Dialogue, Example, JudgedExample

if TYPE_CHECKING:
    from running import WriteLines

DIALOGUE = Dialogue("1", ("Tea?", "Yes, please."))
JUDGED = {"id": "1", "context": ["Tea?"], "response": "Yes, please.", "scores": {"overall": [4, 5]}, "split": "valid"}
EXAMPLE = Example("1", ("Tea?",), "Yes, please.")


def test_dialogues_of_several_files_and_of_memory(write_lines: WriteLines) -> None:
    paths = [write_lines([{"turns": DIALOGUE.turns}], name) for name in ("a.jsonl", "b.jsonl")]
    assert CorpusReader().dialogues(paths) == [DIALOGUE, DIALOGUE]
    assert CorpusReader().dialogues(str(paths[0])) == [DIALOGUE]
    assert CorpusReader().dialogues([{"turns": ["Tea?", "Yes, please."]}]) == [DIALOGUE]
    assert CorpusReader().dialogues(iter([["Tea?", "Yes, please."]])) == [DIALOGUE]
    assert CorpusReader().dialogues(()) == []


def test_judged_examples_of_a_file_a_frame_and_memory(write_lines: WriteLines) -> None:
    expected = [JudgedExample(EXAMPLE, {"overall": (4.0, 5.0)}, "valid")]
    frame = pl.DataFrame([JUDGED])
    for origin in (write_lines([JUDGED]), [write_lines([JUDGED])], [JUDGED], frame, expected):
        assert CorpusReader().judged(origin) == expected
    with pytest.raises(DataError, match="scores"):
        CorpusReader().judged([EXAMPLE])
    assert CorpusReader().judged([EXAMPLE, *expected], scored=False) == [JudgedExample(EXAMPLE), *expected]


def test_examples_of_files_and_memory(write_lines: WriteLines) -> None:
    path = write_lines([JUDGED])
    assert CorpusReader().examples(path) == CorpusReader().examples([path]) == CorpusReader().examples([EXAMPLE])
    assert CorpusReader().examples(()) == []


def test_a_text_file_holds_sentences_only_where_they_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("one line\n\nanother\n")
    assert [one.turns for one in CorpusReader().dialogues(path, sentences=True)] == [("one line",), ("another",)]
    with pytest.raises(DataError, match="is not valid JSON"):
        CorpusReader().dialogues(path)


def test_files_without_content(write_lines: WriteLines) -> None:
    empty = write_lines([], "empty.jsonl")
    with pytest.raises(NeedsError, match=r"empty.jsonl: expected at least one dialogue, found none"):
        CorpusReader().dialogues([empty])
    with pytest.raises(NeedsError, match=r"empty.jsonl: expected at least one reply, found none"):
        CorpusReader().examples(empty)
    assert CorpusReader().judged(empty) == []


def test_what_cannot_be_read_is_skipped_and_noted(write_lines: WriteLines) -> None:
    reader = CorpusReader("skip")
    talk = write_lines([{"turns": ["alone"]}, {"turns": DIALOGUE.turns}], "talk.jsonl")
    judged = write_lines([{"response": "no scores"}, JUDGED], "judged.jsonl")
    assert [one.turns for one in reader.dialogues(talk)] == [DIALOGUE.turns]
    assert len(reader.judged(judged)) == 1
    assert len(reader.examples(judged)) == 2
    assert [where.partition(": ")[0].rpartition("/")[2] for where in reader.skipped] == [
        "talk.jsonl:1",
        "judged.jsonl:1",
    ]

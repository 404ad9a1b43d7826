"""Files in our own format from any input: the same examples, samples of whole dialogues, no duplicates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import foreign_records as foreign
import rejoinder
from rejoinder.data.judged import JudgedSource
from rejoinder.errors import CallError, DataError
from rejoinder.types import Example

EXAMPLES = [
    Example("a", ("Hi!", "Hello, you."), "-1 + 1", ("Fine day.", "And you?"), "one", ("A", "B"), "c1", "d1"),
    Example("b", ("Line\nbreak", 'a "quote", a comma'), "", ("ünï 中文 🙂",), "two", (), "c2"),
    Example("c", (), "=only\ta reply\r\n"),
]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet", ".xlsx"])
def test_what_is_written_is_read_again(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    done = rejoinder.convert(EXAMPLES, path)
    assert (done.read, done.written, done.duplicates) == (3, 3, 0)
    assert str(done) == f"{path}: 3 of 3 examples"
    assert list(rejoinder.read(path)) == EXAMPLES
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet", ".xlsx"])
def test_human_scores_are_kept(suffix: str, tmp_path: Path) -> None:
    judged = [{"id": "1", "response": "a", "scores": {"overall": [1, 2.5]}, "split": "test"}]
    rejoinder.convert(judged, tmp_path / f"a{suffix}")
    (found,) = JudgedSource(tmp_path / f"a{suffix}").judged()
    assert (found.scores, found.split) == ({"overall": (1.0, 2.5)}, "test")


def logs() -> list[dict[str, Any]]:
    """200 dialogues of three turns each."""
    return [
        {"id": f"{number}-{turn}", "dialogue_id": str(number), "context": [f"{turn}?"], "response": f"{number} {turn}"}
        for number in range(200)
        for turn in range(3)
    ]


def sampled(records: list[dict[str, Any]], count: int, seed: int, path: Path) -> list[Example]:
    rejoinder.convert(records, path, sample=count, seed=seed)
    return list(rejoinder.read(path))


def test_samples_are_of_whole_dialogues_and_depend_on_the_seed_alone(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    first = sampled(logs(), 20, 0, path)
    assert len(first) == 60
    assert len({example.dialogue_id for example in first}) == 20
    assert sampled(logs(), 20, 0, path) == first
    assert {example.id for example in sampled(logs()[::-1], 20, 0, path)} == {example.id for example in first}
    assert {example.id for example in sampled(logs(), 20, 1, path)} != {example.id for example in first}
    assert len(sampled(logs(), 1000, 0, path)) == 600


def test_samples_are_uniform(tmp_path: Path) -> None:
    """Over 40 seeds each half of the dialogues is chosen about as often as the other: 800 draws, 6 standard errors."""
    chosen = [int(e.dialogue_id) for seed in range(40) for e in sampled(logs(), 20, seed, tmp_path / "s.jsonl")[::3]]
    assert len(chosen) == 800
    assert abs(sum(number < 100 for number in chosen) - 400) < 6 * 800**0.5 / 2


def test_systems_that_answered_the_same_context_stay_together(tmp_path: Path) -> None:
    found = sampled(foreign.sharegpt(), 1, 3, tmp_path / "s.jsonl")
    assert {example.system for example in found} == {"small", "large"}
    assert len({example.context for example in found}) == 1


def test_duplicates(tmp_path: Path) -> None:
    rows = [("a", "q", "x"), ("a", "q", "x"), ("b", "q", "x"), ("a", "q", "y"), ("a", "p", "x"), ("a", "q", "x")]
    records = [{"system": system, "context": [asked], "response": reply} for system, asked, reply in rows]
    done = rejoinder.convert(records, tmp_path / "a.jsonl", drop_duplicates=True)
    assert (done.read, done.written, done.duplicates) == (6, 4, 2)
    assert str(done).endswith("4 of 6 examples (left out: 2 duplicates)")
    assert [example.id for example in rejoinder.read(tmp_path / "a.jsonl")] == ["1", "3", "4", "5"]


def test_nothing_is_written_from_a_bad_file(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        rejoinder.convert([{"response": "a"}, {"response": 1}], tmp_path / "a.jsonl")
    assert not list(tmp_path.iterdir())
    done = rejoinder.convert([{"response": "a"}, {"response": 1}], tmp_path / "a.jsonl", on_error="skip")
    assert (done.written, len(done.skipped)) == (1, 1)


def test_wrong_calls(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"response": "a"}\n', encoding="utf-8")
    with pytest.raises(CallError, match=r"cannot write \.txt; expected \.jsonl, \.csv, \.parquet, \.xlsx"):
        rejoinder.convert(path, tmp_path / "a.txt")
    for origin in (path, tmp_path, [path]):
        with pytest.raises(CallError, match="is an input"):
            rejoinder.convert(origin, path)
    with pytest.raises(CallError, match="sample must be a whole number of at least 1, not 0"):
        rejoinder.convert(path, tmp_path / "b.jsonl", sample=0)


def test_the_file_has_the_fields_that_the_example_has(tmp_path: Path) -> None:
    rejoinder.convert([{"response": ""}], tmp_path / "a.jsonl")
    assert json.loads((tmp_path / "a.jsonl").read_text(encoding="utf-8")) == {"id": "1", "response": ""}

"""Which replies answer the same thing, and what systems are called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from rejoinder.comparing.systems import join, join_systems
from rejoinder.data.contexts import GroupFinder
from rejoinder.data.source import Source, labels_of
from rejoinder.errors import CallError
from rejoinder.types import Example


def keys(*examples: Example, by: str | None = None) -> list[int]:
    finder = GroupFinder(by)
    finder.add(examples)
    found: list[int] = finder.found().contexts.tolist()
    return found


def test_keys_count_up_in_order_of_appearance() -> None:
    assert keys(*(Example(str(n), (context,), "x") for n, context in enumerate("bacab"))) == [0, 1, 2, 1, 0]


def test_context_ids_pair_first() -> None:
    first = Example("1", ("same",), "x", context_id="k1")
    assert keys(first, Example("2", ("other",), "y", context_id="k1"), Example("3", ("same",), "z")) == [0, 0, 1]


def test_equal_contexts_and_references_pair_next() -> None:
    one, two = Example("1", ("a",), "x", ("r",)), Example("2", ("a",), "y", ("r",))
    assert keys(one, two, Example("3", ("a",), "z", ("other",)), Example("4", ("a", "b"), "w", ("r",))) == [0, 0, 1, 2]


def test_bare_replies_pair_by_id() -> None:
    seven, again = (Example("7", (), "x", system=name) for name in "AB")
    assert keys(seven, Example("8", (), "y"), again) == [0, 1, 0]


def test_a_field_can_be_chosen() -> None:
    examples = [Example("1", ("a",), "x", context_id="k"), Example("1", ("b",), "y", context_id="l")]
    assert keys(*examples, by="id") == [0, 0]
    assert keys(*examples, by="context") == [0, 1]
    with pytest.raises(CallError, match=r"^cannot pair by 'system': expected one of id, context_id, context$"):
        keys(*examples, by="system")
    with pytest.raises(CallError, match=r"^cannot pair by 'context': example '2' of 'S' has none$"):
        keys(*examples, Example("2", (), "z", system="S"), by="context")


@pytest.mark.parametrize(
    ("origins", "labels"),
    [
        (["runs/a.jsonl", "runs/b.jsonl.gz"], ["a", "b"]),
        (["gpt-4.1.jsonl", "gpt-4.2.parquet"], ["gpt-4.1", "gpt-4.2"]),
        (["old/replies.csv", "new/replies.csv"], ["old/replies.csv", "new/replies.csv"]),
        (["-", "b.tsv"], ["-", "b"]),
        ([".jsonl", "b"], [".jsonl", "b"]),
        ([[], pd.DataFrame(), "c.jsonl"], ["A", "B", "c"]),
    ],
)
def test_systems_without_a_name_go_by_their_file(origins: list[Any], labels: list[str]) -> None:
    assert labels_of(origins) == labels


def sources(*systems: list[str]) -> list[Source]:
    return [
        Source([{"id": f"{n}", "response": "x", "system": name} for n, name in enumerate(names)]) for names in systems
    ]


@pytest.mark.parametrize(
    ("systems", "names"),
    [
        ([["", ""], [""]], ("a", "b")),
        ([["old"], ["new"]], ("old", "new")),
        ([["bot"], ["bot"]], ("a:bot", "b:bot")),
        ([["one", "two"], ["two", "three"]], ("one", "a:two", "b:two", "three")),
        ([["one", ""], ["two"]], ("one", "a", "two")),
    ],
)
def test_systems_of_several_files_have_names_of_their_own(systems: list[list[str]], names: tuple[str, ...]) -> None:
    joined, seen = join(sources(*systems), ["a", "b"])
    assert seen.systems == names
    assert list(dict.fromkeys(example.system for example in joined)) == list(names)
    assert seen.count == sum(map(len, systems)) == len(list(joined))


def test_names_that_would_clash_are_refused() -> None:
    with pytest.raises(CallError, match=r"^two systems would have the same name \(b, b\): give them different names$"):
        join(sources(["b"], [""]), ["a", "b"])


def replies_of(folder: Path, **files: list[dict[str, str]]) -> Path:
    folder.mkdir()
    for name, records in files.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


@pytest.mark.parametrize("given", ["folder", "pattern"])
def test_files_of_a_folder_that_name_no_system_are_systems(given: str, tmp_path: Path) -> None:
    rows = [{"context": f"turn {n}", "response": "yes"} for n in range(3)]
    folder = replies_of(tmp_path / "runs", old=rows, new=rows)
    origin = str(folder) if given == "folder" else f"{folder}/*.jsonl"
    joined, seen = join_systems([origin], lambda origins: [Source(one) for one in origins])
    assert seen.systems == ("new", "old")
    assert [example.system for example in joined] == ["new"] * 3 + ["old"] * 3


def test_files_of_a_folder_that_name_systems_are_parts(tmp_path: Path) -> None:
    rows = [{"context": "hi", "response": "yes", "system": name} for name in "AB"]
    folder = replies_of(tmp_path / "parts", one=rows, two=rows)
    _, seen = join_systems([str(folder)], lambda origins: [Source(one) for one in origins])
    assert seen.systems == ("A", "B")


def test_one_file_that_names_no_system_is_refused(tmp_path: Path) -> None:
    folder = replies_of(tmp_path / "alone", only=[{"context": "hi", "response": "yes"}])
    with pytest.raises(CallError, match="at least two systems, found only 'alone'"):
        join_systems([str(folder)], lambda origins: [Source(one) for one in origins])

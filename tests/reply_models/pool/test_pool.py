"""Pools of replies: what they contain, what is left out, and how an interrupted run is resumed."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rejoinder.data.dialogues import UnansweredSource, each_once
from rejoinder.data.source import read
from rejoinder.errors import CallError, DataError, UnknownNameError
from rejoinder.replies.base import Decoding
from rejoinder.replies.filters import MetricFilter, WordFilter, is_offensive
from rejoinder.replies.lexical import ContextTfidf, ResponseTfidf
from rejoinder.replies.pool import Pool, PoolRun, PoolSystem, Tally, also_of, pool_systems
from rejoinder.types import Example
from small_dialogues import DIALOGUES

RECORDS = [{"id": str(n), "turns": list(dialogue.turns[:2])} for n, dialogue in enumerate(DIALOGUES)]
SYSTEMS = [PoolSystem("r", ResponseTfidf().fit(DIALOGUES)), PoolSystem("c", ContextTfidf().fit(DIALOGUES))]


def contexts() -> list[Example]:
    return list(UnansweredSource(RECORDS))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("record", "context", "references"),
    [
        ({"turns": ["a", "b", "c"]}, ("a", "b"), ("c",)),
        ({"context": ["a", "b"]}, ("a", "b"), ()),
        ({"context": ["a"], "response": "true"}, ("a",), ("true",)),
        ({"context": ["a"], "response": "made up", "system": "bot"}, ("a",), ()),
        ({"context": ["a"], "response": "made up", "references": ["x", "y"]}, ("a",), ("x", "y")),
        ({"messages": [{"role": "user", "content": "a"}]}, ("a",), ()),
        ({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}, ("a",), ("b",)),
    ],
)
def test_contexts_to_reply_to(record: dict[str, Any], context: tuple[str, ...], references: tuple[str, ...]) -> None:
    (example,) = UnansweredSource([record])
    assert (example.context, example.references, example.response) == (context, references, "")


def test_contexts_that_cannot_be_read() -> None:
    with pytest.raises(DataError, match="'context': is missing: expected what was said before"):
        list(UnansweredSource([{"response": "alone"}]))
    same = Example("1", ("a",), "")
    assert list(each_once([same, Example("1", ("a",), "")])) == [same]
    with pytest.raises(CallError, match="two different contexts have the id '1'"):
        list(each_once([same, Example("1", ("b",), "")]))


def test_a_pool_has_each_system_the_true_and_a_random_reply(tmp_path: Path) -> None:
    target = tmp_path / "replies.jsonl"
    summary = PoolRun(Pool(SYSTEMS, ["true", "random"], [WordFilter()], seed=1), contexts()).write(target)
    rows = lines(target)
    assert {row["system"] for row in rows} == {"true", "r", "c", "random"}
    for row in rows:
        truth = DIALOGUES[int(row["id"])].turns[1]
        assert row["references"] == [truth]
        assert row["context_id"] == row["id"]
        assert (row["response"] == truth) == (row["system"] == "true")
    for number in range(len(DIALOGUES)):
        said = [row["response"].casefold() for row in rows if row["id"] == str(number)]
        assert len(said) == len(set(said))
    assert summary.contexts == 4
    assert summary.count("replies", "true") == 4
    assert summary.trained_on == {"r": 4, "c": 4}
    assert "duplicate" in str(summary)
    assert len(list(read(target))) == len(rows)
    assert json.loads((tmp_path / "replies.pool.json").read_text())["signatures"]["r"] == SYSTEMS[0].signature


def test_equal_replies_become_one_row_that_names_all_systems() -> None:
    tally: Tally = Counter()
    twins = [PoolSystem("one", SYSTEMS[0].model), PoolSystem("two", SYSTEMS[0].model)]
    rows = Pool(twins).rows(contexts(), tally)
    assert [row.example.system for row in rows] == ["one"] * 4
    assert all(row.also == ("two",) for row in rows)
    assert tally["duplicate:two"] == 4
    assert len(Pool(twins, deduplicate=False).rows(contexts(), Counter())) == 8


def test_filters_leave_replies_out() -> None:
    tally: Tally = Counter()
    rows = Pool(SYSTEMS[:1], ["true"], [MetricFilter.parse("length > 5")]).rows(contexts(), tally)
    assert rows
    assert all(len(row.example.response.split()) <= 5 for row in rows)
    assert tally["offensive:true"] > 0
    assert MetricFilter.parse("length<3").signature.endswith("<3.0")
    for wrong in ("length", "length>", ">3"):
        with pytest.raises(CallError):
            MetricFilter.parse(wrong)


@pytest.mark.parametrize("text", ["What the FUCK?", "you b1tch", "f**k off", "shiiiit", "motherfuckers!", "Fúck"])
def test_offensive(text: str) -> None:
    assert is_offensive(text)


@pytest.mark.parametrize(
    "text", ["", "I live in Scunthorpe.", "A cockerel crows.", "My therapist is nice.", "2 * 3 = 6", "We assess it."]
)
def test_not_offensive(text: str) -> None:
    assert not is_offensive(text)


@dataclass
class _Breaks:
    """Contexts whose second iteration is interrupted."""

    items: list[Example]
    at: int
    readings: int = 0

    def __iter__(self) -> Any:
        self.readings += 1
        for place, item in enumerate(self.items):
            if self.readings == 2 and place == self.at:
                raise KeyboardInterrupt
            yield item


def test_a_resumed_run_writes_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rejoinder.replies.pool._BATCH", 1)
    pool = Pool(SYSTEMS, ["true", "random"], [WordFilter()], seed=2)
    whole, broken = tmp_path / "whole.jsonl", tmp_path / "broken.jsonl"
    expected = PoolRun(pool, contexts()).write(whole)
    with pytest.raises(KeyboardInterrupt):
        PoolRun(pool, _Breaks(contexts(), 2)).write(broken)
    assert not broken.exists()
    with Path(f"{broken}.part").open("a") as file:
        file.write('{"id": "half a ro')
    with pytest.raises(CallError, match="belongs to another run"):
        PoolRun(Pool(SYSTEMS, seed=3), contexts()).write(broken, resume=True)
    assert PoolRun(pool, contexts()).write(broken, resume=True) == expected
    assert broken.read_bytes() == whole.read_bytes()
    assert not list(tmp_path.glob("*.part*"))


def test_systems_and_decodings_are_parsed(tmp_path: Path) -> None:
    SYSTEMS[0].model.save(tmp_path / "model")
    folder = tmp_path / "model"
    assert [system.name for system in pool_systems([f"a={folder},b={folder}", str(folder)])] == ["a", "b", "r-tfidf"]
    for wrong in (f"a={folder},a={folder}", f"true={folder}", f"a={folder}@nucleus(p=0.5, k=3)", "nowhere"):
        with pytest.raises(CallError):
            pool_systems([wrong])
    assert Decoding.parse("nucleus(p=0.5, max_tokens=7)") == Decoding(method="nucleus", p=0.5, max_tokens=7)
    assert Decoding.parse("beam(block_ngrams=3)").signature == "beam|block_ngrams:3"
    for spec in ("sing", "greedy(max_tokens=0)", "nucleus(p=2)", "top-k(k=1.5)"):
        with pytest.raises(CallError):
            Decoding.parse(spec)
    with pytest.raises(UnknownNameError, match="did you mean beam"):
        Decoding.parse("beam(beem=3)")
    assert also_of("true, random") == ["true", "random"]
    with pytest.raises(CallError, match="takes true and random"):
        also_of("human")

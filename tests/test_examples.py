"""The demo data is complete, well formed, and each of its systems fails in the way its README says."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from importlib.resources import files
from itertools import pairwise
from statistics import mean
from typing import Any

import pytest

from rejoinder.types import Example

SYSTEMS = ("good", "generic", "off-topic", "garbled")
FIELDS = {"id", "context_id", "context", "response", "references", "system", "scores"}
WEAK = {10, 25, 33, 41, 45, 54}  # contexts whose good reply is weak on purpose
SPACELESS_SCRIPT = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")  # kana and Chinese characters

Row = dict[str, Any]


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    text = (files("rejoinder") / "examples" / "demo.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def by_context(rows: list[Row]) -> dict[str, list[Row]]:
    grouped: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        grouped[row["context_id"]].append(row)
    return grouped


@pytest.fixture(scope="module")
def by_system(rows: list[Row]) -> dict[str, list[Row]]:
    return {system: [row for row in rows if row["system"] == system] for system in SYSTEMS}


def words(text: str) -> list[str]:
    return re.findall(r"[\w']+", text.lower())


def repeated_share(row: Row) -> float:
    """The share of the reply's words that already stood in it."""
    found = words(row["response"])
    return 1 - len(set(found)) / len(found)


def shared_with_references(row: Row) -> int:
    """How many different words of the reply stand in one of its references."""
    return len(set(words(row["response"])) & {word for text in row["references"] for word in words(text)})


def stutters(row: Row) -> bool:
    return any(word == following for word, following in pairwise(words(row["response"])))


def test_there_are_64_contexts_and_256_examples_with_ids_of_their_own(
    rows: list[Row], by_context: dict[str, list[Row]]
) -> None:
    assert len(rows) == len({row["id"] for row in rows}) == 256
    assert list(by_context) == [f"demo-{number:02}" for number in range(1, 65)]
    assert all(row["id"] == f"{row['context_id']}-{row['system']}" for row in rows)


def test_every_row_makes_an_example(rows: list[Row]) -> None:
    for row in rows:
        assert row.keys() - {"speakers"} == FIELDS, row["id"]
        row = {name: value for name, value in row.items() if name != "scores"}
        lists = {name: tuple(value) for name, value in row.items() if isinstance(value, list)}
        assert Example(**{**row, **lists}).system in SYSTEMS
        texts = [row["response"], *row["context"], *row["references"]]
        assert all(text and text == text.strip() for text in texts), row["id"]


def test_every_context_is_answered_by_all_systems_in_order(by_context: dict[str, list[Row]]) -> None:
    for answers in by_context.values():
        assert tuple(row["system"] for row in answers) == SYSTEMS
        for shared in ("context", "references", "speakers"):
            assert all(row.get(shared) == answers[0].get(shared) for row in answers), answers[0]["id"]


def test_no_reply_comes_twice_in_a_context_or_equals_a_reference(by_context: dict[str, list[Row]]) -> None:
    for answers in by_context.values():
        texts = [row["response"] for row in answers] + answers[0]["references"]
        assert len({text.casefold() for text in texts}) == len(texts), answers[0]["id"]


def test_sizes_are_as_documented(by_context: dict[str, list[Row]]) -> None:
    firsts = [answers[0] for answers in by_context.values()]
    assert {len(row["context"]) for row in firsts} == {1, 2, 3, 4, 5}
    assert {len(row["references"]) for row in firsts} == {1, 2, 3, 4}
    assert round(mean(len(row["references"]) for row in firsts), 1) == 2.2
    with_speakers = [row for row in firsts if "speakers" in row]
    assert len(with_speakers) == 12
    assert all(len(row["speakers"]) == len(row["context"]) for row in with_speakers)


def test_replies_have_2_to_25_words(rows: list[Row]) -> None:
    spaced = [row for row in rows if not SPACELESS_SCRIPT.search(row["response"])]
    assert len(spaced) == 62 * len(SYSTEMS)  # all but the Chinese and the Japanese context
    assert all(2 <= len(row["response"].split()) <= 25 for row in spaced)


def test_the_generic_system_repeats_itself_and_the_others_do_not(by_system: dict[str, list[Row]]) -> None:
    distinct = {system: len({row["response"] for row in found}) for system, found in by_system.items()}
    assert distinct == {"good": 64, "generic": 18, "off-topic": 64, "garbled": 64}


def test_garbled_replies_are_visibly_broken(by_system: dict[str, list[Row]]) -> None:
    assert mean(map(repeated_share, by_system["garbled"])) > 4 * mean(map(repeated_share, by_system["good"]))
    assert sum(map(stutters, by_system["garbled"])) >= 10
    assert not any(stutters(row) for system in ("good", "generic") for row in by_system[system])
    cut_off = [row for row in by_system["garbled"] if row["response"][-1].isalpha()]
    assert len(cut_off) >= 10
    assert all(row["response"][-1] in ".!?。？！" for row in by_system["good"] + by_system["off-topic"])


def test_shared_words_do_not_tell_good_from_garbled(by_system: dict[str, list[Row]]) -> None:
    shared = {system: mean(map(shared_with_references, found)) for system, found in by_system.items()}
    assert shared["garbled"] > 0.9 * shared["good"]
    assert shared["off-topic"] < 0.8 * shared["good"]
    unlike_any_reference = [row for row in by_system["good"] if shared_with_references(row) == 0]
    assert len(unlike_any_reference) >= 5


def test_ratings_follow_from_the_role_and_say_that_they_are_illustrative(rows: list[Row]) -> None:
    levels = {"good": 5, "generic": 3, "garbled": 2, "off-topic": 1}
    for row in rows:
        weak = row["system"] == "good" and int(row["context_id"][5:]) in WEAK
        assert row["scores"] == {"illustrative": 3 if weak else levels[row["system"]]}

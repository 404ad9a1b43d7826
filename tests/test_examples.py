"""The bundled examples are complete and well formed, and their systems fail in the ways that the README says."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
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


# ----------------------------------------------------------------------------------------------------------------------
# The two versions of the assistant.


@pytest.fixture(scope="module")
def versions() -> dict[str, list[Row]]:
    folder = files("rejoinder") / "examples"
    return {
        name: [
            json.loads(line) for line in (folder / f"assistant-{name}.jsonl").read_text(encoding="utf-8").splitlines()
        ]
        for name in ("old", "new")
    }


def test_both_versions_answer_the_same_180_contexts_of_60_dialogues(versions: dict[str, list[Row]]) -> None:
    shared = ("id", "dialogue_id", "context_id", "context")
    old, new = ([[row[name] for name in shared] for row in found] for found in versions.values())
    assert old == new
    assert len({row["context_id"] for row in versions["old"]}) == 180
    assert len({row["dialogue_id"] for row in versions["old"]}) == 60
    for name, found in versions.items():
        assert {row["system"] for row in found} == {name}
        for row in found:
            assert row.keys() - {"fault"} == {*shared, "response", "system", "written_to_be"}
            assert len(row["context"]) % 2 == 1  # the user has the last word
            texts = [row["response"], *row["context"]]
            assert all(text and text == text.strip() for text in texts), row["id"]


def test_turns_of_a_dialogue_continue_each_other(versions: dict[str, list[Row]]) -> None:
    for first, second in pairwise(versions["new"]):
        if first["dialogue_id"] == second["dialogue_id"]:
            assert second["context"][: len(first["context"])] == first["context"]
            assert len(second["context"]) == len(first["context"]) + 2


def test_replies_of_the_assistant_are_short_and_plain(versions: dict[str, list[Row]]) -> None:
    for row in versions["old"] + versions["new"]:
        assert 2 <= len(row["response"].split()) <= 26, row["id"]
        assert not re.search(r"[*#`\n|]|^- ", row["response"]), row["id"]


def test_which_replies_were_written_to_be_better(versions: dict[str, list[Row]]) -> None:
    opposite = {"better": "worse", "worse": "better", "equal": "equal"}
    assert [opposite[row["written_to_be"]] for row in versions["old"]] == [
        row["written_to_be"] for row in versions["new"]
    ]
    assert Counter(row["written_to_be"] for row in versions["new"]) == {"better": 111, "equal": 42, "worse": 27}


def test_the_faults_are_there(versions: dict[str, list[Row]]) -> None:
    faults = {name: Counter(row.get("fault") for row in found) for name, found in versions.items()}
    assert faults["old"] == {
        None: 72, "says nothing": 48, "canned": 30, "repeats itself": 18, "does not answer": 12
    }  # fmt: skip
    assert faults["new"] == {None: 154, "says nothing": 26}
    canned = [row["response"] for row in versions["old"] if row.get("fault") == "canned"]
    assert Counter(canned).most_common(1)[0][1] >= 15  # the same reply to different contexts
    assert len(set(canned)) <= 3
    for row in versions["old"]:
        if row.get("fault") == "repeats itself":
            earlier = " ".join(row["context"][1::2])
            assert re.split(r"[.?!]", row["response"])[0] in earlier, row["id"]
    assert len({row["response"] for row in versions["new"]}) == 180

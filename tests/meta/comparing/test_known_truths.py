"""The pairs of benchmarks/known_truths.py are well formed and unchanged, and two small ones get their verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmark_scripts import benchmark_script

CHAT = {"id", "context", "good", "also_good", "contradicts", "truism", "rude", "german", "user_next"}
ASSISTANT = {"id", "topic", "context", "good", "also_good", "wrong_facts", "title", "steps", "note"}


@pytest.fixture(scope="module")
def ladder() -> Any:
    return benchmark_script("known_truths")


def rows(ladder: Any, talk: str) -> list[dict[str, Any]]:
    path: Path = ladder.FOLDER / f"{talk}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_twenty_pairs_differ_and_twenty_do_not(ladder: Any) -> None:
    found = ladder.pairs()
    numbers = range(1, 21)
    assert [pair.id for pair in found] == [f"d{n:02}" for n in numbers] + [f"n{n:02}" for n in numbers]
    assert [pair.better in ("A", "B") for pair in found] == [True] * 20 + [False] * 20
    assert {pair.better for pair in found} == {"A", "B", None}  # the better one is not always the second
    assert {pair.talk for pair in found} == {"chat", "assistant"}


@pytest.mark.parametrize(("talk", "fields"), [("chat", CHAT), ("assistant", ASSISTANT)])
def test_every_context_has_every_reply_that_is_written_by_hand(ladder: Any, talk: str, fields: set[str]) -> None:
    found = rows(ladder, talk)
    assert [row["id"] for row in found] == [f"{talk}-{number:02}" for number in range(1, 41)]
    for row in found:
        assert row.keys() == fields, row["id"]
        texts = [text for value in row.values() for text in (value if isinstance(value, list) else [value])]
        assert all(text and text == text.strip() for text in texts), row["id"]
        assert len(row["context"]) % 2 == 1, row["id"]  # the user has the last word


def test_both_systems_answer_the_same_contexts_or_none(ladder: Any) -> None:
    for pair in ladder.pairs():
        a, b = ({row.context_id: row.context for row in found} for found in pair.examples().values())
        assert (len(a), len(b)) == ((40, 40) if pair.paired else (20, 20)), pair.id
        assert a == b if pair.paired else not a.keys() & b.keys(), pair.id
        for name, found in pair.examples().items():
            assert {row.system for row in found} == {name}
            assert all(row.response.strip() for row in found), pair.id


def test_replies_are_those_that_were_committed_before_scoring(ladder: Any) -> None:
    for pair in ladder.pairs():
        assert pair.actual_digest() == pair.digest, f"{pair.id}: a frozen text, rule or pair was changed"


def test_no_context_gets_its_own_reply_off_topic(ladder: Any) -> None:
    (pair,) = (pair for pair in ladder.pairs() if pair.id == "d02")
    good, off_topic = pair.examples().values()
    assert {row.response for row in good} == {row.response for row in off_topic}
    assert not any(a.response == b.response for a, b in zip(good, off_topic, strict=True))


def test_verdicts_of_two_small_pairs(ladder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {pair.id: pair for pair in ladder.pairs()}
    few = rows(ladder, "chat")[:10]
    monkeypatch.setattr(ladder, "_lines", lambda name: few)
    told = [ladder.told(found[name], ladder.judged(found[name], "default", resamples=50)) for name in ("d02", "n01")]
    assert [row["verdict"] for row in told] == ["A is better", "no difference"]
    assert ladder.summary(told)["all"] == {
        "pairs": 2, "right": 2, "abstained": 0, "wrong": 0, "missed": 0, "sure and wrong": 0
    }  # fmt: skip


def test_rounding_reaches_the_scores(ladder: Any) -> None:
    (pair,) = (pair for pair in ladder.pairs() if pair.id == "n02")
    compared = ladder.judged(pair, "length", resamples=50)
    first, second = (compared.table["length"][compared.table.rows_of(name)] for name in compared.table.system_names)
    assert 0 < abs(first - second).max() <= 4e-7
    (verdict,) = compared.decisive_verdicts
    assert verdict.outcome == "identical"
    assert verdict.outcomes.ties == 1


@pytest.mark.parametrize(
    ("truth", "decided", "better", "outcome"),
    [
        ("A", True, "A", "right"),
        (None, True, None, "right"),
        ("A", True, None, "missed"),
        ("A", True, "B", "sure and wrong"),
        (None, True, "B", "sure and wrong"),
        ("A", False, None, "abstained"),
        (None, False, None, "abstained"),
    ],
)
def test_what_a_verdict_is_worth(
    ladder: Any, truth: str | None, decided: bool, better: str | None, outcome: str
) -> None:
    class Found:
        pass

    found: Any = Found()
    found.decided, found.better = decided, better
    pair = ladder.Pair("x", truth, "", "chat", {}, "")
    assert ladder.outcome(pair, found) == outcome
    counted = ladder.counts([outcome])
    assert (
        counted["wrong"] == counted["missed"] + counted["sure and wrong"] == (outcome in ("missed", "sure and wrong"))
    )

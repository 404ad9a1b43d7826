"""What is read of conversations: the last reply or each turn, systems named by file, fields inside others."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import foreign_records as foreign
import rejoinder
from rejoinder.data.judged import read_judged
from rejoinder.data.records import values_in
from rejoinder.data.source import Source, survey
from rejoinder.data.spans import SpanFinder, SpanReader
from rejoinder.errors import CallError, DataError, UnknownNameError

Run = Callable[..., Any]
CHAT = [foreign.said(who, text) for who, text in (("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d"))]


def chats(count: int = 6, **fields: Any) -> list[dict[str, Any]]:
    """Conversations of two replies, with nested fields."""
    return [
        {
            "id": f"c{number}",
            "messages": CHAT,
            "metadata": {
                "channel": ("web", "mail")[number % 2],
                "client": {"version": number % 3},
                "run": f"r{number}",
            },
            "escalated": number % 2 == 0,
            **fields,
        }
        for number in range(count)
    ]


def lines(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


# --- units


def test_turns_keep_the_fields_of_their_chat() -> None:
    table = rejoinder.score(chats(), "length", by=["metadata.channel", "escalated", "turns"], unit="turn")
    channel, escalated, turns = table.slices
    assert (channel.values, channel.codes.tolist()[:4]) == (("mail", "web"), [1, 1, 0, 0])
    assert escalated.values == ("false", "true")
    assert (turns.values, turns.codes.tolist()[:4]) == (("1", "3"), [0, 1, 0, 1])


def test_what_is_not_scored_is_said() -> None:
    with pytest.warns(UserWarning, match="6 of 12 replies are not scored: of each conversation only the last one is"):
        rejoinder.score(chats(), "length")
    rejoinder.score(chats(), "length", unit="turn")  # a warning would be an error


def test_earlier_turns_of_other_records_are_context_alone() -> None:
    records = [{"messages": CHAT[:3], "response": "a reply to it"}, {"context": ["a", "b", "c"], "response": "d"}]
    for record in records:
        assert survey(Source([record])).earlier == 0
        assert len(list(Source([record], unit="turn"))) == 1


def test_human_scores_of_turns_are_those_of_their_messages() -> None:
    rated = [*CHAT[:1], CHAT[1] | {"scores": {"overall": [1, 2]}, "raters": ["ann", "bob"]}, *CHAT[2:]]
    judged = read_judged([{"id": "x", "messages": rated, "scores": {"overall": 5}}], unit="turn")
    assert [one.id for one in judged.examples] == ["x-1", "x-2"]
    assert judged.human("overall").tolist() == [1.5, 5]
    assert judged.clusters.tolist() == [0, 0]
    alone = read_judged([{"id": "x", "messages": rated}], unit="turn")
    assert ([one.id for one in alone.examples], alone.unrated) == (["x-1"], 1)


def test_ratings_of_no_turn_are_an_error() -> None:
    with pytest.raises(DataError, match=r"has no judged examples: .* each message has its own `scores`"):
        read_judged(chats(), unit="turn")


def test_trust_by_turn_resamples_dialogues() -> None:
    rated = []
    for number in range(20):
        messages = []
        for turn in range(3):
            said = "word " * ((number + turn) % 5 + 1)
            score = {"scores": (number + turn) % 5 + 1 + number % 2} if turn else {}
            messages += [foreign.said("user", f"{number} {turn}"), foreign.said("assistant", said) | score]
        rated.append({"id": str(number), "messages": messages})
    found = rejoinder.trust(rated, metrics="length", unit="turn", resamples=50)
    assert len(found.judged) == 40
    assert "20 of 60 assistant turns are left out: nobody rated them" in found.notes
    assert any(note.startswith("the 40 rated turns belong to 20 dialogues") for note in found.notes)
    assert found.judged.clusters.max() == 19


def test_parts_of_a_file_have_the_same_turns(tmp_path: Path) -> None:
    unnamed = [{"messages": CHAT, "n": number} for number in range(9)]
    source = Source(lines(tmp_path / "a.jsonl", unnamed), unit="turn")
    finder = SpanFinder(source, unit=4)
    assert survey(source, visitor=finder).count == 18
    spans = finder.found(4)
    assert [one for span in spans for one in SpanReader.of(source).read(span)] == list(source)


# --- systems


def test_systems_are_named_by_file_where_replies_name_none(tmp_path: Path) -> None:
    old, new = lines(tmp_path / "old.jsonl", chats()), lines(tmp_path / "new.jsonl", chats(system="newest"))
    table = rejoinder.score([old, new], "length", unit="turn")
    assert table.system_names == ("old", "newest")
    assert rejoinder.check([old, new]).systems == {"old": 6, "newest": 6}
    assert rejoinder.score(old, "length", unit="turn").system_names == ("",)


def test_a_folder_is_one_system_beside_another(tmp_path: Path) -> None:
    for folder in ("old", "new"):
        (tmp_path / folder).mkdir()
        for part in range(2):
            records = [one | {"id": f"{part}-{one['id']}"} for one in chats()]
            lines(tmp_path / folder / f"part-{part}.jsonl", records)
    both = [tmp_path / "old", tmp_path / "new"]
    assert rejoinder.check(both).systems == {"old": 12, "new": 12}
    assert rejoinder.check(tmp_path / "old").systems == {"": 12}


def test_score_names_systems_by_file(run: Run, tmp_path: Path) -> None:
    for name in ("old", "new"):
        lines(tmp_path / f"{name}.jsonl", chats())
    ran = run("score", "old.jsonl", "new.jsonl", "-m", "length", "--every-turn", "--json")
    assert ran.code == 0, ran.err
    assert list(ran.json["summary"]["length"]) == ["old", "new"]
    assert ran.json["summary"]["length"]["old"]["n"] == 12


# --- fields to slice by


@pytest.mark.parametrize("name", ["metadata.chanel", "channel", "metadata.client"])
def test_a_field_that_no_reply_has_is_refused_before_scoring(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def scored(*_: Any) -> None:
        raise AssertionError("scoring began")

    monkeypatch.setattr("rejoinder.metrics.overlap.Length.score_batch", scored)
    for call in (rejoinder.score, rejoinder.compare):
        kind = (
            DataError if name == "metadata.client" else UnknownNameError
        )  # which is an object, with a path to each part
        with pytest.raises(kind, match="metadata"):
            call([one | {"system": "ab"[row % 2]} for row, one in enumerate(chats())], metrics="length", by=name)


def test_a_field_that_one_of_the_files_has_is_enough() -> None:
    plain = [{"id": one["id"], "messages": CHAT} for one in chats()]
    found = rejoinder.compare(chats(), plain, metrics="length", by="metadata.channel", unit="turn")
    assert set(found.slices["metadata.channel"]) == {"mail", "web", "(none)"}
    with pytest.raises(CallError, match=r"unknown field to slice by: 'metadata.chanel'; did you mean metadata.channel"):
        rejoinder.compare(chats(), plain, metrics="length", by="metadata.chanel")


def test_a_wrong_field_ends_with_exit_code_2(run: Run, tmp_path: Path) -> None:
    lines(tmp_path / "old.jsonl", chats())
    ran = run("score", "old.jsonl", "-m", "length", "--by", "metadata.chanel", "-o", "scores.jsonl")
    assert ran.code == 2
    assert "did you mean metadata.channel" in ran.err
    assert not (tmp_path / "scores.jsonl").exists()


def test_objects_in_the_cells_of_a_table(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["response", "metadata"])
        writer.writerows([["x", json.dumps({"channel": name})] for name in ("web", "mail", "web", "mail")])
    assert rejoinder.check(path).slices == {"metadata.channel": ("web", "mail")}
    assert rejoinder.score(path, "length", by="metadata.channel").slices[0].values == ("mail", "web")


def test_values_are_found_at_their_paths() -> None:
    record = {"a": 1, "b": {"c": "x", "d": {"e": None}}, "f": [1, 2]}
    assert dict(values_in(record)) == {"a": 1, "b.c": "x", "b.d.e": None}


# --- check


def test_check_says_which_turns_are_scored_and_what_can_be_sliced_by() -> None:
    found = rejoinder.check(chats())
    assert found.slices == {
        "metadata.channel": ("web", "mail"),
        "metadata.client.version": ("0", "1", "2"),
        "escalated": ("true", "false"),
    }, "the field run has another value in each chat"
    rows = dict(line.split(None, 1) for line in str(found).splitlines()[2:11])
    assert rows["scored"] == (
        "the last assistant turn of each chat: 6 of 12 (--unit turn, or unit='turn' in Python, scores every one)"
    )
    assert rows["slices"].endswith("escalated (true, false), length, turns")
    each = rejoinder.check(chats(), unit="turn")
    assert (each.examples, each.chats, each.turns) == (12, 6, 12)
    assert "each of the 12 assistant turns of 6 chats" in str(each)
    assert rejoinder.check([{"response": "x"}]).chats == 0


@pytest.mark.parametrize("name", ["metadata.channel", "metadata.client.version", "escalated"])
def test_every_field_that_check_lists_can_be_sliced_by(name: str) -> None:
    found = rejoinder.check(chats())
    table = rejoinder.score(chats(), "length", by=name, unit="turn")
    assert set(table.slices[0].values) == set(found.slices[name])

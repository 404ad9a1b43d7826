"""Two logs of the same conversations, whose histories differ: paired by dialogue, turn k with turn k."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rejoinder
from rejoinder.data.contexts import GroupFinder, Grouping
from rejoinder.errors import CallError
from rejoinder.types import Example

Chat = dict[str, Any]
PROBLEMS = ("parcel", "invoice", "password", "subscription", "refund", "router", "booking", "card")
REPLIES = {
    "old": ("Please contact our support team about it.", "They can help you. Have a nice day!"),
    "new": ("Did the {} arrive late, or is it broken?", "Open the page of your {}, choose number {} and confirm it."),
}


def chat(system: str, number: int, *, first: str = "I have a problem with my {}.", turns: int = 2) -> Chat:
    """A support conversation: the user says the same in both logs, and the two versions reply differently."""
    thing = f"{PROBLEMS[number % len(PROBLEMS)]} {number}"
    messages = []
    for turn in range(turns):
        asked = first.format(thing) if not turn else f"And what should I do now ({turn})?"
        reply = REPLIES[system][min(turn, 1)].format(thing, number)
        messages += [{"role": "user", "content": asked}, {"role": "assistant", "content": reply}]
    return {"id": f"c{number}", "messages": messages}


def logs(count: int = 40, **options: Any) -> list[list[Chat]]:
    return [[chat(system, number, **options) for number in range(count)] for system in REPLIES]


def test_last_replies_are_paired_by_dialogue() -> None:
    found = rejoinder.compare(*logs(), metrics="specificity")
    (verdict,) = found.verdicts
    assert (verdict.result.paired, verdict.n, verdict.result.n_groups) == (True, 40, 40)
    assert verdict.counted_units == "40 dialogues"
    assert [*found.sentences[1:3]] == [
        "80 of 160 replies are not scored: of each conversation only the last one is (`--unit turn` scores every one).",
        "A and B are paired by dialogue: 40 dialogues, 40 of them after different histories.",
    ]


def test_each_turn_is_paired_with_the_same_turn_and_the_dialogue_is_the_cluster() -> None:
    found = rejoinder.compare(*logs(), metrics="specificity", unit="turn")
    (verdict,) = found.verdicts
    assert (verdict.result.paired, verdict.n, verdict.result.n_groups) == (True, 80, 40)
    assert verdict.counted_units == "80 turns of 40 dialogues"
    assert found.sentences[1] == (
        "A and B are paired by dialogue, turn k with turn k: 80 turns of 40 dialogues, "
        "40 of them after different histories."
    )
    assert found.table.grouping is not None
    assert found.table.grouping.differ.sum() == 40, "the first turns follow the same history"


def test_the_same_logs_as_single_turns(tmp_path: Path) -> None:
    files = []
    for system, log in zip(REPLIES, logs(), strict=True):
        rejoinder.convert(log, files_of_turns := tmp_path / f"{system}.jsonl", unit="turn")
        files.append(files_of_turns)
    found, whole = (
        rejoinder.compare(*files, metrics="length"),
        rejoinder.compare(*logs(), metrics="length", unit="turn"),
    )
    assert found.verdicts[0].result == whole.verdicts[0].result
    assert found.verdicts[0].counted_units == "80 turns of 40 dialogues"


def test_ids_that_mean_other_dialogues_do_not_pair() -> None:
    old, new = logs()
    for number, one in enumerate(new):
        one["id"] = f"c{(number + 1) % 40}"
    found = rejoinder.compare(old, new, metrics="length")
    assert not found.verdicts[0].result.paired
    assert found.sentences[2] == (
        "A and B are compared unpaired, on all their replies: they answered different contexts, and their ids do not "
        "mean the same dialogues: the user says the same first under 0 of the 40 ids that both have."
    )


@pytest.mark.parametrize(("others", "paired"), [(4, True), (5, False)])
def test_nine_of_ten_first_turns_must_be_equal(others: int, paired: bool) -> None:
    old, new = logs()
    for number in range(others):
        new[number] = chat("new", number, first="Something else about {}.")
    assert rejoinder.compare(old, new, metrics="length").verdicts[0].result.paired is paired


def test_white_space_and_greetings_of_the_system_do_not_matter() -> None:
    old, new = logs()
    for one in new:
        one["messages"][0]["content"] += " \n"
        one["messages"].insert(0, {"role": "assistant", "content": "Hello, how can I help you?"})
    found = rejoinder.compare(old, new, metrics="length")
    assert (found.verdicts[0].result.paired, found.verdicts[0].n) == (True, 40)


def test_what_only_one_log_has_is_counted_first() -> None:
    old, new = logs()
    found = rejoinder.compare(old, [*new[:30], *(chat("new", 50 + n) for n in range(5))], metrics="length", unit="turn")
    assert found.verdicts[0].n == 60
    assert found.sentences[2] == (
        "30 of 150 replies are not compared: A and B are compared on the 60 turns that both answered."
    )


def test_longer_conversations_of_one_system() -> None:
    old, new = logs(10)
    new = [chat("new", number, turns=4) for number in range(10)]
    found = rejoinder.compare(old, new, metrics="length", unit="turn")
    assert (found.verdicts[0].n, found.verdicts[0].result.n_groups) == (20, 10)
    assert "20 of 60 replies are not compared" in found.sentences[2]


def test_no_common_id() -> None:
    old, new = logs()
    found = rejoinder.compare(old, [one | {"id": f"other {one['id']}"} for one in new], metrics="length")
    assert found.coverage[1].endswith("different contexts, and no id of a dialogue can be found in both")


def test_equal_contexts_are_paired_as_before() -> None:
    old, new = logs(turns=1)
    found = rejoinder.compare(old, new, metrics="length", unit="turn")
    assert (found.verdicts[0].paired_by, found.coverage) == ("context", ())


def test_a_field_that_was_named_decides() -> None:
    old, new = logs()
    found = rejoinder.compare(old, new, metrics="length", pair_by="id")
    assert (found.verdicts[0].paired_by, found.verdicts[0].n) == ("context", 40)
    by_context = rejoinder.compare(old, new, metrics="length", pair_by="context")
    assert not by_context.verdicts[0].result.paired


def test_three_systems_agree_or_none_is_paired_by_dialogue() -> None:
    old, new = logs(12)
    third = [chat("new", number, turns=3) for number in range(12)]
    found = rejoinder.compare(old, new, third, metrics="length")
    assert all(verdict.result.paired and verdict.n == 12 for verdict in found.verdicts)
    assert found.coverage[1].startswith("3 of 3 pairs of systems are compared unpaired, by dialogue, or without some")
    assert sum("are paired by dialogue" in note for note in found.notes) == 3
    strangers = [one | {"id": f"x{one['id']}"} for one in third]
    apart = rejoinder.compare(old, new, strangers, metrics="length")
    assert not any(verdict.result.paired for verdict in apart.verdicts)


def test_scores_have_no_unit() -> None:
    with pytest.raises(CallError, match="a unit is for replies"):
        rejoinder.compare(scores=[{"id": "1", "system": "a", "x": 1.0}], unit="turn")


def grouped(*examples: Example) -> Grouping:
    finder = GroupFinder(by_dialogue=True)
    finder.add(examples)
    return finder.found()


def random_logs(draw: np.random.Generator) -> list[Example]:
    """Turns of some dialogues, not all of which both systems have, in any order."""
    found = []
    for system in "AB":
        for dialogue in range(8):
            said: list[str] = [f"opening {dialogue}"]
            for turn in range(int(draw.integers(1, 4))):
                if draw.random() < 0.9:
                    speakers = tuple("user" if place % 2 == 0 else "assistant" for place in range(len(said)))
                    found.append(
                        Example(f"{dialogue}-{turn}", tuple(said), "x", (), system, speakers, "", f"d{dialogue}")
                    )
                said += [f"{system} said {turn}", f"and then {turn}"]
    return [found[row] for row in draw.permutation(len(found))]


@pytest.mark.parametrize("seed", range(20))
def test_pairs_are_those_of_a_plain_rule(seed: int) -> None:
    examples = random_logs(np.random.default_rng(seed))
    groups = grouped(*examples)
    assert groups.paired_by == "turn"
    keys = [(one.dialogue_id, one.id) for one in examples]
    codes: dict[Any, int] = {}
    assert groups.contexts.tolist() == [codes.setdefault(key, len(codes)) for key in keys]
    codes.clear()
    assert groups.clusters.tolist() == [codes.setdefault(dialogue, len(codes)) for dialogue, _ in keys]
    for code, differs in enumerate(groups.differ.tolist()):
        rows = np.flatnonzero(groups.contexts == code)
        assert differs == (len({examples[row].context for row in rows}) > 1)


def test_a_part_of_the_groups_keeps_its_histories() -> None:
    examples = random_logs(np.random.default_rng(1))
    groups = grouped(*examples)
    rows = np.arange(0, len(examples), 2)
    part = groups.where(rows)
    for code in range(part.n_contexts):
        some = rows[part.contexts == code]
        assert part.differ[code] == (len({examples[row].context for row in some}) > 1)


def test_reports_show_both_histories_where_they_differ(run: Callable[..., Any], tmp_path: Path) -> None:
    for system, log in zip(REPLIES, logs(12), strict=True):
        (tmp_path / f"{system}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in log))
    ran = run("compare", "old.jsonl", "new.jsonl", "-m", "specificity", "--unit", "turn", "--report", "r.html")
    assert ran.code == 0, ran.err
    page = (tmp_path / "r.html").read_text()
    _, after = page.split("<h3>The same context, different replies", 1)
    same, rest = after.split("<h3>The same turn, after different histories", 1)
    other, _ = rest.split("<h3>", 1)
    asked = [text.format(f"{name} {n}") for n, name in enumerate(PROBLEMS) for text in ["I have a problem with my {}."]]
    assert sum(same.count(text) for text in asked) <= 4, "one history for each card"
    assert "And what should I do now" not in same
    cards = other.split('<article class="card">')[1:]
    assert cards
    for card in cards:
        assert card.count("And what should I do now") == 2, "each reply with what was said before it"
        assert card.count("Please contact our support team about it.") == 1

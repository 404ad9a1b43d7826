"""What is said about the numbers: reference points of the version that gave the scores, and cautions."""

from __future__ import annotations

from dataclasses import replace

import pytest

import rejoinder
from rejoinder.scoring.advice import MeasuredTrust, meaning
from rejoinder.scoring.table import ScoreTable
from rejoinder.types import Example

EXAMPLES = [
    Example("1", ("Do you like tea?",), "Yes, green tea above all.", ("I do.",)),
    Example("2", ("How are you?",), "Fine, thanks. And you?", ("Very well.",)),
]


@pytest.fixture(scope="module")
def table() -> ScoreTable:
    return rejoinder.score(EXAMPLES, ["default", "length"])


def test_the_mean_of_default_stands_beside_the_shipped_points(table: ScoreTable) -> None:
    points = rejoinder.reference_points()
    assert len(points) == 4
    [sentence] = [each for each in meaning(table) if "scale" in each]
    assert sentence.startswith("default is on a scale from 1 to 5; for orientation, means on other conversations: ")
    for point in points:
        # A system that gives nothing but stock replies may have a higher mean than the generic ones.
        assert (f"{point.name} {point.mean:.2f}" in sentence) == (point.name != "generic replies")


def test_points_do_not_stand_beside_several_systems_nor_beside_scores_that_say_little() -> None:
    two = rejoinder.score([replace(each, system=name) for each in EXAMPLES for name in "ab"], ["default"])
    assert not [each for each in meaning(two) if "orientation" in each]
    lists = [replace(each, response=f"{each.response}\n- {each.response}\n- one more") for each in EXAMPLES]
    first, *others = meaning(rejoinder.score(lists, ["default"]))
    assert first.startswith("default cannot judge 2 of 2 replies (with lists, headings, tables or code): ")
    assert not [each for each in others if "orientation" in each]


def test_the_points_hold_for_the_signature_and_not_for_the_label(table: ScoreTable) -> None:
    signature = table.signatures["default"]
    renamed = ScoreTable(
        {"mine": table.scores["default"]},
        {"mine": signature.rpartition("|v:")[0] + "|v:9.9.9"},
        table.system_names,
        table.system_of,
        ranges={"mine": (1.0, 5.0)},
    )
    assert meaning(renamed)[0].startswith("mine is on a scale from 1 to 5; ")
    for other in (signature.replace("title:default@3", "title:default@4"), "", "length"):
        changed = replace(table, signatures={**table.signatures, "default": other})
        assert not [each for each in meaning(changed) if "orientation" in each]


def test_a_metric_that_hardly_agrees_with_people_is_named(table: ScoreTable, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = {"length": (0.1, 0.15, 0.5), "default": (0.1, 0.4, 0.5)}
    monkeypatch.setattr(
        "rejoinder.scoring.advice.measured_trust",
        lambda name: [
            MeasuredTrust(name, "rated", "overall", 100, (each, 0.0, 1.0)) for each in measured.get(name, ())
        ],
    )
    [caution] = [each for each in meaning(table) if each.startswith("Little agreement with people")]
    assert "below 0.2): length. " in caution


def test_a_handful_of_replies_is_too_few(table: ScoreTable) -> None:
    few = "2 replies are too few for a useful mean: the intervals show how little is known."
    assert few in meaning(table)
    enough = rejoinder.score([replace(EXAMPLES[0], id=str(n)) for n in range(10)], ["length"])
    assert not any("too few" in sentence for sentence in meaning(enough))
    one = rejoinder.score([replace(EXAMPLES[0], id=str(n), system="ab"[n // 10]) for n in range(11)], ["length"])
    assert meaning(one)[0].startswith("1 reply of a system is too few")

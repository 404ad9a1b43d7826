"""For which replies an evaluator can be relied on, and where bounds come from."""

from __future__ import annotations

import json
import shutil
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
from recipes.default_blend import SETS, sets

import rejoinder
from places import JUDGED
from rejoinder.data.judged import read_judged
from rejoinder.errors import DataError
from rejoinder.evaluators.base import Evaluator
from rejoinder.evaluators.bounds import Bounds
from rejoinder.folders.schema import CONFIG
from rejoinder.learning.data import TrainingData
from rejoinder.metrics.batch import Batch
from rejoinder.registry import load, shipped_folder
from rejoinder.scoring.reliability import Reliability, reply_reliability
from rejoinder.types import Dialogue, Example, JudgedExample

LANGUAGE, LENGTH, FORM = (
    "in another language than English",
    "longer than 45 words",
    "with lists, headings, tables or code",
)
WORDS = "with words of another domain"


def kinds_of(*replies: str, context: tuple[str, ...] = ("How do I get in?",)) -> list[list[str]]:
    evaluator: Evaluator = load("default")
    batch = Batch([Example(str(row), context, text) for row, text in enumerate(replies)])
    found = {**evaluator.inapplicable(batch), **evaluator.doubts(batch)}
    return [[kind for kind, flags in found.items() if flags[row]] for row in range(len(replies))]


@pytest.mark.parametrize(
    "reply",
    [
        "Do this:\n- open the door\n- go in",
        "Do this:\n\n  * open the door",
        "1. Open the door.\n2. Go in.",
        "1) Open the door.\n\n2) Go in.",
        "## Getting in\nOpen the door.",
        "# Getting in",
        "Type this:\n```\nopen door\n```",
        "~~~\nopen the door\n~~~",
        "Type `open door` first.",
        "| door | key |\n|---|---|\n| front | red |",
    ],
)
def test_lists_headings_tables_and_code(reply: str) -> None:
    [kinds] = kinds_of(reply)
    assert FORM in kinds
    assert LENGTH not in kinds


@pytest.mark.parametrize(
    "reply",
    [
        "",
        " \n",
        "Open the door and go in.",
        "Open the door.\nGo in.",
        "- Open the door.",  # one line is no list: some corpora begin each turn so
        "It opens at 1. Go in then.",
        "We are #1 in doors! #doors",
        "*opens the door* Come in!",
        "``Door'' is the word, and ``key'' is the other.",
        "It's 5 - 3 = 2, or a|b.",
    ],
)
def test_plain_replies_are_of_no_such_kind(reply: str) -> None:
    assert kinds_of(reply) == [[]]


def test_the_longest_reply_that_is_not_doubtful() -> None:
    words = "you can open the door and go in if it is not too late for that today".split()
    text = [words[row % len(words)] for row in range(46)]
    assert kinds_of(" ".join(text[:45]), " ".join(text), ", ".join(text[:45]) + " ...") == [[], [LENGTH], []]


@pytest.mark.parametrize(
    "reply",
    [
        '{"status": 200, "items": [1, 2]}',
        '[{"name": "Anna"}]',
        "<result><name>Anna</name></result>",
        "Traceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: 'a'",
        "2026-11-19 06:00:01 ERROR could not open the door",
    ],
)
def test_the_output_of_tools_is_no_reply(reply: str) -> None:
    assert kinds_of(reply) == [["tool output"]]


def test_words_of_another_domain() -> None:
    rare = "Blanch the shallots, deglaze with vermouth, and whisk the beurre blanc until emulsified."
    assert kinds_of(rare, "I would cook some pasta and have it with a nice salad.") == [[WORDS], []]


def test_one_reply_has_a_status_and_reasons() -> None:
    context = ("How do I get in?",)
    replies = ("Open the door and go in.", "Do this:\n- open the door\n- go in", "Il suffit d'ouvrir la porte.", "")
    batch = Batch([Example(str(row), context, text) for row, text in enumerate(replies)])
    assert reply_reliability(load("default-fast"), batch) == [
        Reliability("reliable"),
        Reliability("doubtful", (FORM,)),
        Reliability("not applicable", (LANGUAGE,)),
        Reliability("reliable"),
    ]
    [without] = reply_reliability(load("default-fast"), Batch([Example("1", (), "Open the door.")]))
    assert without == Reliability("not applicable", ("without context",))
    assert reply_reliability(rejoinder.load("length"), batch) == [Reliability("unmeasured")] * 4


def test_other_languages() -> None:
    replies = (
        "Öffnen Sie einfach die Tür und gehen Sie dann langsam hinein.",
        "Il suffit d'ouvrir la porte et d'entrer doucement, je vous attends.",
        "打开门，然后走进去就可以了。",
    )
    assert kinds_of(*replies) == [[LANGUAGE]] * 3


def test_lone_surrogates_are_read() -> None:
    assert kinds_of("Open the door \ud800", "Do this:\n- \ud800\n- go in") == [[], [FORM]]


def rated(replies: list[str]) -> TrainingData:
    return TrainingData(judged=tuple(JudgedExample(Example("", ("Hi.",), text), {"a": (1.0,)}) for text in replies))


def test_an_evaluator_that_is_trained_knows_the_limits_of_its_data() -> None:
    text = "you can open the door and go in if it is not too late for that today ".split()
    replies = [" ".join((text * 7)[:count]) for count in range(1, 101)]
    assert Bounds.of(rated(replies), None) == Bounds(99)
    assert Bounds.of(rated(replies[:50]), None) is None
    lists = [f"You can:\n- {reply}\n- or not" for reply in replies[:40]]
    assert Bounds.of(rated([*replies, *lists]), None) == Bounds(99, 43)
    french = ["Je ne sais pas du tout ce que vous voulez dire."] * 100
    assert Bounds.of(rated(french), None) == Bounds(11, language="French")
    spoken = TrainingData(dialogues=(Dialogue("1", tuple(replies)),))
    assert Bounds.of(spoken, None) == Bounds(99)


@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        ("default@1", Bounds(45, 0, 3.6)),
        ("default", Bounds(45, 0, 3.6)),
        ("default-fast", Bounds(60, 0, 4.6)),
        ("default@3", Bounds(45, 0, 3.6)),
    ],
)
def test_every_shipped_evaluator_has_bounds(name: str, bounds: Bounds) -> None:
    plain = json.loads((shipped_folder(name) / CONFIG).read_text(encoding="utf-8"))["bounds"]
    assert Bounds.from_plain(plain, CONFIG) == bounds


def test_bounds_of_earlier_versions_are_read() -> None:
    assert Bounds.from_plain({"most_words": 31, "language": "English"}, CONFIG) == Bounds(31)


def test_a_copy_keeps_its_bounds(tmp_path: Path) -> None:
    load("default-fast").save(tmp_path / "copy")
    example = Example("1", ("Hi.",), "So:\n- a\n- b")
    [flagged] = load(str(tmp_path / "copy")).doubts(Batch([example]))[FORM]
    assert flagged


@pytest.mark.parametrize(
    ("bounds", "problem"),
    [
        (3, "must be an object"),
        ({"language": "English"}, "bounds.most_words': is missing"),
        ({"most_words": "9", "language": "English"}, "bounds.most_words': must be a whole number"),
        ({"most_words": 0, "language": "English"}, "bounds.most_words': must be from 1"),
        ({"most_words": 9, "language": 7}, "bounds.language': must be"),
    ],
)
def test_bounds_that_make_no_sense_are_refused(tmp_path: Path, bounds: object, problem: str) -> None:
    folder = tmp_path / "changed"
    shutil.copytree(shipped_folder("default-fast"), folder)
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    (folder / CONFIG).write_text(json.dumps({**config, "bounds": bounds}), encoding="utf-8")
    with pytest.raises(DataError, match=problem):
        load(str(folder))


@pytest.mark.shared_data
@pytest.mark.skipif(not JUDGED.exists(), reason="needs ../shared/data")
@pytest.mark.parametrize("name", ["default", "default-fast"])
def test_hardly_any_reply_that_people_rated_is_doubtful(name: str, tmp_path: Path) -> None:
    sets(Namespace(folder=str(JUDGED), output=str(tmp_path)))
    evaluator: Evaluator = load(name)
    beyond = []
    for each in SETS:
        examples = read_judged(str(tmp_path / f"{each}.jsonl")).examples
        batch = Batch(examples)
        found = {**evaluator.inapplicable(batch), **evaluator.doubts(batch)}
        doubtful = np.logical_or.reduce(list(found.values()))
        systems = np.array([example.system for example in examples])
        for system in np.unique(systems):
            assert doubtful[systems == system].mean() <= 0.1, (each, system)
        assert doubtful.mean() <= 0.05
        beyond.append(doubtful)
    assert np.concatenate(beyond).mean() <= 0.02


def test_metrics_that_compare_words_have_no_doubts() -> None:
    batch = Batch([Example("1", ("Hi.",), "So:\n- a\n- b", ("So.",))])
    for name in ("bleu-2", "rouge-l", "length"):
        assert not rejoinder.load(name).doubts(batch)

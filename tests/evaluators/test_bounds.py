"""Which replies are of kinds that an evaluator was not fitted on, and where the shipped bounds come from."""

from __future__ import annotations

import json
import shutil
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
from rejoinder.metrics.batch import Batch
from rejoinder.registry import SHIPPED_FOLDERS, load, shipped_folder
from rejoinder.types import Example

LANGUAGE, LENGTH, FORM = (
    "in another language than English",
    "longer than 31 words",
    "with lists, headings, tables or code",
)


def kinds_of(*replies: str, context: tuple[str, ...] = ("How do I get in?",)) -> list[list[str]]:
    evaluator: Evaluator = load("default")
    found = evaluator.doubts(Batch([Example(str(row), context, text) for row, text in enumerate(replies)]))
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
        "~~~\nopen door\n~~~",
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
    text = [words[row % len(words)] for row in range(32)]
    assert kinds_of(" ".join(text[:31]), " ".join(text), ", ".join(text[:31]) + " ...") == [[], [LENGTH], []]


def test_other_languages() -> None:
    replies = (
        "Öffnen Sie einfach die Tür und gehen Sie dann langsam hinein.",
        "Il suffit d'ouvrir la porte et d'entrer doucement, je vous attends.",
        "打开门，然后走进去就可以了。",
    )
    assert kinds_of(*replies) == [[LANGUAGE]] * 3


def test_lone_surrogates_are_read() -> None:
    assert kinds_of("Open the door \ud800", "Do this:\n- \ud800\n- go in") == [[], [FORM]]


def test_the_bound_is_the_length_of_nearly_all_rated_replies() -> None:
    replies = [" ".join(["word"] * count) for count in range(1, 101)]
    assert Bounds.of(replies) == Bounds(99)
    assert Bounds.of(["a b c"]).most_words == 3


@pytest.mark.parametrize("name", SHIPPED_FOLDERS)
def test_every_shipped_evaluator_has_bounds(name: str) -> None:
    plain = json.loads((shipped_folder(name) / CONFIG).read_text(encoding="utf-8"))["bounds"]
    assert Bounds.from_plain(plain, CONFIG) == Bounds(31)


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
def test_the_bounds_are_those_of_the_rated_replies(tmp_path: Path) -> None:
    from argparse import Namespace

    sets(Namespace(folder=str(JUDGED), output=str(tmp_path)))
    rated = [example.response for name in SETS for example in read_judged(str(tmp_path / f"{name}.jsonl")).examples]
    assert Bounds.of(rated) == Bounds(31)


@pytest.mark.shared_data
@pytest.mark.skipif(not JUDGED.exists(), reason="needs ../shared/data")
@pytest.mark.parametrize("name", [name for name in SETS if name not in {"humod", "dailydialogpp_dev"}])
def test_no_system_that_people_rated_is_doubtful(name: str) -> None:
    evaluator: Evaluator = load("default")
    examples = read_judged(str(JUDGED / f"{name}.jsonl.gz")).examples
    doubtful = np.logical_or.reduce(list(evaluator.doubts(Batch(examples)).values()))
    systems = np.array([example.system for example in examples])
    for system in np.unique(systems):
        assert doubtful[systems == system].mean() <= 0.1, system
    assert doubtful.mean() <= 0.05


def test_metrics_that_compare_words_have_no_doubts() -> None:
    batch = Batch([Example("1", ("Hi.",), "So:\n- a\n- b", ("So.",))])
    for name in ("bleu-2", "rouge-l", "length"):
        assert not rejoinder.load(name).doubts(batch)

"""What a study file may say, and what is told of one that says something else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rejoinder.errors import RejoinderError
from rejoinder.people.study import QueueSettings, read_study, study_text

GOOD = """
title = "T"
examples = "replies.jsonl"
[[questions]]
name = "overall"
text = "How good?"
labels = ["bad", "good"]
"""


def test_a_study_is_read_with_its_defaults(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(GOOD)
    study = read_study(path)
    assert (study.raters_per_item, study.kind, study.folder) == (3, "scale", tmp_path)
    [question] = study.questions
    assert [question.label(point) for point in question.points] == ["bad", "", "", "", "good"]
    assert question.problem("6") == "choose one of the answers"
    assert question.problem("5") == ""


def test_the_study_that_new_writes_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(study_text(Path('odd "name".jsonl'), 12))
    study = read_study(path)
    assert study.examples == 'odd "name".jsonl'
    assert [[question.name for question in page] for page in study.pages] == [["overall"], ["relevance"]]
    assert (study.items_per_rater, study.shared_items) == (12, 5)
    assert (study.queue, study.comprehension) == (None, ())
    assert "{code}" in path.read_text()
    path.write_text(re.sub(r"^# (\[|\w+ = )", r"\1", path.read_text(), flags=re.MULTILINE))
    whole = read_study(path)
    assert whole.queue == QueueSettings(labels=200, scores="scores.jsonl")
    assert [one.right for one in whole.comprehension] == ["the reply alone"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("title", "titel"), "did you mean title"),
        (('title = "T"', "title = 3"), "field 'title': expected a text"),
        (('title = "T"\n', ""), "field 'title': is missing"),
        (('name = "overall"', 'name = "overall"\nhigh = 1'), "expected more than low"),
        (('name = "overall"', 'name = "overall"\nkind = "star"'), "expected one of scale, pair, write"),
        (('["bad", "good"]', '["bad"]'), "expected one text per point (5), or two for the ends"),
        (("[[questions]]", "seed = true\n[[questions]]"), "expected a whole number"),
        (("[[questions]]", "[checks]\ngarbled = 2.0\n[[questions]]"), "expected a share from 0 to 0.5"),
        (("[[questions]]", "[[question]]"), "did you mean"),
        (('title = "T"', "title = "), "is not valid TOML"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    path = tmp_path / "study.toml"
    path.write_text(GOOD.replace(*change))
    with pytest.raises(RejoinderError) as told:
        read_study(path)
    assert message in str(told.value)
    assert str(path) in str(told.value)

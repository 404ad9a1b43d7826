"""Very long texts are compared by their beginnings, with a remark; all others as a whole."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from rejoinder.metrics.batch import Batch
from rejoinder.metrics.meteor import metric
from rejoinder.metrics.meteor.metric import Meteor
from rejoinder.types import Example

if TYPE_CHECKING:
    from running import Run, WriteLines

SOME = "the cat likes a liked dog . automobile car i , you they were running".split()
REMARK = "meteor: {} or their references were too long: only the beginnings were compared"


def text(tokens: int, seed: int, words: list[str] = SOME) -> str:
    return " ".join(random.Random(seed).choices(words, k=tokens))


def distinct(letter: str, tokens: int) -> str:
    return " ".join(f"{letter}{number}{letter}" for number in range(tokens))


def compared(*pairs: tuple[str, str]) -> list[list[float]]:
    """The tokens of reply and reference that were compared."""
    batch = Batch([Example(str(number), (), reply, (reference,)) for number, (reply, reference) in enumerate(pairs)])
    found: list[list[float]] = Meteor().statistics(batch)[:, :2].tolist()
    return found


@pytest.mark.parametrize(
    ("reply", "reference", "expected"),
    [
        ("the " * 724, "the " * 723, [724, 723]),
        ("the " * 725, "the " * 724, [362, 362]),
        ("the " * 3000, "the " * 2999, [375, 374]),
        ("the " * 600_000, "the", [300_000, 1]),
        (distinct("w", 9000), distinct("w", 9000)[::-1], [4500, 4500]),
        (distinct("w", 6000), distinct("v", 12_000), [3000, 6000]),
    ],
    ids=["724 times", "725 times", "3,000 times", "a short reference", "too many pairs", "long and longer"],
)
def test_the_same_share_of_both_is_compared(reply: str, reference: str, expected: list[int]) -> None:
    assert compared((reply, reference)) == [expected]


def test_the_score_is_that_of_the_beginnings(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [(text(length, length), text(length + 9, -length)) for length in (3, 30, 90, 160, 300)]
    whole = [Example(str(number), (), reply, (reference,)) for number, (reply, reference) in enumerate(pairs)]
    monkeypatch.setattr(metric, "MOST_MATCHES", 2000)
    lengths = compared(*pairs)
    assert lengths[:2] == [[3, 12], [30, 39]]
    assert lengths[-1] == [75, 77]
    scores = Meteor().score(whole)
    monkeypatch.undo()
    cut = [
        Example(
            example.id,
            (),
            " ".join(example.response.split()[: int(own)]),
            (" ".join(example.references[0].split()[: int(theirs)]),),
        )
        for example, (own, theirs) in zip(whole, lengths, strict=True)
    ]
    np.testing.assert_array_equal(scores, Meteor().score(cut))


def test_matches_by_stem_and_as_synonyms_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metric, "MOST_MATCHES", 100)
    assert compared(("car " * 20, "automobile " * 20)) == [[10, 10]]
    assert compared(("organize " * 20, "organizing " * 20)) == [[5, 5]]  # in both ways
    assert compared(("volcano " * 20, "tea " * 20)) == [[20, 20]]


def test_a_remark_counts_the_replies_that_were_cut(run: Run, write_lines: WriteLines) -> None:
    long = {"response": "the " * 800, "references": ["the " * 801, "a " * 900, "the " * 805]}
    short = {"response": "the cat", "references": ["the dog"]}
    ran = run("score", write_lines([long, short]), "-m", "meteor")
    assert ran.code == 0
    assert REMARK.format("1 reply") in ran.err
    ran = run("score", write_lines([long, short, long, {"response": "no", "references": ["yes"]}]), "-m", "meteor")
    assert REMARK.format("2 replies") in ran.err
    ran = run("score", write_lines([short]), "-m", "meteor")
    assert "too long" not in ran.err


def test_long_rows_are_scored_as_short_ones_are_in_a_batch() -> None:
    examples = [Example(str(n), (), text(n, n), (text(400, n + 1), text(20, n + 2))) for n in (1, 700, 10, 350, 2)]
    alone = np.concatenate([Meteor().score([example]) for example in examples])
    np.testing.assert_array_equal(Meteor().score(examples), alone)
